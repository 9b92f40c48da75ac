// Lanes become calls of a canvas. A bar's height shows its group as well as its colour does:
// running fills the lane, ready takes two thirds of it, blocked one third.

import { at } from '../../model/calltree';
import type { CauseLook, Group } from '../../model/report';
import type { Lanes, RunBars } from '../../worker/protocol';
import { fitted } from '../flame/layout';
import type { Pen } from '../flame/draw';
import { placeOf, type Window } from './layout';

export interface Scene {
  readonly lanes: Lanes;
  /** What was fetched, and in how many pixels. */
  readonly have: Window;
  readonly pixels: number;
  readonly window: Window;
  readonly causes: readonly (CauseLook | undefined)[];
  readonly rows: readonly [number, number];
  /** The selected interval, with its lane; none for none. */
  readonly selected: { readonly lane: number; readonly from: number; readonly to: number } | null;
  /** What the run was waiting for, drawn through the lanes, and the lanes of threads' rows. */
  readonly run: RunBars;
  readonly laneOfRow: ReadonlyMap<number, number>;
  /** The time range of the filter. */
  readonly range: readonly [number | null, number | null];
}

export interface Look {
  readonly width: number;
  readonly rowHeight: number;
  /** Height of the part of the canvas that lanes may cover. */
  readonly height: number;
  readonly font: string;
  readonly sign: number;
  readonly ground: string;
  readonly line: string;
  readonly text: string;
  readonly focus: string;
}

/** Parts of a lane's height. */
const HEIGHT: Record<Group, number> = { running: 1, ready: 0.66, blocked: 0.36 };

/** Words stand only in bars at least this wide. */
const WORD_WIDTH = 56;

/** Draws the lanes; `y` 0 is the top of the first row that shows. */
export function draw(pen: Pen, scene: Scene, look: Look): void {
  pen.globalAlpha = 1;
  pen.fillStyle = look.ground;
  pen.fillRect(0, 0, look.width, look.height);
  pen.font = look.font;
  pen.textBaseline = 'middle';
  for (let lane = scene.rows[0]; lane < scene.rows[1]; lane += 1) drawLane(pen, scene, look, lane);
  drawPath(pen, scene, look);
  drawRange(pen, scene, look);
  drawSelected(pen, scene, look);
}

/** From the pixels that were fetched to those of the picture: `x * scale + shift`. */
function across({ have, pixels, window }: Scene, look: Look): { scale: number; shift: number } {
  const scale = (look.width / pixels) * ((have[1] - have[0]) / (window[1] - window[0]));
  return { scale, shift: placeOf(window, have[0]) * look.width };
}

function drawLane(pen: Pen, scene: Scene, look: Look, lane: number): void {
  const { lanes } = scene;
  const y = (lane - scene.rows[0]) * look.rowHeight;
  const { scale, shift } = across(scene, look);
  const room = look.rowHeight - 3;
  for (let bar = at(lanes.first, lane); bar < at(lanes.first, lane + 1); bar += 1) {
    const x0 = Math.max(shift + at(lanes.x0, bar) * scale, 0);
    const x1 = Math.min(shift + at(lanes.x1, bar) * scale, look.width);
    const cause = scene.causes[at(lanes.cause, bar)];
    if (x1 <= x0 || cause === undefined) continue;
    const height = HEIGHT[cause.group] * room;
    pen.fillStyle = cause.colour;
    pen.fillRect(x0, y + 1 + room - height, Math.max(x1 - x0, 0.5), height);
    if (x1 - x0 < WORD_WIDTH || cause.group === 'blocked') continue;
    pen.fillStyle = look.text;
    pen.fillText(fitted(cause.word, x1 - x0 - 8, look.sign), x0 + 4, y + 1 + room - height / 2);
  }
  pen.fillStyle = look.line;
  pen.fillRect(0, y + look.rowHeight - 1, look.width, 1);
}

/** How thick the path is. */
const PATH = 3;

/** The path changes lanes by a line where both stretches are at least this wide: more lines would be a wall. */
const LINK_WIDTH = 3;

/** The critical path: a line along the foot of the lanes that it passes, and one from lane to lane. */
function drawPath(pen: Pen, scene: Scene, look: Look): void {
  const { run } = scene;
  const { scale, shift } = across(scene, look);
  const foot = (lane: number) => (lane - scene.rows[0] + 1) * look.rowHeight - PATH - 1;
  let before = { lane: -1, width: 0 };
  pen.fillStyle = look.focus;
  for (let bar = 0; bar < run.x0.length; bar += 1) {
    const x0 = shift + at(run.x0, bar) * scale;
    const x1 = shift + at(run.x1, bar) * scale;
    const lane = scene.laneOfRow.get(at(run.thread, bar)) ?? -1;
    const last = before;
    before = { lane, width: x1 - x0 };
    if (x1 <= 0 || x0 >= look.width || lane < 0) continue;
    if (lane >= scene.rows[0] && lane < scene.rows[1]) {
      pen.fillRect(Math.max(x0, 0), foot(lane), Math.max(Math.min(x1, look.width) - Math.max(x0, 0), 0.5), PATH);
    }
    if (x0 < 0 || last.lane < 0 || last.lane === lane || Math.min(last.width, before.width) < LINK_WIDTH) continue;
    const [top, bottom] = [Math.min(lane, last.lane), Math.max(lane, last.lane)];
    pen.fillRect(x0, foot(top), 1, foot(bottom) - foot(top) + PATH);
  }
}

/** What lies outside of the time range is dimmed. */
function drawRange(pen: Pen, scene: Scene, look: Look): void {
  const [from, to] = scene.range;
  const left = from === null ? 0 : Math.min(Math.max(placeOf(scene.window, from), 0), 1) * look.width;
  const right = to === null ? look.width : Math.min(Math.max(placeOf(scene.window, to), 0), 1) * look.width;
  pen.globalAlpha = 0.7;
  pen.fillStyle = look.ground;
  if (left > 0) pen.fillRect(0, 0, left, look.height);
  if (right < look.width) pen.fillRect(right, 0, look.width - right, look.height);
  pen.globalAlpha = 1;
}

function drawSelected(pen: Pen, scene: Scene, look: Look): void {
  const chosen = scene.selected;
  if (chosen === null || chosen.lane < scene.rows[0] || chosen.lane >= scene.rows[1]) return;
  const x0 = Math.max(placeOf(scene.window, chosen.from) * look.width, -4);
  const x1 = Math.min(placeOf(scene.window, chosen.to) * look.width, look.width + 4);
  if (x1 < 0 || x0 > look.width) return;
  pen.strokeStyle = look.focus;
  pen.lineWidth = 2;
  pen.strokeRect(x0, (chosen.lane - scene.rows[0]) * look.rowHeight + 1, Math.max(x1 - x0, 3), look.rowHeight - 3);
}
