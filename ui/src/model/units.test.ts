// Quantities read as the command line writes them.

import { expect, test } from 'vitest';
import { bytes, measured, percent, range, time, timeAt } from './units';

test('times', () => {
  expect([830, 1_234, 12_345_678, 3_053_404_604, 101e9, -2.5e6].map((ns) => time(ns))).toEqual(['830 ns', '1.23 us', '12.3 ms', '3.05 s', '101 s', '-2.50 ms']);
});

test('shares and sizes', () => {
  expect([0, 0.0001, 0.042, 0.0995, 0.973].map((share) => percent(share))).toEqual(['0 %', '<0.1 %', '4.2 %', '10 %', '97 %']);
  expect([bytes(4096), bytes(12.5 * 1024 ** 2), bytes(3)]).toEqual(['4 KiB', '12.5 MiB', '3 bytes']);
  expect([measured(0.95, 'factor'), measured(3, 'threads'), measured(8, 'count'), measured(19.84, '1/s')]).toEqual(['x 0.95', '3 threads', '8', '19.8 /s']);
});

test('an axis has the digits that its steps need', () => {
  expect([timeAt(1_200_000_000, 1e8), timeAt(1_200_000_100, 100), timeAt(0, 1e9, 3e9)]).toEqual(['1.2 s', '1.2000001 s', '0 s']);
  expect([range(2.1e9, 3.4e9), range(6_778_981, 1_487_813_566), range(0, 500)]).toEqual(['2.10 s – 3.40 s', '0.01 s – 1.49 s', '0 ns – 500 ns']);
});
