// The timeline's twin for keyboards and screen readers: each thread's time by cause in the window,
// and the intervals of one thread.

import { useState } from 'preact/hooks';
import { at } from '../../model/calltree';
import { range, time, timeAt } from '../../model/units';
import type { Lanes, Thread } from '../../worker/protocol';
import { CopyButtons } from '../../shell/copyButtons';
import type { CauseLook } from '../../model/report';
import { sums, type Window } from './layout';
import { threadName } from './story';

export interface LanesTableProps {
  readonly lanes: Lanes;
  readonly have: Window;
  readonly pixels: number;
  readonly window: Window;
  readonly threads: readonly Thread[];
  readonly causes: readonly (CauseLook | undefined)[];
  onOpen(tid: number, time: number): void;
}

/** The most intervals that are listed; the window says which. */
const MOST = 200;

export function LanesTable(props: LanesTableProps) {
  const { lanes, threads, window } = props;
  const [lane, choose] = useState(0);
  const rows = [...lanes.thread.keys()].map((one) => {
    const thread = threads[at(lanes.thread, one)];
    const parts = [...sums(lanes, one, props.have, props.pixels, window)].sort((a, b) => b[1] - a[1]);
    const text = parts.map(([cause, ns]) => `${props.causes[cause]?.word ?? '?'} ${time(ns)}`).join(', ');
    return { lane: one, name: thread ? threadName(thread) : '', run: thread ? time(thread.run_ns) : '', text };
  });
  return (
    <>
      <div class="toolbar">
        <CopyButtons sheet={() => ({ head: ['Thread', 'Run time', 'In the window'], rows: rows.map((row) => [row.name, row.run, row.text]) })} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Threads">
        <table class="facts">
          <caption>Threads, {range(window[0], window[1])}, exact to a pixel of the timeline</caption>
          <thead>
            <tr>
              <th scope="col">Thread</th>
              <th scope="col" class="right">
                Run time
              </th>
              <th scope="col">In the window</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.lane} aria-current={row.lane === lane ? 'true' : undefined}>
                <th scope="row">
                  <button type="button" class="plain" onClick={() => choose(row.lane)}>
                    {row.name}
                  </button>
                </th>
                <td class="right">{row.run}</td>
                <td>{row.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Intervals {...props} lane={Math.min(lane, Math.max(rows.length - 1, 0))} />
    </>
  );
}

function Intervals(props: LanesTableProps & { lane: number }) {
  const { lanes, lane, have, pixels, window, causes, threads, onOpen } = props;
  const scale = (have[1] - have[0]) / pixels;
  const bars: { from: number; to: number; word: string }[] = [];
  for (let bar = at(lanes.first, lane); bar < at(lanes.first, lane + 1) && bars.length < MOST; bar += 1) {
    const from = have[0] + at(lanes.x0, bar) * scale;
    const to = have[0] + at(lanes.x1, bar) * scale;
    if (to > window[0] && from < window[1]) bars.push({ from, to, word: causes[at(lanes.cause, bar)]?.word ?? '?' });
  }
  const thread = threads[at(lanes.thread, lane)];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Intervals">
      <table class="facts">
        <caption>
          Intervals of {thread ? threadName(thread) : 'the thread'}
          {bars.length === MOST ? `, the first ${MOST}: zoom in for others` : ''}
        </caption>
        <tbody>
          {bars.map((bar) => (
            <tr key={bar.from}>
              <th scope="row">
                <button type="button" class="plain" onClick={() => onOpen(thread?.tid ?? -1, Math.floor((bar.from + bar.to) / 2))}>
                  {`${timeAt(bar.from, scale, window[1])} – ${timeAt(bar.to, scale, window[1])}`}
                </button>
              </th>
              <td>{bar.word}</td>
              <td class="right">{time(bar.to - bar.from)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
