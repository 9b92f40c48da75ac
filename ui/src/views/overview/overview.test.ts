// The findings' parts of the run.

import { expect, test } from 'vitest';
import type { Finding } from '../../model/report';
import { segments } from './layout';

const finding = (share: number) => ({ share }) as Finding;

test('findings come first, what is not explained last', () => {
  expect(segments([finding(0.5), finding(0.25)], 0.75)).toEqual([
    { finding: 0, x0: 0, x1: 0.5 },
    { finding: 1, x0: 0.5, x1: 0.75 },
    { finding: -1, x0: 0.75, x1: 1 },
  ]);
});

test('overlapping findings are scaled to what they explain', () => {
  expect(segments([finding(0.8), finding(0.8)], 0.8).map((part) => part.x1)).toEqual([0.4, 0.8, 1]);
});

test('a run without findings is not explained', () => {
  expect(segments([], 0)).toEqual([{ finding: -1, x0: 0, x1: 1 }]);
});
