// Boxes of a drawn tree, and the calls that draw them.

import { expect, test } from 'vitest';
import { parents } from '../../model/calltree';
import { recordingPen } from '../../testing/pen';
import { treeFrom } from '../../testing/trees';
import { draw } from './draw';
import { fitted, hit, layout, neighbour, type Boxes } from './layout';

const { tree, names } = treeFrom(`
  ROOT 0
    main 2
      read 4
      parse 2
    idle 2
`);

const lines = (boxes: Boxes) => [...boxes.node.keys()].map((box) => `${boxes.row[box]} ${names[tree.name[boxes.node[box] ?? 0] ?? 0]} ${boxes.x0[box]?.toFixed(2)}-${boxes.x1[box]?.toFixed(2)}`);

test('boxes tile their callers from the left', () => {
  expect(lines(layout(tree, -1, 0))).toEqual(['0 ROOT 0.00-1.00', '1 main 0.00-0.80', '2 read 0.00-0.40', '2 parse 0.40-0.60', '1 idle 0.80-1.00']);
});

test('a focused node fills the width under its ancestors', () => {
  const boxes = layout(tree, 1, 0);
  expect(lines(boxes)).toEqual(['0 ROOT 0.00-1.00', '1 main 0.00-1.00', '2 read 0.00-0.50', '2 parse 0.50-0.75']);
  expect([boxes.rows, boxes.ancestors]).toEqual([3, 1]);
});

test('narrow boxes are left out and keep their place', () => {
  expect(lines(layout(tree, -1, 0.25))).toEqual(['0 ROOT 0.00-1.00', '1 main 0.00-0.80', '2 read 0.00-0.40']);
});

test('a tree without value has no boxes', () => {
  const none = treeFrom('ROOT 0').tree;
  expect(layout(none, -1, 0).node.length).toBe(0);
});

test('points and arrow keys find boxes', () => {
  const boxes = layout(tree, -1, 0);
  expect([hit(boxes, 0.5, 2), hit(boxes, 0.7, 2), hit(boxes, 0.9, 1), hit(boxes, 0.1, 9)]).toEqual([3, -1, 4, -1]);
  const up = parents(tree);
  expect([neighbour(tree, up, 2, 'right'), neighbour(tree, up, 3, 'right'), neighbour(tree, up, 3, 'left'), neighbour(tree, up, 1, 'down'), neighbour(tree, up, 1, 'up'), neighbour(tree, up, -1, 'down')]).toEqual([3, 3, 2, 2, 0, 0]);
});

test('text is cut to its box', () => {
  expect([fitted('parse', 40, 8), fitted('parse', 32, 8), fitted('parse', 9, 8)]).toEqual(['parse', 'par…', '']);
});

test('matches are outlined, not only coloured', () => {
  const pen = recordingPen();
  const look = { width: 100, rowHeight: 10, font: 'f', sign: 5, ground: 'ground', text: 'dark', plain: 'plain', plainText: 'soft', hit: 'hit', focus: 'focus' };
  const label = (node: number) => names[tree.name[node] ?? 0] ?? '';
  draw(pen, { tree, boxes: layout(tree, -1, 0), colours: [], label, hits: Uint8Array.from([0, 0, 1, 0, 0]), selected: 1, rows: [0, 1] }, look);
  expect(pen.log).toEqual(['fill ground 0 0 100 20', 'fill plain 0 0 99 9', 'text ROOT 4 5', 'fill plain 0 10 79 9', 'text main 4 15', 'outline focus 1.5 11.5 76 6', 'fill plain 80 10 19 9', 'text i… 84 15']);
  pen.log.length = 0;
  draw(pen, { tree, boxes: layout(tree, -1, 0), colours: [], label, hits: Uint8Array.from([0, 0, 1, 0, 0]), selected: -1, rows: [2, 2] }, look);
  expect(pen.log.filter((line) => line.startsWith('outline'))).toEqual(['outline hit 1 21 37 7']);
});
