// The strip, the windows and the rows of a finding's evidence.

import { expect, test } from 'vitest';
import { findFinding, findingWord, type Cause, type Finding } from '../../model/report';
import { around, cutTo, span, stackSheet, strip, stretchSheet } from './layout';

test('the strip has a bar for each part with time, the largest one full', () => {
  expect(strip([0, 5, 10, 0])).toEqual([
    { x0: 0.25, x1: 0.5, height: 0.5 },
    { x0: 0.5, x1: 0.75, height: 1 },
  ]);
  expect(strip([1, 1_000_000]).map((bar) => bar.height)).toEqual([0.04, 1]);
  expect(strip([0, 0])).toEqual([]);
});

test('the span goes from the first part with time to the last, and not past the end', () => {
  expect(span([0, 5, 0, 1], 398)).toEqual([100, 398]);
  expect(span([0, 5, 0, 0], 400)).toEqual([100, 200]);
  expect(span([0, 0], 400)).toBeNull();
});

test('a stretch takes a third of its window, which stays in the recording', () => {
  expect(around(100, 200, 1000)).toEqual([0, 300]);
  expect(around(10, 200, 250)).toEqual([0, 250]);
  expect(around(5, 5, 1000)).toEqual([4, 6]);
});

test('what is cut says so', () => {
  expect([cutTo(200, 3412), cutTo(3, 3)]).toEqual(['the 200 of 3412 with the most time', 'all 3']);
});

test('findings of one rule have words of their own', () => {
  const findings = ['small-io', 'hot-function', 'small-io'].map((id) => ({ id }) as Finding);
  expect(findings.map((_, at) => findingWord(findings, at))).toEqual(['small-io', 'hot-function', 'small-io.2']);
  expect([findFinding(findings, 'small-io.2'), findFinding(findings, 'small-io'), findFinding(findings, 'gone')]).toEqual([2, 0, -1]);
});

test('rows to copy name the thread, the cause and the whole stack', () => {
  const causes: Cause[] = [{ id: 0, word: 'cpu.user', state: 'on-CPU', colour: '' }];
  const of = { process: 'app (1)', thread: 'main (1)', tid: 1, cause: 0, function: 'app!work' };
  const grounds = {
    count: 1,
    stretches: [{ ...of, from_ns: 1e6, to_ns: 3e6, waiting: ['a (2)', 'b (3)'] }],
    stack_count: 1,
    stacks: [{ ...of, time_ns: 2e6, count: 4, frames: ['app!work', 'app!main'] }],
    when_ns: [],
  };
  expect(stretchSheet(grounds, 4e6, causes).rows).toEqual([['2.00 ms', '50 %', '1.00 ms', 'cpu.user', 'main (1)', 'app!work', 'a (2) < b (3)']]);
  expect(stackSheet(grounds, 4e6, causes).rows[0]).toEqual(['2.00 ms', '50 %', '4', 'cpu.user', 'main (1)', 'app!work', 'app!work < app!main']);
});
