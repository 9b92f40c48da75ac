// Everything by its name: views, presets, metrics, findings, threads, processes, functions, recordings
// and commands. Ctrl K opens it; typing narrows it; Enter goes there.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { NO_FILTER, withName, withPreset } from '../model/filter';
import { find, indexed, type Entry } from '../model/palette';
import { VIEWS, type State } from '../model/state';
import { shown } from '../model/text';
import { measured, time } from '../model/units';
import type { Index } from '../worker/protocol';
import { METRICS, METRIC_MEANINGS } from './filters';
import { VIEW_TITLES } from './header';
import type { Offered } from './library';
import { useAnswer, usePage, type Page } from './page';
import { copyLink, PICTURE_FORMS, savePicture } from './share';

/** The most entries that are listed: more are found by typing more. */
const MOST = 60;

export interface PaletteProps {
  readonly state: State;
  /** Commands of the page as a whole. */
  readonly commands: readonly Entry[];
  onClose(): void;
}

export function Palette({ state, commands, onClose }: PaletteProps) {
  const page = usePage();
  const [query, setQuery] = useState('');
  const [selected, select] = useState(0);
  const { all, pending } = useEntries(page, state, commands);
  const found = useMemo(() => find(all, query, MOST), [all, query]);
  const chosen = Math.min(selected, Math.max(found.entries.length - 1, 0));
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => document.getElementById(`found-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [chosen, found]);
  const take = (entry: Entry | undefined, also: boolean) => {
    if (entry === undefined) return;
    // Closed first: the command may open a menu or a dialog, and the focus goes there.
    dialog.current?.close();
    (also && entry.also ? entry.also : entry).act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    const last = found.entries.length - 1;
    if (step !== undefined) select(Math.min(Math.max(chosen + step, 0), Math.max(last, 0)));
    else if (event.key === 'Enter') take(found.entries[chosen], event.shiftKey);
    else return;
    event.preventDefault();
  };
  const also = found.entries[chosen]?.also;
  return (
    <dialog ref={dialog} class="sheet palette" aria-label="Find anything" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <input
        type="text"
        role="combobox"
        aria-label="Find views, functions, threads, presets and commands"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.entries.length > 0 ? `found-${chosen}` : undefined}
        placeholder="Find a view, function, thread, preset, command …"
        spellcheck={false}
        autocomplete="off"
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          select(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="found" role="listbox" aria-label="Found">
        {found.entries.map((entry, at) => (
          <Row key={`${entry.kind} ${entry.label} ${at}`} entry={entry} at={at} chosen={at === chosen} onTake={take} />
        ))}
      </ul>
      <p class="soft palette-foot" role="status">
        {found.total === 0 ? 'Nothing has these words. Functions are those of the whole run in the current metric.' : `${found.total > MOST ? `${MOST} of ` : ''}${found.total} found`}
        {pending && ' · names are being read…'}
        {found.total > 0 && <span> · Enter: go{also && ` · Shift Enter: ${also.label}`}</span>}
      </p>
    </dialog>
  );
}

function Row({ entry, at, chosen, onTake }: { entry: Entry; at: number; chosen: boolean; onTake(entry: Entry, also: boolean): void }) {
  return (
    <li id={`found-${at}`} role="option" aria-selected={chosen} title={shown(entry.label, 2000)} onClick={(event) => onTake(entry, event.shiftKey)}>
      <span class="found-kind">{entry.kind}</span>
      <span class="found-label">{shown(entry.label, 160)}</span>
      <span class="found-detail soft">{shown(entry.detail, 120)}</span>
    </li>
  );
}

/** All that can be found, what is few and often wanted first. */
function useEntries(page: Page, state: State, commands: readonly Entry[]) {
  const { engine, library, store } = page;
  const index = useAnswer(engine, 'index', { filter: { ...NO_FILTER, metric: state.filter.metric, own: state.filter.own } }).value;
  const [offered, setOffered] = useState<readonly Offered[]>([]);
  useEffect(() => void library.offered().then((list) => setOffered(list ?? [])), []);
  const all = useMemo(() => {
    const set = (change: Partial<State>) => () => store.set(change);
    const filter = () => store.get().filter;
    const views = VIEWS.map((view, at): Entry => ({ kind: 'view', label: VIEW_TITLES[view], detail: `key ${at + 1}`, act: set({ view }) }));
    const chosenPresets = (index?.presets ?? []).map((one): Entry => ({
      kind: 'preset',
      label: one.name,
      detail: one.meaning,
      act: () => store.set({ zoom: null, filter: withPreset(filter(), one) }),
    }));
    const metrics = [...new Set([...METRICS, ...page.recording.facts.causes.map((cause) => cause.word)])].map((word): Entry => ({
      kind: 'metric',
      label: word,
      detail: METRIC_MEANINGS[word] ?? 'time of this cause',
      act: () => store.set({ filter: { ...filter(), metric: word } }),
    }));
    const recordings = offered.filter((one) => one.name !== page.recording.name).map(({ name }): Entry => ({
      kind: 'recording',
      label: name,
      detail: 'compare this run with it',
      act: set({ view: 'compare', compare: name }),
    }));
    return indexed([...views, ...findings(page, index), ...own(page), ...commands, ...chosenPresets, ...metrics, ...recordings, ...threads(page, index), ...functions(page, index)]);
  }, [index, offered, commands]);
  return { all, pending: index === null };
}

/** Commands of the open recording. */
function own(page: Page): Entry[] {
  const { store, say } = page;
  const command = (label: string, detail: string, act: () => void): Entry => ({ kind: 'command', label, detail, act });
  return [
    command('Copy the link', 'to this view with its filter', () => void copyLink(say)),
    ...PICTURE_FORMS.map((form) => command(`Save the picture as ${form.toUpperCase()}`, 'flame graph or timeline', () => savePicture(page, form))),
    command('Show as table, or as picture', 'key T', () => store.set({ table: !store.get().table })),
    command('Remove all filters', 'shows the whole run', () => store.set({ filter: { ...NO_FILTER, metric: store.get().filter.metric } })),
    command('Undo the last filter', 'key U', () => store.undo()),
    command('Redo the filter', 'key Shift U', () => store.redo()),
  ];
}

function findings({ store }: Page, index: Index | null): Entry[] {
  return (index?.findings ?? []).map(({ word, title }) => ({
    kind: 'finding',
    label: title.replace(/`/g, ''),
    detail: word,
    act: () => store.set({ view: 'evidence', finding: word }),
  }));
}

