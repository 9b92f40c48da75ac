// The order of functions.

import { expect, test } from 'vitest';
import { cells, listed, order } from './layout';

const names = ['b', 'a', 'c'];
const functions = {
  own: Float64Array.from([5, 3, 3]),
  total: Float64Array.from([5, 9, 3]),
  count: Float64Array.from([1, 1, 2]),
  name: Uint32Array.from([0, 1, 2]),
  kind: Uint8Array.from([0, 2, 0]),
  cause: Uint8Array.from([0, 255, 0]),
  place: ['app.py:8', '', ''],
};

test('sorts by what was chosen; equal rows keep their order', () => {
  expect([...order(functions, [0, 1, 2], names, 'own', null)]).toEqual([0, 1, 2]);
  expect([...order(functions, [0, 1, 2], names, 'total', null)]).toEqual([1, 0, 2]);
  expect([...order(functions, [0, 1, 2], names, 'name', null)]).toEqual([1, 0, 2]);
  expect([...order(functions, [0, 1, 2], names, 'count', Uint8Array.from([1, 0, 1]))]).toEqual([2, 0]);
});

test('threads and causes are listed on demand', () => {
  expect([listed(functions, false), listed(functions, true)]).toEqual([[0, 2], [0, 1, 2]]);
});

test('cells are values, shares and words', () => {
  const basis = { names, unit: 'count', total: 10, causes: [{ id: 0, word: 'cpu.user', state: 'running', colour: '#000' }] };
  expect(cells(functions, 0, basis)).toEqual(['5', '50 %', '5', '50 %', '1', 'cpu.user', 'app.py:8', 'b']);
  expect(cells(functions, 1, basis)[5]).toBe('');
});
