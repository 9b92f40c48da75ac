// Which function the butterfly shows.

import { expect, test } from 'vitest';
import { focusOf, valuesOf } from './layout';

const names = ['blocked.lock', 'app!read', 'app!main'];
const functions = {
  own: Float64Array.from([9, 3, 0]),
  total: Float64Array.from([9, 5, 9]),
  count: new Float64Array(3),
  name: Uint32Array.from([0, 1, 2]),
  kind: Uint8Array.from([2, 0, 0]),
  cause: new Uint8Array(3),
  place: ['', '', ''],
};

test('the chosen function, else the function with most own value', () => {
  expect([focusOf('app!main', functions, names), focusOf(null, functions, names)]).toEqual(['app!main', 'app!read']);
});

test('a function that the filter left out has no values', () => {
  expect([valuesOf('app!read', functions, names), valuesOf('app!gone', functions, names)]).toEqual([{ own: 3, total: 5 }, null]);
});
