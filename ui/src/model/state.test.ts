// The address: what goes in comes out; what is damaged does no harm.

import { expect, test } from 'vitest';
import { NO_FILTER } from './filter';
import { decode, encode, START, type State } from './state';

const FULL: State = {
  recording: 'a run & more.culprit',
  view: 'timeline',
  filter: { ...NO_FILTER, metric: 'blocked.disk', from: 0, to: 2e9, include: '@^app!f\\x3b\\(int\\)$; "x;y"', exclude: 'b%', thread: 'worker', foldPct: 1.5 },
  search: 'σ +#',
  table: true,
  zoom: 'k3j9x2',
  sort: 'name',
  all: true,
  open: ['a1', 'b2'],
  window: [5, 1_500_000_000],
  wait: [3, 12],
  idle: true,
  focus: 'app!f(int&)',
  compare: 'after.culprit',
  swap: true,
    finding: 'small-io.2',
};

test('a state survives the address', () => {
  expect(decode(encode(FULL))).toEqual({ state: FULL, problem: null });
  expect(decode(encode(START))).toEqual({ state: START, problem: null });
});

test('what is not chosen is not written', () => {
  expect(encode(START)).toBe('#v=1');
  expect(encode({ ...START, view: 'flame', recording: 'x' })).toBe('#v=1&rec=x&view=flame');
});

test('an address of another version says so and keeps the recording', () => {
  const { state, problem } = decode('#v=2&rec=x.culprit&view=flame');
  expect(state).toEqual({ ...START, recording: 'x.culprit' });
  expect(problem).toContain('version 2');
});

test('damaged parts become defaults', () => {
  for (const hash of ['', '#', '#v=1&view=sql&from=-3&to=x&window=4&wait=a-b&sort=up', '#%E0%A4%A']) {
    expect(decode(hash)).toEqual({ state: START, problem: null });
  }
});
