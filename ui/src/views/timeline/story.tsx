// The story of an interval: what the thread did or waited for, in which stack, and who ended it.

import { shown } from '../../model/text';
import { range, time } from '../../model/units';
import type { CauseLook } from '../../model/report';
import type { Interval, Thread } from '../../worker/protocol';

export interface StoryProps {
  readonly thread: Thread;
  readonly interval: Interval;
  readonly cause: CauseLook | undefined;
  /** How many steps F has led away. */
  readonly steps: number;
  onFollow(): void;
  onReturn(): void;
  onClose(): void;
  onMenu(name: string, x: number, y: number): void;
}

const VERBS = { running: 'ran', ready: 'waited for a CPU', blocked: 'waited' } as const;

export function Story(props: StoryProps) {
  const { thread, interval, cause } = props;
  const group = cause?.group ?? 'blocked';
  return (
    <aside class="story card" aria-label="Story of the interval">
      <h2>
        {threadName(thread)} {VERBS[group]} {time(interval.to - interval.from)}
      </h2>
      <p>
        <span class="swatch">
          <i style={{ background: cause?.colour ?? '' }} aria-hidden="true" />
          {cause?.word ?? 'unknown'}
        </span>{' '}
        from {range(interval.from, interval.to)}
        {interval.object !== null && (
          <>
            , for <code>{shown(interval.object, 200)}</code>
          </>
        )}
      </p>
      <Ended {...props} />
      <p class="buttons">
        <button type="button" onClick={props.onFollow} title="F">
          {interval.waker ? 'Follow who ended it (F)' : 'What it did before (F)'}
        </button>
        <button type="button" disabled={props.steps === 0} onClick={props.onReturn} title="Backspace">
          Return{props.steps > 0 ? ` (${props.steps})` : ''}
        </button>
        <button type="button" onClick={props.onClose}>
          Close
        </button>
      </p>
      <h3>Stack, innermost first</h3>
      <Stack names={interval.stack} onMenu={props.onMenu} />
    </aside>
  );
}

export function threadName(thread: { name: string; tid?: number }): string {
  return `${shown(thread.name, 60)}${thread.tid === undefined ? '' : ` (${thread.tid})`}`;
}

function Ended({ interval, cause, onMenu }: StoryProps) {
  if (interval.waker === null) {
    const waits = cause !== undefined && cause.group === 'blocked';
    return waits ? <p class="soft">No thread ended this wait: a timer, a device or the kernel did, or it is not recorded.</p> : null;
  }
  const stack = interval.waker.stack ?? [];
  return (
    <>
      <p>
        Ended by <strong>{shown(interval.waker.name, 80)}</strong>
        {stack.length > 0 ? ', in:' : '. Its stack was not recorded.'}
      </p>
      {stack.length > 0 && <Stack names={stack} onMenu={onMenu} />}
    </>
  );
}

/** Frames that show at first; the rest opens by a click. */
const FIRST = 12;

function Stack({ names, onMenu }: { names: readonly string[]; onMenu: StoryProps['onMenu'] }) {
  if (names.length === 0) return <p class="soft">No stack was recorded here.</p>;
  const frame = (name: string, at: number) => (
    <li key={at}>
      <button type="button" class="plain mono" title={shown(name, 2000)} onClick={(event) => onMenu(name, event.clientX, event.clientY)}>
        {shown(name, 160)}
      </button>
    </li>
  );
  return (
    <>
      <ol class="stack">{names.slice(0, FIRST).map(frame)}</ol>
      {names.length > FIRST && (
        <details>
          <summary>{names.length - FIRST} more frames</summary>
          <ol class="stack" start={FIRST + 1}>
            {names.slice(FIRST).map(frame)}
          </ol>
        </details>
      )}
    </>
  );
}
