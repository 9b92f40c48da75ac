// Walks over a thread's intervals by asking for the one at a time.

import type { Ns } from './units';

/** The end of what was found, behind its last nanosecond. */
interface Span {
  readonly to: Ns;
}

/** The latest time up to `time` that lies in an interval; `time` itself when there is none. */
export function lastBefore(at: (time: Ns) => Span | null, time: Ns): Ns {
  if (at(time) !== null) return time;
  // Steps back double: threads end microseconds before the wait for their end does.
  for (let step = 1; step < 2 * time; step *= 2) {
    let found: Span | null = at(Math.max(time - step, 0));
    if (found === null) continue;
    // The step may have jumped over later intervals: they are walked one by one.
    for (;;) {
      const next: Span | null = found.to <= time ? at(found.to) : null;
      if (next === null || next.to <= found.to) return Math.min(found.to, time) - 1;
      found = next;
    }
  }
  return time;
}
