// Walks over trees, on drawings.

import { expect, test } from 'vitest';
import { treeFrom } from '../testing/trees';
import { children, findPath, hashWord, hottestPath, matcher, parents, pathHashes, pathTo, searchTotal, total, visible } from './calltree';

const { tree, names } = treeFrom(`
  ROOT 0
    app!main 1
      app!read 3
        libc!read 4
      app!parse 2
        app!read 1
    app!idle 1
`);

test('children, parents and totals are those of the drawing', () => {
  expect(children(tree, 0)).toEqual([1, 6]);
  expect(children(tree, 1)).toEqual([2, 4]);
  expect(children(tree, -1)).toEqual([0]);
  expect([...parents(tree)]).toEqual([-1, 0, 1, 2, 1, 4, 0]);
  expect(pathTo(parents(tree), 3)).toEqual([0, 1, 2, 3]);
  expect(total(tree)).toBe(12);
});

test('a search counts a match below a match once', () => {
  const hits = matcher(names, 'READ');
  expect(hits && searchTotal(tree, hits)).toEqual({ nodes: 3, value: 8 });
  expect(matcher(names, '  ')).toBeNull();
});

test('paths have hashes that do not depend on the numbers of names', () => {
  const other = treeFrom(`
    ROOT 0
      app!idle 1
      app!main 1
        app!read 3
  `);
  const here = pathHashes(tree, names);
  const there = pathHashes(other.tree, other.names);
  expect(here[2]).toBe(there[3]);
  expect(new Set(here).size).toBe(here.length);
  expect(findPath(here, hashWord(here[5] ?? 0))).toBe(5);
  expect(findPath(here, 'nonsense')).toBe(-1);
  expect(findPath(here, null)).toBe(-1);
});

test('the hottest path ends where no child holds half', () => {
  expect(hottestPath(tree, 0)).toEqual([0, 1, 2, 3]);
  expect(hottestPath(tree, 6)).toEqual([6]);
});

test('closed nodes hide what is below', () => {
  expect(visible(tree, (node) => node === 0)).toEqual([0, 1, 6]);
  expect(visible(tree, (node) => node <= 1)).toEqual([0, 1, 2, 4, 6]);
});
