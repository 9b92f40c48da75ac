// The strip of a finding's time over the recording. A click on a part of it shows that part in the
// timeline; the numbers stand in its description and in the tables below it.

import type { Ns } from '../../model/units';
import { percent, range, timeAt } from '../../model/units';
import { ticks } from '../timeline/layout';
import { strip } from './layout';

interface WhenProps {
  readonly when: readonly Ns[];
  readonly wall: Ns;
  onPick(window: readonly [Ns, Ns]): void;
}

export function When({ when, wall, onPick }: WhenProps) {
  const bars = strip(when);
  const pick = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = Math.min(Math.max((event.clientX - box.left) / Math.max(box.width, 1), 0), 1) * wall;
    const half = wall / 24;
    onPick([Math.max(Math.floor(at - half), 0), Math.min(Math.ceil(at + half), wall)]);
  };
  const axis = ticks([0, wall], 6);
  return (
    <div class="when" role="img" aria-label={told(when, wall)} title={told(when, wall)}>
      <div class="when-bars" onClick={pick}>
        {bars.map((bar) => (
          <i key={bar.x0} style={{ left: `${bar.x0 * 100}%`, width: `${(bar.x1 - bar.x0) * 100}%`, height: `${bar.height * 100}%` }} />
        ))}
      </div>
      <div class="when-axis" aria-hidden="true">
        {axis.times.map((at) => (
          <span key={at} class="tick" style={{ left: `${(at / Math.max(wall, 1)) * 100}%` }}>
            {timeAt(at, axis.step, wall)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The busiest part in words, and in how much of the recording there is any time. */
function told(when: readonly Ns[], wall: Ns): string {
  const part = wall / Math.max(when.length, 1);
  const busiest = when.indexOf(Math.max(...when));
  const some = when.filter((ns) => ns > 0).length;
  return `In ${percent(some / Math.max(when.length, 1))} of the run's time; most of it at ${range(busiest * part, (busiest + 1) * part)}`;
}
