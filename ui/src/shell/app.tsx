// The page: opens recordings, shows the view that the state names, and listens to keys.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Entry } from '../model/palette';
import { START, VIEWS, type State, type ViewName } from '../model/state';
import type { Store } from '../model/store';
import { shown } from '../model/text';
import { ButterflyView } from '../views/butterfly/view';
import { CompareView } from '../views/compare/view';
import { ActivitiesView } from '../views/activities/view';
import { EvidenceView } from '../views/evidence/view';
import { FlameView } from '../views/flame/view';
import { FunctionsView } from '../views/functions/view';
import { OverviewView } from '../views/overview/view';
import { TimelineView } from '../views/timeline/view';
import { TreeView } from '../views/tree/view';
import type { Engine } from '../worker/client';
import { bindAddress } from './address';
import { Boundary } from './boundary';
import { Filters } from './filters';
import { Header, RunBar, Tabs, VIEW_TITLES } from './header';
import { KeySheet, modified, typing } from './keys';
import type { Library, Offered } from './library';
import { ContextMenu } from './menu';
import { OpenScreen } from './open';
import { Palette } from './palette';
import { PageContext, useStore, type Menu, type Page, type Recording } from './page';
import { SEARCH_ID } from './search';
import { turnTheme } from './theme';

/** How long a message stays. */
const SAID_MS = 4000;

export interface AppProps {
  readonly store: Store;
  readonly engine: Engine;
  readonly library: Library;
  /** What is wrong with the address that the page was opened with. */
  readonly problem: string | null;
}

export function App({ store, engine, library, problem }: AppProps) {
  const state = useStore(store);
  const { said, say } = useSaid();
  const opening = useOpening(store, engine, library, state.recording);
  const [menu, setMenu] = useState<Menu | null>(null);
  const [keys, showKeys] = useState(false);
  const [finding, find] = useState(false);
  const { recording } = opening;
  useEffect(() => bindAddress(store, say), [store]);
  useEffect(() => {
    if (problem !== null) say(problem);
  }, []);
  useEffect(() => onKeys(store, { showKeys: () => showKeys(true), find: () => find(true) }), [store]);
  useEffect(() => find(false), [recording]);
  useEffect(() => {
    document.title = recording ? `${recording.name} · Culprit` : 'Culprit';
  }, [recording]);
  const page = useMemo<Page | null>(() => recording && { store, engine, library, recording, say, menu: setMenu, other: { current: null }, drop: { current: null }, picture: { current: null } }, [recording]);
  const commands = useMemo(() => pageCommands(() => showKeys(true), opening.close), [recording]);
  useDrop((file) => (page?.drop.current ?? opening.openFile)(file));
  return (
    <>
      {page === null || opening.busy !== null ? (
        <OpenScreen title={library.title} list={opening.list} wanted={opening.list?.some((one) => one.name === state.recording) ? null : state.recording} error={opening.error} busy={opening.busy} onFile={opening.openFile} onOffered={opening.openOffered} />
      ) : (
        <PageContext.Provider value={page}>
          <a class="skip" href="#view" onClick={skip}>
            Skip to the view
          </a>
          <Header onClose={opening.close} onKeys={() => showKeys(true)} onFind={() => find(true)} />
          {library.note !== null && (
            <p class="notice part-of" role="status">
              {shown(library.note, 1000)}
            </p>
          )}
          <RunBar />
          <Filters state={state} />
          <Tabs state={state} />
          <main id="view" tabIndex={-1}>
            {state.view !== 'overview' && <h1 class="offscreen">{VIEW_TITLES[state.view]}</h1>}
            <Boundary view={state.view}>
              <View state={state} />
            </Boundary>
          </main>
          {menu !== null && <ContextMenu menu={menu} onClose={() => setMenu(null)} />}
          {finding && <Palette state={state} commands={commands} onClose={() => find(false)} />}
        </PageContext.Provider>
      )}
      {keys && <KeySheet onClose={() => showKeys(false)} />}
      <div class={`said ${said === '' ? '' : 'on'}`} role="status" aria-live="polite">
        {said}
      </div>
    </>
  );
}

function View({ state }: { state: State }) {
  switch (state.view) {
    case 'overview':
      return <OverviewView state={state} />;
    case 'timeline':
      return <TimelineView state={state} />;
    case 'flame':
      return <FlameView state={state} />;
    case 'functions':
      return <FunctionsView state={state} />;
    case 'tree':
      return <TreeView state={state} />;
    case 'butterfly':
      return <ButterflyView state={state} />;
    case 'compare':
      return <CompareView state={state} />;
    case 'activities':
      return <ActivitiesView state={state} />;
    case 'evidence':
      return <EvidenceView state={state} />;
  }
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('view')?.focus();
}

