// Boxes of the flame graph become calls of a canvas. What is drawn is decided in `layout`.

import { at, type Tree } from '../../model/calltree';
import { fitted, type Boxes } from './layout';

/** The part of a canvas that is used; tests record the calls. */
export interface Pen {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  font: string;
  textBaseline: CanvasTextBaseline;
  globalAlpha: number;
  fillRect(x: number, y: number, width: number, height: number): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
}

export interface Look {
  readonly width: number;
  readonly rowHeight: number;
  readonly font: string;
  /** Width of one sign of the font. */
  readonly sign: number;
  readonly ground: string;
  readonly text: string;
  readonly plain: string;
  readonly plainText: string;
  readonly hit: string;
  readonly focus: string;
}

export interface Scene {
  readonly tree: Tree;
  readonly boxes: Boxes;
  /** A colour a cause. */
  readonly colours: readonly (string | undefined)[];
  label(node: number): string;
  /** Which names the search found; none without a search. */
  readonly hits: Uint8Array | null;
  /** The node under the keyboard; -1 for none. */
  readonly selected: number;
  /** First and last row to draw. */
  readonly rows: readonly [number, number];
}

/** Space between text and a box's left edge. */
const PAD = 4;

export function draw(pen: Pen, scene: Scene, look: Look): void {
  pen.globalAlpha = 1;
  pen.fillStyle = look.ground;
  pen.fillRect(0, scene.rows[0] * look.rowHeight, look.width, (scene.rows[1] - scene.rows[0] + 1) * look.rowHeight);
  pen.font = look.font;
  pen.textBaseline = 'middle';
  for (let box = 0; box < scene.boxes.node.length; box += 1) {
    const row = at(scene.boxes.row, box);
    if (row >= scene.rows[0] && row <= scene.rows[1]) drawBox(pen, scene, look, box);
  }
  pen.globalAlpha = 1;
}

function drawBox(pen: Pen, scene: Scene, look: Look, box: number): void {
  const { tree, boxes, hits } = scene;
  const node = at(boxes.node, box);
  const x = at(boxes.x0, box) * look.width;
  const y = at(boxes.row, box) * look.rowHeight;
  const width = Math.max((at(boxes.x1, box) - at(boxes.x0, box)) * look.width - 1, 0.5);
  const height = look.rowHeight - 1;
  const colour = scene.colours[at(tree.cause, node)];
  const found = hits !== null && at(hits, at(tree.name, node)) === 1;
  const faded = (hits !== null && !found) || box < boxes.ancestors;
  pen.globalAlpha = faded ? 0.35 : 1;
  pen.fillStyle = colour ?? look.plain;
  pen.fillRect(x, y, width, height);
  pen.globalAlpha = 1;
  const text = fitted(scene.label(node), width - 2 * PAD, look.sign);
  if (text !== '') {
    pen.fillStyle = faded || colour === undefined ? look.plainText : look.text;
    pen.fillText(text, x + PAD, y + height / 2 + 0.5);
  }
  if (found) outline(pen, look.hit, 2, x, y, width, height);
  if (node === scene.selected) outline(pen, look.focus, 3, x, y, width, height);
}

/** Marks are drawn as outlines: colour alone would not show them to everyone. */
function outline(pen: Pen, colour: string, line: number, x: number, y: number, width: number, height: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.strokeRect(x + line / 2, y + line / 2, Math.max(width - line, 0.5), height - line);
}
