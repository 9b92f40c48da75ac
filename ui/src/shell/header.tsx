// The head of the page: which run this is, the run by cause, and the tabs.

import { causeParts } from '../views/overview/layout';
import { VIEWS, type State, type ViewName } from '../model/state';
import { percent, time } from '../model/units';
import { shown } from '../model/text';
import { ShareButton } from './share';
import { ThemeSwitch } from './theme';
import { usePage } from './page';

export const VIEW_TITLES: Record<ViewName, string> = {
  overview: 'Overview',
  timeline: 'Timeline',
  flame: 'Flame',
  functions: 'Functions',
  tree: 'Tree',
  butterfly: 'Callers and callees',
  compare: 'Compare',
  activities: 'Activities',
  evidence: 'Evidence',
};

/** The key of the palette, as this system writes it. */
const PALETTE_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K';

interface HeaderProps {
  onClose(): void;
  onKeys(): void;
  onFind(): void;
}

export function Header({ onClose, onKeys, onFind }: HeaderProps) {
  const { recording } = usePage();
  const facts = recording.facts.recording;
  return (
    <header class="head">
      <span class="brand">Culprit</span>
      <span class="run-name" title={shown(facts.command.join(' '), 2000)}>
        <strong>{shown(recording.name, 80)}</strong> · {facts.place} · {time(facts.wall_ns)} · {facts.threads} threads
        {facts.command.length > 0 && (
          <>
            {' · '}
            <code>{shown(facts.command.join(' '), 80)}</code>
          </>
        )}
      </span>
      <button type="button" class="find-anything" aria-haspopup="dialog" onClick={onFind}>
        Find anything <kbd>{PALETTE_KEY}</kbd>
      </button>
      <ShareButton />
      <button type="button" onClick={onClose}>
        Open another
      </button>
      <ThemeSwitch />
      <button type="button" onClick={onKeys} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">
        ?
      </button>
    </header>
  );
}

/** The whole run by cause, the same in every view. */
export function RunBar() {
  const { recording, store } = usePage();
  const parts = causeParts(recording.facts.run);
  if (parts.length === 0) return null;
  const colour = new Map(recording.facts.causes.map((cause) => [cause.word, cause.colour]));
  const choose = (word: string) => {
    store.set({ view: 'flame', zoom: null, filter: { ...store.get().filter, metric: word } });
  };
  return (
    <section class="runbar" aria-label="What the run was waiting for, by cause">
      <div class="bar">
        {parts.map((part) => (
          <button
            key={part.word}
            type="button"
            class="bar-part"
            style={{ flexGrow: part.share, background: colour.get(part.word) ?? '' }}
            title={`${part.word}: ${time(part.value)} of ${time(recording.facts.run?.total_ns ?? 0)} run time (${percent(part.share)})`}
            aria-label={`${part.word} ${percent(part.share)}, ${time(part.value)}. Show it in the flame graph`}
            onClick={() => choose(part.word)}
          >
            {part.share >= 0.08 ? `${part.word} ${percent(part.share)}` : ''}
          </button>
        ))}
      </div>
    </section>
  );
}

export function Tabs({ state }: { state: State }) {
  const { store } = usePage();
  return (
    <nav class="tabs" aria-label="Views">
      {VIEWS.map((view, at) => (
        <button
          key={view}
          type="button"
          aria-current={state.view === view ? 'page' : undefined}
          title={`${VIEW_TITLES[view]} (${at + 1})`}
          onClick={() => store.set({ view })}
        >
          {VIEW_TITLES[view]}
        </button>
      ))}
    </nav>
  );
}
