// Activities: one scale for all names, strips, and rows to copy.

import { expect, test } from 'vitest';
import type { NameRow, Slow } from '../../model/evidence';
import { mainCause, nameCells, nameSheet, placeOn, scaleOf, slowCells, stripOf, told } from './layout';

const passed = { latency_ns: 5e6, cpu_ns: 1e6, runnable_ns: 0, blocked_ns: null, nobody_ns: 4e6, causes: { 'cpu.user': 1, 'blocked.net': 3 } };
const row = (more: Partial<NameRow> = {}): NameRow => ({
  ...passed,
  name: 'load',
  count: 10,
  open: 1,
  per_s: 2.5,
  p50_ns: 1e6,
  p90_ns: 1e7,
  p99_ns: 5e7,
  max_ns: 1e8,
  histogram: [{ from_ns: 5e5, to_ns: 1e6, count: 10 }],
  ...more,
});
const open = row({ name: 'never', count: 0, p50_ns: null, p90_ns: null, p99_ns: null, max_ns: null, histogram: [] });

test('one scale of powers of ten holds the latencies of all names', () => {
  const scale = scaleOf([row(), open]);
  expect(scale).toEqual({ from: 1e5, to: 1e8 });
  expect([1e5, 1e8, 1, 1e12].map((ns) => placeOn(scale, ns))).toEqual([0, 1, 0, 1]);
  expect(placeOn(scale, 10 ** 6.5)).toBeCloseTo(0.5);
  expect(scaleOf([])).toEqual({ from: 1, to: 10 });
  expect(scaleOf([row({ p50_ns: 0, max_ns: 0, histogram: [{ from_ns: 0, to_ns: 1, count: 10 }] })])).toEqual({ from: 1, to: 10 });
});

test('a strip rises from the median to the slowest; what never ended has none', () => {
  const strip = stripOf(row(), scaleOf([row()]));
  expect(strip && strip.p50 < strip.p90 && strip.p90 < strip.p99 && strip.p99 < strip.max).toBe(true);
  expect(stripOf(open, scaleOf([open]))).toBeNull();
  expect(told(open)).toBe('none of 1 ended within the recording');
});

test('what is unknown is a dash, not a zero', () => {
  expect(nameCells(row()).slice(8)).toEqual(['1.00 ms', '0 ns', '-', '4.00 ms', 'blocked.net']);
  expect(nameCells(open).slice(4, 8)).toEqual(['-', '-', '-', '-']);
  expect(mainCause({ ...passed, causes: {} })).toBeNull();
  expect(nameSheet([row()]).head.length).toBe(nameCells(row()).length);
});

test('a slow one names the activities around it and its key', () => {
  const slow: Slow = { ...passed, name: 'load', key: 'k7', path: ['request', 'load'], thread: 'main (1)', tid: 1, from_ns: 2e9, to_ns: 3e9 };
  expect(slowCells(slow).slice(-2)).toEqual(['main (1)', 'request > load (k7)']);
});
