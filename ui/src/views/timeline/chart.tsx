// The lanes' canvas: pan, zoom, brush, hover and choose, by pointer, wheel and keyboard.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { at } from '../../model/calltree';
import { withName, type PatternField } from '../../model/filter';
import type { State } from '../../model/state';
import { shown } from '../../model/text';
import { percent, range, time, timeAt } from '../../model/units';
import { modified, typing } from '../../shell/keys';
import { usePage, type Page } from '../../shell/page';
import { usePicture } from '../../shell/share';
import { CANVAS_FONT, signWidth, useCanvas, useSize, useTheme } from '../../shell/surface';
import { themeColour } from '../../shell/theme';
import type { Interval, Lanes, RunBars, Thread } from '../../worker/protocol';
import type { CauseLook } from '../../model/report';
import { draw, type Look } from './draw';
import type { Follow } from './follow';
import { barAt, laneRows, pan, placeOf, shownRows, ticks, timeOf, zoom, type Window } from './layout';
import { lanesPicture } from './picture';
import { RunLane, runAt } from './run';
import { threadName } from './story';

export interface LanesChartProps {
  readonly state: State;
  readonly lanes: Lanes;
  readonly have: Window;
  readonly pixels: number;
  readonly window: Window;
  readonly end: number;
  readonly threads: readonly Thread[];
  readonly causes: readonly (CauseLook | undefined)[];
  readonly run: RunBars;
  readonly interval: Interval | null;
  readonly follow: Follow;
  onOpen(tid: number, time: number): void;
  /** A message for everyone. */
  say(text: string): void;
}

export const LANE = 24;

/** Pixels that a pointer may move and still be a click. */
const SLACK = 4;

interface Drag {
  readonly x: number;
  readonly window: Window;
  readonly brush: boolean;
  moved: boolean;
}

