// The last interval of a thread before a time.

import { expect, test } from 'vitest';
import { lastBefore } from './intervals';

const SPANS = [
  { from: 10, to: 500 },
  { from: 500, to: 900 },
  { from: 900, to: 950 },
];
const at = (time: number) => SPANS.find(({ from, to }) => from <= time && time < to) ?? null;

test('a thread that ended before is found at its end', () => {
  expect([lastBefore(at, 949), lastBefore(at, 950), lastBefore(at, 5000), lastBefore(at, 600)]).toEqual([949, 949, 949, 600]);
});

test('a thread that did not live yet gives the time itself', () => {
  expect([lastBefore(at, 5), lastBefore(() => null, 0)]).toEqual([5, 0]);
});