function threads({ store }: Page, index: Index | null): Entry[] {
  const all = index?.threads ?? [];
  const narrow = (field: 'thread' | 'process', name: string) => () => store.set({ filter: withName(store.get().filter, field, name) });
  const processes = [...new Set(all.map((one) => `${one.process} (${one.pid})`))];
  return [
    ...all.map((one): Entry => ({
      kind: 'thread',
      label: `${one.name} (${one.tid})`,
      detail: `of ${one.process} (${one.pid}), ${one.idle ? 'idle' : `${time(one.run_ns)} of the run`}: only this one`,
      act: narrow('thread', `${one.name} (${one.tid})`),
    })),
    ...processes.map((label): Entry => ({ kind: 'process', label, detail: 'only this one', act: narrow('process', label) })),
  ];
}

function functions({ store }: Page, index: Index | null): Entry[] {
  return (index?.functions ?? []).map((name, at): Entry => ({
    kind: 'function',
    label: name,
    detail: `own ${measured(index?.own[at] ?? 0, index?.unit ?? 'ns')}: callers and callees`,
    act: () => store.set({ view: 'butterfly', focus: name }),
    also: {
      label: 'keep only stacks with it',
      act: () => store.set({ view: 'flame', zoom: null, filter: withName(store.get().filter, 'include', name) }),
    },
  }));
}