export function LanesChart(props: LanesChartProps) {
  const { state, lanes, window, end } = props;
  const { store } = usePage();
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(plot);
  const theme = useTheme();
  const [scroll, setScroll] = useState(0);
  const [brushed, brush] = useState<Window | null>(null);
  const [described, describeHover] = useState('');
  const drag = useRef<Drag | null>(null);
  const count = lanes.thread.length;
  const rows = shownRows(count, scroll, size.height, LANE);
  const paintLook = useMemo(() => look(size.width, size.height), [size.width, size.height, theme]);
  const laneOfRow = useMemo(() => laneRows(lanes), [lanes]);
  const scene = { ...props, laneOfRow, rows, selected: selectedLane(props), range: brushed ?? ([state.filter.from, state.filter.to] as const) };
  usePicture(lanesPicture({ ...scene, rows: [0, count] }, { ...paintLook, height: count * LANE }, (lane) => nameOfLane(props, lane)));
  useCanvas(canvas, size, (pen, sharpness) => {
    pen.setTransform(sharpness, 0, 0, sharpness, 0, 0);
    pen.fillStyle = paintLook.ground;
    pen.fillRect(0, 0, size.width, size.height);
    pen.setTransform(sharpness, 0, 0, sharpness, 0, (rows[0] * LANE - scroll) * sharpness);
    draw(pen, scene, paintLook);
  });
  const hasRun = props.run.x0.length > 0;
  const move = (next: Window) => store.set({ window: isAll(next, end) ? null : next }, 'slide');
  // The whole page listens: a click on a button of the story must not cost the keys.
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => onKey(event, props, move, (change) => store.set(change));
    globalThis.addEventListener('keydown', pressed);
    return () => globalThis.removeEventListener('keydown', pressed);
  });
  const place = (event: MouseEvent) => {
    const box = plot.current?.getBoundingClientRect();
    return box && box.width > 0 ? (event.clientX - box.left) / box.width : 0;
  };
  const pointed = (event: MouseEvent) => {
    const box = plot.current?.getBoundingClientRect();
    const lane = box ? Math.floor((event.clientY - box.top + scroll) / LANE) : -1;
    const when = timeOf(window, place(event));
    return { lane, when, bar: lane >= 0 && lane < count ? barAt(lanes, lane, placeOf(props.have, when) * props.pixels) : -1 };
  };
  const onMove = (event: PointerEvent) => {
    const begun = drag.current;
    if (begun === null) return describeHover(hoverText(props, pointed(event)));
    begun.moved ||= Math.abs(event.clientX - begun.x) > SLACK;
    if (!begun.moved) return;
    const shift = (begun.x - event.clientX) / Math.max(size.width, 1);
    if (!begun.brush) return move(pan(begun.window, shift, end));
    const here = place(event);
    const [a, b] = [timeOf(window, Math.min(Math.max(here, 0), 1)), timeOf(window, Math.min(Math.max(here + shift, 0), 1))];
    brush([Math.min(a, b), Math.max(a, b)]);
  };
  const onUp = (event: PointerEvent) => {
    const begun = drag.current;
    drag.current = null;
    if (begun === null) return;
    if (brushed !== null) {
      store.set({ filter: { ...state.filter, from: Math.round(brushed[0]), to: Math.round(brushed[1]) } });
      return brush(null);
    }
    const { lane, when } = pointed(event);
    if (!begun.moved && !begun.brush && lane >= 0 && lane < count) props.onOpen(tidOf(props, lane), Math.floor(when));
  };
  const onCancel = () => {
    drag.current = null;
    brush(null);
  };
  const onDown = (onAxis: boolean) => (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, window, brush: onAxis || event.shiftKey, moved: false };
  };
  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey || event.currentTarget !== frame.current) {
      event.preventDefault();
      move(zoom(window, Math.exp(event.deltaY / 300), place(event), end));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      move(pan(window, (event.deltaX || event.deltaY) / Math.max(size.width, 1), end));
    }
  };
  const pointers = (onAxis: boolean) => ({ onPointerDown: onDown(onAxis), onPointerMove: onMove, onPointerUp: onUp, onPointerCancel: onCancel });
  return (
    <>
      <p class="status-line" id="lanes-status" aria-live="polite">
        {brushed ? `time range ${range(brushed[0], brushed[1])}` : described || 'W A S D or Ctrl + wheel zoom and move. Drag the axis for a time range. Click an interval for its story.'}
      </p>
      <div
        ref={frame}
        class={`lanes ${hasRun ? 'with-run' : ''}`}
        tabIndex={0}
        role="application"
        aria-label="Timeline. W A S D zoom and move, arrow keys choose an interval, F follows a wait, C shows what the run was waiting for, T shows a table"
        aria-describedby="lanes-status"
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        onWheel={onWheel}
      >
        <div class="lanes-top">
          <div class="lane-names-top soft">part of the run</div>
          <div class="axis" {...pointers(true)} onWheel={onWheel}>
            <Axis window={window} width={size.width} />
          </div>
          {hasRun && <RunLane {...props} look={paintLook} onHover={describeHover} />}
        </div>
        <div class="lanes-body" style={{ height: `${Math.max(count, 1) * LANE}px` }}>
          <div class="lane-names">
            {Array.from({ length: rows[1] - rows[0] }, (_, row) => (
              <LaneName key={rows[0] + row} lane={rows[0] + row} props={props} />
            ))}
          </div>
          <div class="plot" ref={plot}>
            <canvas ref={canvas} aria-hidden="true" {...pointers(false)} onPointerLeave={() => describeHover('')} />
          </div>
        </div>
      </div>
    </>
  );
}

const isAll = (window: Window, end: number) => window[0] <= 0 && window[1] >= end;

function look(width: number, height: number): Look {
  return {
    width,
    height: height + LANE,
    rowHeight: LANE,
    font: CANVAS_FONT,
    sign: signWidth(),
    ground: themeColour('--surface'),
    line: themeColour('--line'),
    text: '#10161f',
    focus: themeColour('--text'),
  };
}

/** The kernel's number of a lane's thread. */
const tidOf = ({ lanes, threads }: LanesChartProps, lane: number): number => threads[at(lanes.thread, lane)]?.tid ?? -1;

/** A lane's name in pictures: its thread, and its part of the run. */
function nameOfLane({ lanes, threads, end }: LanesChartProps, lane: number): string {
  const thread = threads[at(lanes.thread, lane)];
  return thread ? `${threadName(thread)} ${percent(end > 0 ? thread.run_ns / end : 0)}` : '';
}

/** The lane of a thread; -1 when it has none. */
const laneOf = ({ lanes, threads }: LanesChartProps, tid: number): number => lanes.thread.findIndex((row) => threads[row]?.tid === tid);

function selectedLane(props: LanesChartProps) {
  const { state, interval } = props;
  if (state.wait === null || interval === null) return null;
  const lane = laneOf(props, state.wait[0]);
  return lane < 0 ? null : { lane, from: interval.from, to: interval.to };
}

