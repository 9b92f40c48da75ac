// What a report's places are called in the views.

import { expect, test } from 'vitest';
import { causeTable, groupOf, nameOf } from './report';

const place = (name: string, stack: readonly string[]) => ({ process: '', thread: '', module: '[jit]', function: name, file: null, line: null, stack });

test('a function is found under its long name', () => {
  const stack = ['java!main', '[jit]!void Main.enter(int)', '[jit]!void Main.enter(long)', 'libc!wait'];
  expect(nameOf(place('Main.enter', stack))).toBe('[jit]!void Main.enter(long)');
  expect(nameOf(place('run', [...stack, '[jit]!run', '[jit]!running']))).toBe('[jit]!run');
  expect(nameOf(place('gone', stack))).toBe('[jit]!gone');
  const top = { ...place('(top level)', [...stack, '[jit]!JS:^ file:///srv/a.mjs:1:1']), file: '/srv/a.mjs' };
  expect(nameOf(top)).toBe('[jit]!JS:^ file:///srv/a.mjs:1:1');
});

test('causes are found by their number', () => {
  expect(causeTable([{ id: 2, word: 'runnable', state: 'ready', colour: '#000' }])[2]?.word).toBe('runnable');
  expect(['on-CPU', 'ready', 'blocked'].map(groupOf)).toEqual(['running', 'ready', 'blocked']);
});
