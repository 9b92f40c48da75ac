// What the palette finds, and in which order.

import { expect, test } from 'vitest';
import { find, indexed, type Entry } from './palette';

const entry = (kind: string, label: string, detail = ''): Entry => ({ kind, label, detail, act: () => {} });

const all = indexed([
  entry('view', 'Flame', 'merged stacks'),
  entry('function', 'app!parse_frame'),
  entry('function', 'app!Reframe'),
  entry('thread', 'frame-worker (12)', 'of app (10)'),
  entry('function', 'libc.so.6!read'),
]);
const labels = (query: string, most = 10) => find(all, query, most).entries.map((one) => one.label);

test('the start of a name comes before the start of a word, before the middle of one', () => {
  expect(labels('frame')).toEqual(['frame-worker (12)', 'app!parse_frame', 'app!Reframe']);
});

test('every word must fit, in whatever order, also in kind and detail', () => {
  expect(labels('12 thread')).toEqual(['frame-worker (12)']);
  expect(labels('read function')).toEqual(['libc.so.6!read']);
  expect(labels('parse nothing')).toEqual([]);
  expect(labels('app')).toEqual(['app!parse_frame', 'app!Reframe', 'frame-worker (12)']);
});

test('without words all are listed in their order, cut with the total told', () => {
  expect(find(all, '  ', 2)).toMatchObject({ total: 5 });
  expect(labels('', 2)).toEqual(['Flame', 'app!parse_frame']);
});

test('an exact name is first', () => {
  const some = indexed([entry('function', 'reader'), entry('function', 'read')]);
  expect(find(some, 'READ', 5).entries[0]?.label).toBe('read');
});

test('names with signs of patterns are text', () => {
  const some = indexed([entry('function', 'a.*b(c)[d]')]);
  expect(find(some, '.*b(', 5).total).toBe(1);
  expect(find(some, '.+', 5).total).toBe(0);
});