function LaneName({ lane, props }: { lane: number; props: LanesChartProps }) {
  const page = usePage();
  const thread = props.threads[at(props.lanes.thread, lane)];
  if (thread === undefined) return null;
  const chosen = props.state.wait?.[0] === thread.tid;
  const name = threadName(thread);
  return (
    <div class={`lane-name ${chosen ? 'chosen' : ''}`} style={{ top: `${lane * LANE}px` }} title={`${name} of ${thread.process} (${thread.pid}): ${time(thread.run_ns)} of the run`}>
      <button type="button" class="plain" tabIndex={-1} onClick={(event) => openThreadMenu(page, thread, event.clientX, event.clientY)}>
        {name}
      </button>
      <span class="soft">{thread.idle ? 'idle' : percent(props.end > 0 ? thread.run_ns / props.end : 0)}</span>
    </div>
  );
}

/** What can be done with a thread: narrow every view to it, or to its process. */
function openThreadMenu(page: Page, thread: Thread, x: number, y: number): void {
  const narrow = (field: PatternField, name: string) => () => page.store.set({ filter: withName(page.store.get().filter, field, name) });
  page.menu({
    x,
    y,
    title: threadName(thread),
    items: [
      { label: 'Only this thread', act: narrow('thread', `${thread.name} (${thread.tid})`) },
      { label: `Only the process ${shown(thread.process, 60)} (${thread.pid})`, act: narrow('process', `${thread.process} (${thread.pid})`) },
    ],
  });
}

/** Space that the text of a tick needs. */
const TICK_WIDTH = 110;

function Axis({ window, width }: { window: Window; width: number }) {
  const { step, times } = ticks(window, Math.max(Math.floor(width / TICK_WIDTH), 2));
  return (
    <>
      {times.map((at) => (
        <span key={at} class="tick" style={{ left: `${placeOf(window, at) * 100}%` }}>
          {timeAt(at, step, times[times.length - 1])}
        </span>
      ))}
    </>
  );
}

function hoverText(props: LanesChartProps, { lane, bar, when }: { lane: number; bar: number; when: number }): string {
  const thread = props.threads[props.lanes.thread[lane] ?? -1];
  if (thread === undefined) return '';
  const cause = bar < 0 ? undefined : props.causes[at(props.lanes.cause, bar)];
  const scale = (props.have[1] - props.have[0]) / props.pixels;
  const length = bar < 0 ? 0 : (at(props.lanes.x1, bar) - at(props.lanes.x0, bar)) * scale;
  const what = cause ? `${cause.word}, ${time(length)}` : 'not alive or not recorded';
  return `${threadName(thread)} at ${timeAt(when, (props.window[1] - props.window[0]) / 100)}: ${what}`;
}

function onKey(event: KeyboardEvent, props: LanesChartProps, move: (window: Window) => void, set: (change: Partial<State>) => void): void {
  if (modified(event) || typing(event) || event.defaultPrevented) return;
  const { window, end, follow, lanes, state } = props;
  const other = (step: number) => {
    const here = state.wait === null ? -1 : laneOf(props, state.wait[0]);
    const lane = Math.min(Math.max(here + step, 0), lanes.thread.length - 1);
    const time = state.wait?.[1] ?? (window[0] + window[1]) / 2;
    if (lane >= 0) props.onOpen(tidOf(props, lane), Math.floor(time));
  };
  const keys: Record<string, () => void> = {
    w: () => move(zoom(window, 0.7, 0.5, end)),
    s: () => move(zoom(window, 1 / 0.7, 0.5, end)),
    a: () => move(pan(window, -0.15, end)),
    d: () => move(pan(window, 0.15, end)),
    f: follow.next,
    c: () => runAt(props, state.wait?.[1] ?? (window[0] + window[1]) / 2),
    backspace: follow.back,
    arrowleft: () => follow.beside(-1),
    arrowright: () => follow.beside(1),
    arrowup: () => other(-1),
    arrowdown: () => other(1),
    '0': () => set({ window: null }),
    r: () => set({ filter: { ...state.filter, from: Math.round(window[0]), to: Math.round(window[1]) } }),
    escape: () => set({ wait: null }),
  };
  const act = keys[event.key.toLowerCase()];
  // Arrows scroll what is beside the lanes, such as a long story.
  const elsewhere = event.target instanceof Element && event.target !== document.body && event.target.closest('.lanes') === null;
  if (act === undefined || (elsewhere && event.key.startsWith('Arrow'))) return;
  event.preventDefault();
  act();
}
