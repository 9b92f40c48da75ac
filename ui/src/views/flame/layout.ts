// The flame graph's boxes: a tree and a focused node become boxes in 0 to 1 of the width and whole
// rows of height. Root on top. The focused node's ancestors stand above it at full width:
//
//   row 0   ROOT ...................................   ancestor, full width
//   row 1   main ...................................   focused
//   row 2   read ................. parse ...........   its callees, by falling value
//
// Boxes that are narrower than asked for are left out, with all below them; the gap stays.

import { at, children, parents, pathTo, total, type Tree } from '../../model/calltree';

/** One entry a box, row by row in preorder. */
export interface Boxes {
  /** Index in the tree. */
  readonly node: Uint32Array;
  readonly x0: Float32Array;
  readonly x1: Float32Array;
  readonly row: Uint16Array;
  readonly rows: number;
  /** How many of the boxes are ancestors of the focused node; they come first. */
  readonly ancestors: number;
}

/** Lays out the part of a tree below `focus` (-1: all of it). */
export function layout(tree: Tree, focus: number, narrowest: number): Boxes {
  const above = focus < 0 ? [] : pathTo(parents(tree), focus).slice(0, -1);
  const out = { node: [...above], x0: above.map(() => 0), x1: above.map(() => 1), row: above.map((_, row) => row) };
  const base = focus < 0 ? 0 : at(tree.depth, focus);
  const whole = focus < 0 ? total(tree) : at(tree.value, focus);
  const stop = focus < 0 ? tree.name.length : at(tree.end, focus);
  // The left edge of the next box of each row.
  const next: number[] = [0];
  let rows = above.length;
  let node = Math.max(focus, 0);
  while (node < stop && whole > 0) {
    const level = at(tree.depth, node) - base;
    const x0 = next[level] ?? 0;
    const x1 = x0 + at(tree.value, node) / whole;
    next[level] = x1;
    next[level + 1] = x0;
    if (x1 - x0 < narrowest) {
      node = at(tree.end, node);
      continue;
    }
    out.node.push(node);
    out.x0.push(x0);
    out.x1.push(Math.min(x1, 1));
    out.row.push(level + above.length);
    rows = Math.max(rows, level + above.length + 1);
    node += 1;
  }
  return {
    node: Uint32Array.from(out.node),
    x0: Float32Array.from(out.x0),
    x1: Float32Array.from(out.x1),
    row: Uint16Array.from(out.row),
    rows,
    ancestors: above.length,
  };
}

/** The box at a point: its index, or -1. */
export function hit(boxes: Boxes, x: number, row: number): number {
  for (let box = 0; box < boxes.node.length; box += 1) {
    if (boxes.row[box] === row && at(boxes.x0, box) <= x && x < at(boxes.x1, box)) return box;
  }
  return -1;
}

export type Direction = 'up' | 'down' | 'left' | 'right';

/** The node that an arrow key leads to; the same node where there is none. */
export function neighbour(tree: Tree, up: Int32Array, node: number, direction: Direction): number {
  if (node < 0) return tree.name.length > 0 ? 0 : -1;
  const parent = up[node] ?? -1;
  if (direction === 'up') return parent < 0 ? node : parent;
  if (direction === 'down') return children(tree, node)[0] ?? node;
  const row = children(tree, parent);
  const place = row.indexOf(node) + (direction === 'left' ? -1 : 1);
  return row[place] ?? node;
}

/** A text cut to a width, in a font whose signs are all equally wide; empty where two do not fit. */
export function fitted(text: string, width: number, sign: number): string {
  const room = Math.floor(width / sign);
  if (room < 2) return '';
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}
