// Rows of tree views, on drawings.

import { expect, test } from 'vitest';
import { hashOf, hashWord, pathHashes } from '../../model/calltree';
import { tsv } from '../../model/export';
import { treeFrom } from '../../testing/trees';
import { lonely } from '../butterfly/layout';
import { opener, openHottest, rows, sheet } from './layout';

const { tree, names } = treeFrom(`
  ROOT 0
    main 2
      read 4
        wait 4
      parse 2
    idle 2
`);
const hashes = pathHashes(tree, names);
const shownNames = (open: readonly string[], depth = 0) => rows(tree, opener(tree, hashes, new Set(open.map(hashOf)), depth)).map((node) => names[tree.name[node] ?? 0]);

test('open nodes show what they call', () => {
  expect(shownNames([])).toEqual(['ROOT', 'main', 'idle']);
  expect(shownNames([], 1)).toEqual(['ROOT', 'main', 'read', 'parse', 'idle']);
  expect(shownNames([hashWord(hashes[1] ?? 0)])).toEqual(['ROOT', 'main', 'read', 'parse', 'idle']);
});

test('the hottest path opens down to its end, and what was open stays', () => {
  const { open, node } = openHottest(tree, hashes, ['x1'], 0);
  expect(open[0]).toBe('x1');
  expect([names[tree.name[node] ?? 0], shownNames(open)]).toEqual(['wait', ['ROOT', 'main', 'read', 'wait', 'parse', 'idle']]);
});

test('copied rows keep their depth', () => {
  const basis = { names, unit: 'count', total: 14, causes: [] };
  expect(tsv(sheet(tree, [0, 1], basis))).toBe('Total\tTotal %\tOwn\tMostly\tFunction\n14\t100 %\t0\t\tROOT\n12\t86 %\t2\t\t  main');
});

test('a side with the function alone says so', () => {
  expect([lonely(tree), lonely(treeFrom('ROOT 0\n  main 1').tree)]).toEqual([false, true]);
});
