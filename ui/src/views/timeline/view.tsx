// What each thread did, by its part of the run. A click tells the story of an interval.

import { useMemo, useRef } from 'preact/hooks';
import { chips } from '../../model/filter';
import { causeLooks } from '../../model/report';
import type { State } from '../../model/state';
import { plural } from '../../model/text';
import { range } from '../../model/units';
import { Failed, Waiting } from '../../shell/empty';
import { openNameMenu } from '../../shell/nameMenu';
import { useAnswer, usePage, type AnswerState } from '../../shell/page';
import { Swatch } from '../../shell/swatch';
import type { Thread, Timeline } from '../../worker/protocol';
import { LanesChart } from './chart';
import { clamp, covers, fetched, pan, SHORTEST, zoom, type Window } from './layout';
import { Story } from './story';
import { RunTable, type RunTableProps } from './run';
import { LanesTable, type LanesTableProps } from './table';
import { useFollow } from './follow';

const NO_THREADS: readonly Thread[] = [];

/** The pixels that the engine merges bars to: twice the width of the window that shows. */
const PIXELS = 3200;

export function TimelineView({ state }: { state: State }) {
  const page = usePage();
  const { store, recording } = page;
  const end = recording.facts.recording.wall_ns;
  const window = useMemo(() => clamp(state.window ?? [0, end], end), [state.window, end]);
  const { drawn, error } = useLanes(state, window, end);
  const threads = drawn?.threads ?? NO_THREADS;
  const causes = useMemo(() => causeLooks(recording.facts.causes), [recording]);
  const follow = useFollow(state, threads);
  const chosen = threads.find((thread) => thread.tid === state.wait?.[0]);
  const idle = threads.filter((thread) => thread.idle).length;
  if (error !== null) return <Failed state={state} message={error} />;
  if (drawn === null) return <Waiting />;
  const open = (tid: number, time: number) => {
    // What the run waits for may be a thread that is idle otherwise.
    const hidden = threads.some((thread) => thread.tid === tid && thread.idle);
    store.set({ wait: [tid, time], idle: state.idle || hidden });
  };
  const show = { lanes: drawn.lanes, run: drawn.run, have: drawn.have, pixels: PIXELS, window, threads, causes, say: page.say };
  const { from, to } = state.filter;
  return (
    <section class="view timeline">
      <div class="toolbar">
        <span>{range(window[0], window[1])}</span>
        <Steps window={window} end={end} />
        <button type="button" disabled={state.window === null} onClick={() => store.set({ window: null })} title="0">
          Show all
        </button>
        <button type="button" onClick={() => store.set({ filter: { ...state.filter, from: window[0], to: window[1] } })} title="R">
          Use as time range
        </button>
        {(from !== null || to !== null) && (
          <button type="button" onClick={() => store.set({ filter: { ...state.filter, from: null, to: null } })}>
            Clear the time range
          </button>
        )}
        <button type="button" aria-pressed={state.table} onClick={() => store.set({ table: !state.table })} title="T">
          Show as table
        </button>
      </div>
      <Narrowed state={state} />
      <div class="with-story">
        <div class="lanes-side">
          {state.table ? <Tables {...show} onOpen={open} /> : <LanesChart {...show} state={state} end={end} interval={follow.interval} onOpen={open} follow={follow} />}
          {idle > 0 && (
            <button type="button" class="idle-line" aria-expanded={state.idle} onClick={() => store.set({ idle: !state.idle })}>
              {state.idle ? '▾' : '▸'} {plural(idle, 'idle thread')}: {state.idle ? 'shown below the others' : 'no part of the run'}
            </button>
          )}
          {drawn.lanes.thread.length === 0 && (
            <p class="empty" role="status">
              The recording has no thread times, so there is no timeline.
            </p>
          )}
          <p class="legend soft">
            tall: running, middle: ready, low: blocked{drawn.run.x0.length > 0 && '; underlined: what the run was waiting for'}.{' '}
            {recording.facts.causes.filter((cause) => drawn.lanes.cause.includes(cause.id)).map((cause) => (
              <Swatch key={cause.word} cause={cause} />
            ))}
          </p>
        </div>
        {follow.interval && chosen && (
          <Story
            thread={chosen}
            interval={follow.interval}
            cause={causes[follow.interval.cause]}
            steps={follow.steps}
            onFollow={follow.next}
            onReturn={follow.back}
            onClose={() => store.set({ wait: null })}
            onMenu={(name, x, y) => openNameMenu(page, name, x, y)}
          />
        )}
      </div>
      {follow.error !== null && <p role="alert">{follow.error}</p>}
    </section>
  );
}

/** What the canvas shows, as tables. */
function Tables(props: LanesTableProps & RunTableProps) {
  return (
    <>
      <RunTable {...props} />
      <LanesTable {...props} />
    </>
  );
}

/** Zoom and move without a wheel or a keyboard. */
function Steps({ window, end }: { window: Window; end: number }) {
  const { store } = usePage();
  const all = window[0] <= 0 && window[1] >= end;
  const step = (label: string, sign: string, next: Window, useless: boolean) => (
    <button type="button" aria-label={label} title={label} disabled={useless} onClick={() => store.set({ window: next[0] <= 0 && next[1] >= end ? null : next }, 'slide')}>
      {sign}
    </button>
  );
  return (
    <span class="buttons">
      {step('Zoom in', '+', zoom(window, 0.5, 0.5, end), window[1] - window[0] <= SHORTEST)}
      {step('Zoom out', '−', zoom(window, 2, 0.5, end), all)}
      {step('Earlier', '←', pan(window, -0.5, end), window[0] <= 0)}
      {step('Later', '→', pan(window, 0.5, end), window[1] >= end)}
    </span>
  );
}

/** The lanes for a window: asked for again when what is there covers it no more. */
function useLanes(state: State, window: Window, end: number): { drawn: Timeline | null; error: string | null } {
  const { engine } = usePage();
  const wanted = useRef<Window>(fetched(window, end));
  if (!covers(wanted.current, window)) wanted.current = fetched(window, end);
  const [from, to] = wanted.current;
  const reply: AnswerState<'lanes'> = useAnswer(engine, 'lanes', { filter: state.filter, from, to, pixels: PIXELS, busyOnly: !state.idle });
  return { drawn: reply.value, error: reply.error };
}

/** The timeline shows whole threads: it says so when a filter narrows the other views further. */
function Narrowed({ state }: { state: State }) {
  const { store } = usePage();
  const others = chips({ ...state.filter, from: null, to: null, process: '', thread: '' });
  if (others.length === 0) return null;
  return (
    <p class="notice" role="status">
      The timeline shows whole threads. These filters narrow the other views only: {others.map((chip) => chip.label).join(', ')}.{' '}
      <button type="button" onClick={() => store.set({ filter: { ...state.filter, include: '', exclude: '', fold: '', foldPct: null } })}>
        Remove them
      </button>
    </p>
  );
}
