// Following waits: the selected interval, the one that F leads to, and the way back.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { State } from '../../model/state';
import { useAnswer, usePage } from '../../shell/page';
import type { Interval, Thread } from '../../worker/protocol';
import { clamp, type Window } from './layout';

export interface Follow {
  readonly interval: Interval | null;
  readonly error: string | null;
  readonly steps: number;
  /** To the thread that ended the wait; without one, to the interval before. */
  next(): void;
  back(): void;
  /** To the interval before (-1) or after (1) in the same thread. */
  beside(step: -1 | 1): void;
}

type Wait = NonNullable<State['wait']>;

export function useFollow(state: State, threads: readonly Thread[]): Follow {
  const { engine, store, recording, say } = usePage();
  const end = recording.facts.recording.wall_ns;
  const reply = useAnswer(engine, 'interval', state.wait && { filter: state.filter, tid: state.wait[0], time: state.wait[1] });
  const trail = useRef<Wait[]>([]);
  const [steps, setSteps] = useState(0);
  const interval = state.wait === null ? null : reply.value;
  useEffect(() => {
    if (state.wait === null) leave([]);
  }, [state.wait === null]);
  const leave = (waits: Wait[]) => {
    trail.current = waits;
    setSteps(waits.length);
  };
  const go = (wait: Wait) => {
    const idle = threads.find((thread) => thread.tid === wait[0])?.idle ?? false;
    store.set({ wait, window: shows(state.window, wait[1], end), idle: state.idle || idle });
  };
  const move = (time: number) => {
    if (state.wait !== null && time >= 0 && time < end) go([state.wait[0], time]);
  };
  return {
    interval,
    error: reply.error,
    steps,
    next() {
      if (state.wait === null || interval === null) return;
      const waker = interval.waker;
      if (waker?.tid === null) return say(`${waker.name} ended the wait. The filter leaves that thread out.`);
      const to: Wait = waker ? [waker.tid, waker.at] : [state.wait[0], interval.from - 1];
      if (to[1] < 0) return say('Here the recording begins.');
      leave([...trail.current, state.wait]);
      go(to);
    },
    back() {
      const last = trail.current[trail.current.length - 1];
      if (last === undefined) return;
      leave(trail.current.slice(0, -1));
      go(last);
    },
    beside(step) {
      if (interval !== null) move(step < 0 ? interval.from - 1 : interval.to + 1);
    },
  };
}

/** The window, moved when it would not show a time. */
function shows(window: State['window'], time: number, end: number): State['window'] {
  if (window === null || (time >= window[0] && time <= window[1])) return window;
  const half = (window[1] - window[0]) / 2;
  const moved: Window = clamp([time - half, time + half], end);
  return moved;
}
