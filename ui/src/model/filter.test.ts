// Filters, their chips, and what an empty view offers.

import { expect, test } from 'vitest';
import { chips, fromWire, liftable, NO_FILTER, type Preset, presetOf, sameFilter, wire, type WireFilter, withName, withPreset } from './filter';
import { describePattern, entries, exactly, withEntry, withoutEntry } from './patterns';

const HOSTILE = ['app!f(int*)', 'a;b', 'say "hi"', 'x->y', '^$.|?*+()[]{}', '\\d', 'a\nb', '[kernel]!read', 'ü-~#&'];

test('a name as a pattern is read back as that name', () => {
  for (const name of HOSTILE) {
    const pattern = exactly(name);
    expect(describePattern(pattern)).toBe(name);
    expect(entries(pattern)).toEqual([pattern]);
  }
});

test('a name as a pattern matches that name alone', () => {
  for (const name of HOSTILE) {
    const regex = new RegExp(exactly(name).slice(1).replace(/\\([#&~-])/g, '$1'));
    expect(HOSTILE.filter((other) => regex.test(other))).toEqual([name]);
  }
});

test('lists keep quoted separators', () => {
  expect(entries(' a; "b;c" ;; d ')).toEqual(['a', '"b;c"', 'd']);
  expect(withEntry('a', 'a')).toBe('a');
  expect(withEntry('a', 'b')).toBe('a; b');
  expect(withoutEntry('a; b', 'a')).toBe('b');
});

test('the engine gets only what is set, in snake case', () => {
  expect(wire(NO_FILTER)).toBe('{}');
  expect(JSON.parse(wire({ ...NO_FILTER, from: 1.6, foldPct: 2, include: 'x' }))).toEqual({ from: 2, fold_pct: 2, include: 'x' });
});

test('each chip lifts its own part', () => {
  const filter = withName(withName({ ...NO_FILTER, from: 1e9, to: 2e9, thread: 'main' }, 'include', 'a;b'), 'include', 'c');
  const all = chips(filter);
  expect(all.map((chip) => chip.label)).toEqual(['time 1.00 s – 2.00 s', 'thread main', 'include a;b', 'include c']);
  const lifted = all[2]?.lifted;
  expect(lifted && chips(lifted).map((chip) => chip.label)).toEqual(['time 1.00 s – 2.00 s', 'thread main', 'include c']);
});

test('an empty view offers what the message names, else everything', () => {
  const filter = { ...NO_FILTER, from: 5, thread: 'main', include: 'x' };
  expect(liftable(filter, '`--inc x` matches no frame').map((chip) => chip.key)).toEqual(['include x']);
  expect(liftable(filter, '`--to 3 s` leaves nothing').map((chip) => chip.key)).toEqual(['time']);
  expect(liftable(filter, 'no reason').length).toBe(3);
});

test('filters are the same when the engine cannot tell them apart', () => {
  expect(sameFilter({ ...NO_FILTER, from: 1.2 }, { ...NO_FILTER, from: 1 })).toBe(true);
  expect(sameFilter(NO_FILTER, { ...NO_FILTER, metric: 'wall' })).toBe(false);
});

test('a filter of the command line is that of the page', () => {
  const wired = { metric: 'run', from: 5, to: null, thread: 'worker', group: '{%}!->$1', fold_pct: 2, erase_ids: false } as const;
  const filter = fromWire(wired);
  expect(filter).toEqual({ ...NO_FILTER, from: 5, thread: 'worker', group: '{%}!->$1', foldPct: 2 });
  expect(fromWire(JSON.parse(wire(filter)) as WireFilter)).toEqual(filter);
  expect(fromWire({ metric: 'cpu' }).metric).toBe('cpu');
});

test('a preset is groups and folds with a name', () => {
  const presets: Preset[] = [{ name: 'modules', meaning: 'each module', group: '{%}!->$1', fold: '', fold_pct: null }];
  const chosen = withPreset({ ...NO_FILTER, thread: 'a' }, presets[0]);
  expect([chosen.group, chosen.thread, presetOf(chosen, presets)?.name]).toEqual(['{%}!->$1', 'a', 'modules']);
  expect([presetOf(NO_FILTER, presets), withPreset(chosen, undefined).group]).toEqual([undefined, '']);
});
