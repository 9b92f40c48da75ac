// Names that try to harm the page.

import { expect, test } from 'vitest';
import { markdown, tsv } from './export';
import { commands, functionOf, parts, shown } from './text';

test('marks that reorder or hide text are written out', () => {
  expect(shown('a\u202eb\u0000c\u200bd\u2066e')).toBe('a\\u{202e}b\\u{0}c\\u{200b}d\\u{2066}e');
});

test('ten thousand characters become a line', () => {
  const cut = shown('x'.repeat(10_000));
  expect(cut.length).toBeLessThanOrEqual(301);
  expect(cut).toContain('…');
});

test('sentences are parts of prose and code', () => {
  expect(parts('wait in `app!f` for `x`')).toEqual([
    { text: 'wait in ', code: false },
    { text: 'app!f', code: true },
    { text: ' for ', code: false },
    { text: 'x', code: true },
  ]);
});

test('a check gives the commands to paste', () => {
  expect(commands('culprit record -o f.culprit -- x.py; `culprit findings f.culprit` must show less')).toBe('culprit record -o f.culprit -- x.py\nculprit findings f.culprit');
  expect(commands('`make test` must pass')).toBe('make test');
});

test('functions without their module', () => {
  expect(['app!f', 'f', '!f', 'f!'].map(functionOf)).toEqual(['f', 'f', '!f', 'f!']);
});

test('tables to paste break neither rows nor Markdown', () => {
  const sheet = { head: ['a', 'b'], rows: [['x\ty\nz', '<b>|`']] };
  expect(tsv(sheet)).toBe('a\tb\nx y z\t<b>|`');
  expect(markdown(sheet)).toBe('| a | b |\n|---|---|\n| x y z | \\<b\\>\\|\\` |');
});
