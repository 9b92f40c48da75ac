// Waterfalls: each row is a step from the first total to the second, with its number beside its bar.

import type { Change, Compared } from '../../model/compare';
import type { State } from '../../model/state';
import { shown } from '../../model/text';
import { measured } from '../../model/units';
import { useAnswer, usePage } from '../../shell/page';
import { Prose } from '../../shell/prose';
import { signed, waterfall } from './layout';

interface WaterfallProps {
  readonly title: string;
  readonly before: number;
  readonly after: number;
  readonly changes: readonly Change[];
  /** What the bar of all that is left is called. */
  readonly rest: string;
  readonly unit: string;
}

export function Waterfall({ title, before, after, changes, rest, unit }: WaterfallProps) {
  const falls = waterfall(before, after, changes, rest);
  return (
    <section class="part" aria-label={title}>
      <h2>{title}</h2>
      <table class="facts falls">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" class="right">Before</th>
            <th scope="col" class="right">After</th>
            <th scope="col" class="right">Change</th>
            <th scope="col">From before to after</th>
          </tr>
        </thead>
        <tbody>
          {falls.map((fall, at) => (
            <tr key={`${at} ${fall.label}`}>
              <th scope="row">{shown(fall.label, 120)}</th>
              <td class="right">{fall.kind === 'total' && fall.label === 'after' ? '' : measured(fall.before, unit)}</td>
              <td class="right">{fall.kind === 'total' && fall.label === 'before' ? '' : measured(fall.after, unit)}</td>
              <td class="right">{fall.kind === 'total' ? '' : signed(fall.value, unit)}</td>
              <td class="fall-cell">
                <i class={`fall ${fall.kind}`} aria-hidden="true" style={{ left: `${fall.x0 * 100}%`, width: `${(fall.x1 - fall.x0) * 100}%` }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The findings of both runs. They come late: the rules run on both recordings. */
export function Findings({ state, compared, other }: { state: State; compared: Compared; other: string }) {
  const { engine } = usePage();
  const reply = useAnswer(engine, 'compareFindings', { other, first: state.swap });
  if (reply.error !== null) return <p class="notice error">{shown(reply.error, 500)}</p>;
  if (reply.value === null) {
    return (
      <p class="notice waiting" role="status">
        Looking for findings in both recordings…
      </p>
    );
  }
  const found = reply.value;
  if (found.length === 0) return <p class="soft">No rule has a finding that costs time in either recording.</p>;
  const name = (at: number) => `${at + 1} ${found[at]?.id ?? ''}`;
  const changes = found.map((one, at): Change => ({ name: name(at), before: one.before_ns, after: one.after_ns, change: one.after_ns - one.before_ns, only: null }));
  const moved = changes.filter((_, at) => found[at]?.change !== 'stayed');
  const [before, after] = [compared.before.recording.wall_ns, compared.after.recording.wall_ns];
  return (
    <>
      {moved.length > 0 ? (
        <Waterfall title="By finding, of the wall time" before={before} after={after} changes={moved} rest="not explained" unit="ns" />
      ) : (
        <p class="soft">Both recordings have the same findings, and these cost about the same.</p>
      )}
      <ol class="changes">
        {found.map((one, at) => (
          <li key={name(at)}>
            <strong>{one.change}</strong>: <Prose text={one.title} /> <span class="soft">({one.id}, {measured(one.before_ns, 'ns')} before, {measured(one.after_ns, 'ns')} after)</span>
          </li>
        ))}
      </ol>
    </>
  );
}
