// The waterfall, the sentence and the rows of a comparison.

import { expect, test } from 'vitest';
import type { Change, DiffTree } from '../../model/compare';
import { describeNode, longest, nodeRows, pictured, signed, verdict, waterfall } from './layout';

const change = (name: string, before: number, after: number): Change => ({ name, before, after, change: after - before, only: null });

test('a waterfall leads from one total to the other', () => {
  const falls = waterfall(1000, 1200, [change('lock', 0, 400), change('cpu', 900, 700), change('net', 2, 1), change('poll', 98, 99)], 'others');
  expect(falls.map((fall) => `${fall.label} ${fall.kind} ${fall.x0.toFixed(2)}-${fall.x1.toFixed(2)} ${fall.value}`)).toEqual([
    'before total 0.00-0.71 1000',
    'lock more 0.71-1.00 400',
    'cpu less 0.86-1.00 -200',
    'others: 2 more 0.86-0.86 0',
    'after total 0.00-0.86 1200',
  ]);
});

test('what no change stands for is a bar, too', () => {
  const falls = waterfall(100, 150, [change('poll-sleep-loop', 10, 40)], 'not explained');
  expect(falls.map((fall) => [fall.label, fall.value])).toEqual([['before', 100], ['poll-sleep-loop', 30], ['not explained', 20], ['after', 150]]);
  expect(waterfall(0, 0, [], 'others')).toHaveLength(2);
});

test('the sentence says how much, or that nothing differs', () => {
  expect(verdict(1e9, 1.5e9, 1.5, false, 'ns')).toBe('The run after takes 1.50 times as long: 1.00 s before, 1.50 s after (+500 ms).');
  expect(verdict(1e9, 5e8, 0.5, false, 'ns')).toBe('The run before takes 2.00 times as long: 1.00 s before, 500 ms after (-500 ms).');
  expect(verdict(1e9, 1.01e9, 1.01, true, 'ns')).toMatch(/^The runs do not differ/);
  expect(verdict(1e9, 1.01e9, 1.01, false, 'ns')).toMatch(/^The total is about the same, its causes are not/);
  expect(verdict(10, 30, 3, false, 'count')).toBe('The run after has 3.00 times as much: 10 before, 30 after (+20).');
  expect(verdict(0, 5, null, false, 'ns')).toMatch(/nothing to compare with/);
  expect([signed(5, 'count'), signed(-5, 'count'), signed(0, 'count')]).toEqual(['+5', '-5', '0']);
});

const tree: DiffTree = {
  name: Uint32Array.from([0, 1, 2]),
  depth: Uint16Array.from([0, 1, 1]),
  width: Float64Array.from([150, 100, 50]),
  before: Float64Array.from([100, 100, 0]),
  after: Float64Array.from([50, 0, 50]),
  step: Uint8Array.from([2, 0, 8]),
  end: Uint32Array.from([3, 2, 3]),
  names: ['ROOT', 'gone', 'new'],
};

test('what vanished keeps its width, and says so', () => {
  expect([...pictured(tree).value]).toEqual([150, 100, 50]);
  expect(describeNode(tree, 1, 'gone', 'count')).toBe('gone: before 100, after 0, -100: gone');
  expect(nodeRows(tree).map((row) => [row.name, row.only])).toEqual([['gone', 'before'], ['new', 'after']]);
});

test('the longest stretches of a run come first, of equal ones the earlier', () => {
  expect(longest({ x0: Float32Array.of(0, 1, 4, 5), x1: Float32Array.of(1, 4, 5, 9) })).toEqual([3, 1, 0, 2]);
  const many = Float32Array.from({ length: 100 }, (_, at) => at);
  expect(longest({ x0: many, x1: many.map((x) => x + 1) }).length).toBe(40);
});
