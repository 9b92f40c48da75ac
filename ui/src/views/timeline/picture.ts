// The timeline as a picture to keep: axis, the run, and all lanes with their names.

import type { Picture } from '../../shell/share';
import { timeAt } from '../../model/units';
import type { Pen } from '../flame/draw';
import { fitted } from '../flame/layout';
import { draw, type Look, type Scene } from './draw';
import { placeOf, runLane, ticks } from './layout';

/** Space for names, and the height of the axis. */
const NAMES = 210;
const AXIS = 24;

/** A pen whose origin lies elsewhere. */
function moved(pen: Pen, dx: number, dy: number): Pen {
  return {
    get fillStyle() {
      return pen.fillStyle;
    },
    set fillStyle(style) {
      pen.fillStyle = style;
    },
    get strokeStyle() {
      return pen.strokeStyle;
    },
    set strokeStyle(style) {
      pen.strokeStyle = style;
    },
    set lineWidth(width: number) {
      pen.lineWidth = width;
    },
    set font(font: string) {
      pen.font = font;
    },
    set textBaseline(line: CanvasTextBaseline) {
      pen.textBaseline = line;
    },
    set globalAlpha(alpha: number) {
      pen.globalAlpha = alpha;
    },
    fillRect: (x, y, width, height) => pen.fillRect(x + dx, y + dy, width, height),
    strokeRect: (x, y, width, height) => pen.strokeRect(x + dx, y + dy, width, height),
    fillText: (text, x, y) => pen.fillText(text, x + dx, y + dy),
  };
}

/** The picture of a scene with all its lanes. */
export function lanesPicture(scene: Scene, look: Look, nameOf: (lane: number) => string): Picture {
  const hasRun = scene.run.x0.length > 0;
  const top = AXIS + (hasRun ? look.rowHeight : 0);
  const height = top + scene.rows[1] * look.rowHeight;
  return { name: 'timeline', width: NAMES + look.width, height, paint };

  function paint(pen: Pen): void {
    pen.fillStyle = look.ground;
    pen.fillRect(0, 0, NAMES + look.width, height);
    draw(moved(pen, NAMES, top), { ...scene, selected: null }, look);
    if (hasRun) {
      const run = { ...scene, lanes: runLane(scene.run), run: { ...scene.run, x0: new Float32Array() }, rows: [0, 1] as const, selected: null };
      draw(moved(pen, NAMES, AXIS), run, { ...look, height: look.rowHeight });
    }
    pen.font = look.font;
    pen.textBaseline = 'middle';
    pen.fillStyle = look.focus;
    const name = (text: string, y: number) => pen.fillText(fitted(text, NAMES - 12, look.sign), 4, y);
    if (hasRun) name('the run waits for', AXIS + look.rowHeight / 2);
    for (let lane = 0; lane < scene.rows[1]; lane += 1) name(nameOf(lane), top + (lane + 0.5) * look.rowHeight);
    const { step, times } = ticks(scene.window, Math.max(Math.floor(look.width / 120), 2));
    for (const time of times) {
      const x = NAMES + placeOf(scene.window, time) * look.width;
      pen.fillRect(x, AXIS - 6, 1, 6);
      pen.fillText(timeAt(time, step, times[times.length - 1]), x + 3, AXIS / 2);
    }
  }
}
