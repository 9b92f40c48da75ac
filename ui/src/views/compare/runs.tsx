// Both runs over time, one under the other, from the start of each command on and on one scale: where
// the longer one is longer.

import { useMemo, useRef, useState } from 'preact/hooks';
import { at } from '../../model/calltree';
import { chips } from '../../model/filter';
import { causeLooks } from '../../model/report';
import type { State } from '../../model/state';
import { shown } from '../../model/text';
import { time, timeAt } from '../../model/units';
import { usePage } from '../../shell/page';
import { CANVAS_FONT, signWidth, useCanvas, useSize, useTheme } from '../../shell/surface';
import { Swatch } from '../../shell/swatch';
import { themeColour } from '../../shell/theme';
import type { Runs, RunSide } from '../../worker/protocol';
import { around } from '../evidence/layout';
import { draw, type Look } from '../timeline/draw';
import { barAt, placeOf, runLane, ticks, timeOf, type Window } from '../timeline/layout';
import { longest } from './layout';

/** The pixels that the engine merges the runs' bars to. */
export const RUN_PIXELS = 2400;

/** The height of a run's bar. */
const HEIGHT = 30;

interface RunsProps {
  readonly runs: Runs;
  readonly state: State;
  /** The names of the recordings, before and after. */
  readonly names: readonly [string, string];
}

export function BothRuns({ runs, state, names }: RunsProps) {
  const { recording } = usePage();
  const [told, tell] = useState('');
  const used = useMemo(() => new Set([...runs.before.cause, ...runs.after.cause]), [runs]);
  const window: Window = [0, runs.length];
  const narrowed = chips(state.filter).length > 0;
  const axis = ticks(window, 8);
  const sides = [runs.before, runs.after] as const;
  return (
    <section class="part both-runs" aria-label="Both runs over time">
      <h2>Both runs over time</h2>
      <p class="soft run-told">{told || `What each run was waiting for, from the start of its command on. ${narrowed ? 'Filters do not narrow it. ' : ''}A click on the open recording shows that time in the timeline.`}</p>
      {state.table ? (
        sides.map((side, nth) => <Longest key={nth} side={side} length={runs.length} name={names[nth] ?? ''} />)
      ) : (
        <div class="runs">
          {sides.map((side, nth) => (
            <Side key={nth} side={side} window={window} name={`${nth === 0 ? 'before' : 'after'}: ${names[nth] ?? ''}`} onTell={tell} opened={(nth === 0) !== state.swap} />
          ))}
          <span />
          <div class="when-axis" aria-hidden="true">
            {axis.times.map((when) => (
              <span key={when} class="tick" style={{ left: `${placeOf(window, when) * 100}%` }}>
                {timeAt(when, axis.step, runs.length)}
              </span>
            ))}
          </div>
        </div>
      )}
      <p class="legend soft">
        {recording.facts.causes.filter((cause) => used.has(cause.id)).map((cause) => (
          <Swatch key={cause.word} cause={cause} />
        ))}
      </p>
    </section>
  );
}

interface SideProps {
  readonly side: RunSide;
  readonly window: Window;
  readonly name: string;
  /** True for the recording that the other views show. */
  readonly opened: boolean;
  onTell(text: string): void;
}

function Side({ side, window, name, opened, onTell }: SideProps) {
  const { recording, store } = usePage();
  const plot = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(plot);
  const theme = useTheme();
  const causes = useMemo(() => causeLooks(recording.facts.causes), [recording]);
  const colours = useMemo(look, [theme]);
  const lane = useMemo(() => runLane(side), [side]);
  useCanvas(canvas, size, (pen) => {
    const run = { ...side, x0: new Float32Array() };
    const scene = { lanes: lane, have: window, pixels: RUN_PIXELS, window, causes, rows: [0, 1] as const, selected: null, run, laneOfRow: new Map(), range: [null, null] as const };
    draw(pen, scene, { ...colours, width: size.width, height: size.height });
  });
  const when = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return timeOf(window, (event.clientX - box.left) / Math.max(box.width, 1));
  };
  const hover = (event: MouseEvent) => {
    const bar = barAt(lane, 0, placeOf(window, when(event)) * RUN_PIXELS);
    const [from, to] = [at(side.x0, bar), at(side.x1, bar)];
    const what = bar < 0 ? 'the command had ended, or nothing was recorded' : `${shown(side.names[at(side.thread, bar)] ?? '', 80)}, ${causes[at(side.cause, bar)]?.word ?? '?'}, ${time(((to - from) * window[1]) / RUN_PIXELS)}`;
    onTell(`${name} at ${timeAt(when(event), window[1] / 500)}: ${what}`);
  };
  const open = (event: MouseEvent) => {
    if (!opened) return;
    const middle = side.start + when(event);
    store.set({ view: 'timeline', window: around(middle - window[1] / 60, middle + window[1] / 60, recording.facts.recording.wall_ns) });
  };
  return (
    <>
      <span class="run-of" title={shown(name, 300)}>
        {shown(name, 60)}
      </span>
      <div class="run-plot" ref={plot}>
        <canvas ref={canvas} aria-hidden="true" class={opened ? '' : 'still'} onPointerMove={hover} onPointerLeave={() => onTell('')} onClick={open} />
      </div>
    </>
  );
}

function look(): Omit<Look, 'width' | 'height'> {
  return { rowHeight: HEIGHT, font: CANVAS_FONT, sign: signWidth(), ground: themeColour('--surface'), line: themeColour('--line'), text: '#10161f', focus: themeColour('--text') };
}

/** The longest stretches of a run: the twin of its bar. */
function Longest({ side, length, name }: { side: RunSide; length: number; name: string }) {
  const { recording } = usePage();
  const causes = useMemo(() => causeLooks(recording.facts.causes), [recording]);
  const scale = length / RUN_PIXELS;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`The longest stretches of ${shown(name, 80)}`}>
      <table class="facts">
        <caption>The longest stretches of {shown(name, 80)}, exact to a pixel of the picture</caption>
        <thead>
          <tr>
            <th scope="col">At</th>
            <th scope="col" class="right">
              Time
            </th>
            <th scope="col">Cause</th>
            <th scope="col">Thread</th>
          </tr>
        </thead>
        <tbody>
          {longest(side).map((bar) => (
            <tr key={bar}>
              <th scope="row">{timeAt(at(side.x0, bar) * scale, scale, length)}</th>
              <td class="right">{time((at(side.x1, bar) - at(side.x0, bar)) * scale)}</td>
              <td>{causes[at(side.cause, bar)]?.word ?? '?'}</td>
              <td>{shown(side.names[at(side.thread, bar)] ?? '', 80)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
