// Causes by their number, and their groups.

import { expect, test } from 'vitest';
import { causeTable, groupOf } from './report';

test('causes are found by their number', () => {
  expect(causeTable([{ id: 2, word: 'runnable', state: 'ready', colour: '#000' }])[2]?.word).toBe('runnable');
  expect(['on-CPU', 'ready', 'blocked'].map(groupOf)).toEqual(['running', 'ready', 'blocked']);
});