/** A message that goes away by itself. */
function useSaid() {
  const [said, set] = useState('');
  const timer = useRef(0);
  const say = useCallback((text: string) => {
    set(text);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => set(''), SAID_MS);
  }, []);
  return { said, say };
}

/** Opening: which recordings there are, which one is open, and what failed. */
function useOpening(store: Store, engine: Engine, library: Library, wanted: string | null) {
  const [list, setList] = useState<readonly Offered[] | null>(null);
  const [recording, setRecording] = useState<Recording | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const working = useRef(false);
  const open = async (name: string, read: () => Promise<Uint8Array>) => {
    working.current = true;
    setBusy(`Opening ${name}…`);
    setError(null);
    try {
      const facts = await engine.ask('open', { name, bytes: await read() });
      // A link's state is kept for the file that it names; for another file it would mean nothing.
      if (store.get().recording !== name) store.set({ ...START, recording: name });
      setRecording({ name, facts });
    } catch (problem) {
      setRecording(null);
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(null);
    working.current = false;
  };
  const openOffered = (name: string) => void open(name, () => library.read(name));
  useEffect(() => void library.offered().then(setList), []);
  // The address names the recording, so back and forward lead from one to another.
  useEffect(() => {
    if (working.current || recording?.name === wanted) return;
    if (wanted !== null && list?.some((one) => one.name === wanted)) openOffered(wanted);
    else if (recording !== null) setRecording(null);
  }, [wanted, list]);
  return {
    list,
    recording,
    busy,
    error,
    openOffered,
    openFile: (file: File) => void open(file.name, async () => new Uint8Array(await file.arrayBuffer())),
    close: () => {
      setRecording(null);
      store.set(START);
    },
  };
}

/** A file dropped anywhere on the page is opened. */
function useDrop(openFile: (file: File) => void): void {
  const last = useRef(openFile);
  last.current = openFile;
  useEffect(() => {
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file !== undefined) last.current(file);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('drop', drop);
    };
  }, []);
}

/** What the palette does to the page as a whole. */
function pageCommands(showKeys: () => void, close: () => void): readonly Entry[] {
  const command = (label: string, detail: string, act: () => void): Entry => ({ kind: 'command', label, detail, act });
  return [
    command('Keyboard shortcuts', 'key ?', showKeys),
    command('Switch the theme', 'system, light, dark', turnTheme),
    command('Open another recording', 'leaves this one', close),
  ];
}

interface KeyActs {
  showKeys(): void;
  find(): void;
}

/** The keys that hold everywhere; views have theirs. */
function onKeys(store: Store, { showKeys, find }: KeyActs): () => void {
  const pressed = (event: KeyboardEvent) => {
    const inDialog = event.target instanceof Element && event.target.closest('dialog') !== null;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k' && !inDialog) {
      // Browsers have a search of their own there.
      event.preventDefault();
      return find();
    }
    if (typing(event) || modified(event) || event.defaultPrevented) return;
    const view = VIEWS[Number(event.key) - 1];
    if (view !== undefined) store.set({ view });
    else if (event.key === '/') toSearch(store);
    else if (event.key === 'u') store.undo();
    else if (event.key === 'U') store.redo();
    else if (event.key === 't') store.set({ table: !store.get().table });
    else if (event.key === '?') showKeys();
    else return;
    event.preventDefault();
  };
  window.addEventListener('keydown', pressed);
  return () => window.removeEventListener('keydown', pressed);
}

/** Views with a search field. It comes with the first answer. */
const SEARCHED: readonly ViewName[] = ['flame', 'functions', 'tree', 'compare'];

/** To the search field; from views without one, to the functions first. */
function toSearch(store: Store): void {
  const focus = () => document.getElementById(SEARCH_ID)?.focus();
  if (document.getElementById(SEARCH_ID) === null) {
    if (!SEARCHED.includes(store.get().view)) store.set({ view: 'functions' });
    const watch = new MutationObserver(() => {
      if (document.getElementById(SEARCH_ID) === null) return;
      watch.disconnect();
      focus();
    });
    watch.observe(document.body, { childList: true, subtree: true });
  } else focus();
}
