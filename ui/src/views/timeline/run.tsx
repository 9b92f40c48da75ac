// The run as a lane of its own: what it was waiting for at each moment. A click leads to the thread that
// it was waiting for then.

import { useRef } from 'preact/hooks';
import { at } from '../../model/calltree';
import { range, time, timeAt } from '../../model/units';
import { CopyButtons } from '../../shell/copyButtons';
import { useCanvas, useSize } from '../../shell/surface';
import { NO_THREAD, type RunBars, type Thread } from '../../worker/protocol';
import type { CauseLook } from '../../model/report';
import { draw, type Look } from './draw';
import { barAt, placeOf, runLane, timeOf, type Window } from './layout';
import { threadName } from './story';

export interface RunTableProps {
  readonly run: RunBars;
  readonly have: Window;
  readonly pixels: number;
  readonly window: Window;
  readonly threads: readonly Thread[];
  readonly causes: readonly (CauseLook | undefined)[];
  onOpen(tid: number, time: number): void;
  /** A message for everyone. */
  say(text: string): void;
}

interface RunLaneProps extends RunTableProps {
  readonly look: Look;
  onHover(text: string): void;
}

export function RunLane(props: RunLaneProps) {
  const { window, look } = props;
  const plot = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(plot);
  useCanvas(canvas, size, (pen) => {
    const lanes = runLane(props.run);
    // One lane, through which no path leads: it is the path.
    const scene = { ...props, lanes, run: { ...props.run, x0: new Float32Array() }, laneOfRow: new Map(), rows: [0, 1] as const, selected: null, range: [null, null] as const };
    draw(pen, scene, { ...look, width: size.width, height: size.height });
  });
  const when = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return timeOf(window, (event.clientX - box.left) / Math.max(box.width, 1));
  };
  return (
    <>
      <div class="lane-names-top run-name-top">the run waits for</div>
      <div class="run-plot" ref={plot}>
        <canvas ref={canvas} aria-hidden="true" onClick={(event) => runAt(props, when(event))} onPointerMove={(event) => props.onHover(hoverText(props, when(event)))} onPointerLeave={() => props.onHover('')} />
      </div>
    </>
  );
}

/** The bar at a time; -1 for none. */
function barOf({ run, have, pixels }: RunTableProps, when: number): number {
  return barAt(runLane(run), 0, placeOf(have, when) * pixels);
}

const threadOf = ({ run, threads }: RunTableProps, bar: number): Thread | undefined => {
  const row = at(run.thread, bar);
  return row === NO_THREAD ? undefined : threads[row];
};

/** Opens the story of what the run was waiting for at a time. */
export function runAt(props: RunTableProps, when: number): void {
  const bar = barOf(props, when);
  const thread = bar < 0 ? undefined : threadOf(props, bar);
  if (thread !== undefined) return props.onOpen(thread.tid, Math.floor(when));
  props.say(bar < 0 ? 'No command of this recording ran at that time, so nothing is known to have been waited for.' : 'The filter leaves out the thread that the run was waiting for.');
}

function hoverText(props: RunTableProps, when: number): string {
  const bar = barOf(props, when);
  const moment = timeAt(when, (props.window[1] - props.window[0]) / 100);
  if (bar < 0) return `the run at ${moment}: not recorded`;
  const thread = threadOf(props, bar);
  const scale = (props.have[1] - props.have[0]) / props.pixels;
  const length = (at(props.run.x1, bar) - at(props.run.x0, bar)) * scale;
  return `the run at ${moment} waits for ${thread ? threadName(thread) : 'a thread that the filter leaves out'}: ${props.causes[at(props.run.cause, bar)]?.word ?? '?'}, ${time(length)}`;
}

/** The most stretches that are listed; the window says which. */
const MOST = 200;

/** The run's stretches in the window as a table. */
export function RunTable(props: RunTableProps) {
  const { run, have, pixels, window, causes } = props;
  if (run.x0.length === 0) return null;
  const scale = (have[1] - have[0]) / pixels;
  const rows: { bar: number; from: number; to: number }[] = [];
  for (let bar = 0; bar < run.x0.length && rows.length < MOST; bar += 1) {
    const from = have[0] + at(run.x0, bar) * scale;
    const to = have[0] + at(run.x1, bar) * scale;
    if (to > window[0] && from < window[1]) rows.push({ bar, from, to });
  }
  const cells = ({ bar, from, to }: (typeof rows)[number]) => {
    const thread = threadOf(props, bar);
    return [`${timeAt(from, scale, window[1])} – ${timeAt(to, scale, window[1])}`, thread ? threadName(thread) : 'left out by the filter', causes[at(run.cause, bar)]?.word ?? '?', time(to - from)];
  };
  const head = ['At', 'Thread', 'Cause', 'Time'];
  return (
    <>
      <div class="toolbar">
        <CopyButtons sheet={() => ({ head, rows: rows.map(cells) })} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="What the run was waiting for">
        <table class="facts">
          <caption>
            What the run was waiting for, {range(window[0], window[1])}
            {rows.length === MOST ? `, the first ${MOST}: zoom in for others` : ''}
          </caption>
          <thead>
            <tr>
              {head.map((title) => (
                <th key={title} scope="col" class={title === 'Time' ? 'right' : ''}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const [when, thread, cause, length] = cells(row);
              return (
                <tr key={row.bar}>
                  <th scope="row">
                    <button type="button" class="plain" onClick={() => runAt(props, (row.from + row.to) / 2)}>
                      {when}
                    </button>
                  </th>
                  <td>{thread}</td>
                  <td>{cause}</td>
                  <td class="right">{length}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
