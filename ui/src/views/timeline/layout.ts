// The timeline's arithmetic: windows of time that pan and zoom, ticks, lanes under a scroll
// position, and which bar lies at a point. Times are nanoseconds since the recording's start.

import { at } from '../../model/calltree';
import { NO_THREAD, type Lanes, type RunBars } from '../../worker/protocol';
import type { Ns } from '../../model/units';

/** A part of the recording: from, to. */
export type Window = readonly [Ns, Ns];

/** The shortest window: a pixel of a wide screen is then a tenth of a nanosecond, less means nothing. */
export const SHORTEST: Ns = 200;

/** The window moved into the recording, not shorter than what can be told apart. */
export function clamp([from, to]: Window, end: Ns): Window {
  const length = Math.min(Math.max(to - from, SHORTEST), Math.max(end, SHORTEST));
  const start = Math.min(Math.max(from, 0), Math.max(end - length, 0));
  return [start, start + length];
}

/** The window zoomed by a factor (below 1: nearer) around a place, 0 to 1 of its width. */
export function zoom([from, to]: Window, factor: number, place: number, end: Ns): Window {
  const length = Math.min(Math.max((to - from) * factor, SHORTEST), Math.max(end, SHORTEST));
  const fixed = from + (to - from) * place;
  return clamp([fixed - length * place, fixed - length * place + length], end);
}

/** The window moved by a part of its width. */
export function pan([from, to]: Window, part: number, end: Ns): Window {
  const step = (to - from) * part;
  return clamp([from + step, to + step], end);
}

/** The time at a place, 0 to 1 of the width. */
export const timeOf = ([from, to]: Window, place: number): Ns => from + (to - from) * place;

/** The place of a time; outside of 0 to 1 when it does not show. */
export const placeOf = ([from, to]: Window, time: Ns): number => (time - from) / (to - from);

/** The window to ask the engine for: half a width more on each side, so that panning shows no gap. */
export function fetched([from, to]: Window, end: Ns): Window {
  const more = (to - from) / 2;
  return [Math.max(from - more, 0), Math.min(to + more, Math.max(end, SHORTEST))];
}

/** True when what was fetched still covers a window at a sharpness that one cannot tell apart. */
export function covers(have: Window, want: Window): boolean {
  const ratio = (have[1] - have[0]) / (want[1] - want[0]);
  return have[0] <= want[0] && have[1] >= want[1] && ratio <= 2.5;
}

export interface Ticks {
  readonly step: Ns;
  readonly times: readonly Ns[];
}

/** Round times for an axis, at most `most` of them. */
export function ticks([from, to]: Window, most: number): Ticks {
  const rough = Math.max((to - from) / Math.max(most, 1), 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const times: Ns[] = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) times.push(time);
  return { step, times };
}

/** Rows of lanes that show, first and behind the last. */
export function shownRows(count: number, scroll: number, height: number, rowHeight: number): readonly [number, number] {
  const first = Math.max(Math.floor(scroll / rowHeight), 0);
  return [Math.min(first, count), Math.min(Math.ceil((scroll + height) / rowHeight), count)];
}

/** The bar of a lane at a place in the lanes' pixels: its index, or -1. */
export function barAt(lanes: Lanes, lane: number, x: number): number {
  let low = at(lanes.first, lane);
  let high = at(lanes.first, lane + 1) - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (x < at(lanes.x0, middle)) high = middle - 1;
    else if (x >= at(lanes.x1, middle)) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** The run's bars as one lane, to be drawn and asked like the others. */
export function runLane(run: RunBars): Lanes {
  return { thread: Uint32Array.of(NO_THREAD), first: Uint32Array.of(0, run.x0.length), x0: run.x0, x1: run.x1, cause: run.cause };
}

/** The lane of each thread's row that has one. */
export function laneRows(lanes: Lanes): ReadonlyMap<number, number> {
  return new Map([...lanes.thread].map((row, lane) => [row, lane]));
}

/** Time by cause of one lane in a window, from bars that are exact to a pixel. */
export function sums(lanes: Lanes, lane: number, have: Window, pixels: number, want: Window): Map<number, Ns> {
  const found = new Map<number, Ns>();
  const scale = (have[1] - have[0]) / pixels;
  for (let bar = at(lanes.first, lane); bar < at(lanes.first, lane + 1); bar += 1) {
    const from = Math.max(have[0] + at(lanes.x0, bar) * scale, want[0]);
    const to = Math.min(have[0] + at(lanes.x1, bar) * scale, want[1]);
    const cause = at(lanes.cause, bar);
    if (to > from) found.set(cause, (found.get(cause) ?? 0) + to - from);
  }
  return found;
}
