// The waterfall from one total to the other, the steps of a difference as colours, and rows to copy.
//
//   before     |##########            |  1.00 s
//   lock       |          ####        | +400 ms
//   cpu.user   |        <<            | -200 ms
//   after      |############          |  1.20 s

import { at, type Tree } from '../../model/calltree';
import type { Change, DiffTree } from '../../model/compare';
import type { Sheet } from '../../model/export';
import type { Cause } from '../../model/report';
import { plural } from '../../model/text';
import { measured } from '../../model/units';

export interface Fall {
  readonly label: string;
  readonly kind: 'total' | 'more' | 'less';
  /** Ends of the bar, 0 to 1. */
  readonly x0: number;
  readonly x1: number;
  /** The total, or the change. */
  readonly value: number;
  readonly before: number;
  readonly after: number;
}

/** Changes below this part of the larger total are put together: a picture cannot show them. */
const SMALLEST = 0.005;

/** One bar for each change between the bars of the two totals; small ones are one bar. */
export function waterfall(before: number, after: number, changes: readonly Change[], rest: string): Fall[] {
  const least = Math.max(before, after) * SMALLEST;
  const large = changes.filter((one) => Math.abs(one.change) >= least);
  const small = changes.length - large.length;
  const left = after - before - large.reduce((sum, one) => sum + one.change, 0);
  const steps = large.map(({ name, change, ...sides }) => ({ label: name, change, before: sides.before, after: sides.after }));
  const others = changes.filter((one) => Math.abs(one.change) < least);
  const sum = (side: 'before' | 'after') => others.reduce((all, one) => all + one[side], 0);
  if (Math.abs(left) >= 1 || small > 0) {
    steps.push({ label: small > 0 ? `${rest}: ${small}` : rest, change: left, before: sum('before'), after: sum('after') });
  }
  const ends = [before, after];
  let here = before;
  for (const step of steps) ends.push((here += step.change));
  const scale = Math.max(...ends, 1e-9);
  const x = (value: number) => Math.min(Math.max(value / scale, 0), 1);
  const total = (label: string, value: number): Fall => ({ label, kind: 'total', x0: 0, x1: x(value), value, before, after });
  here = before;
  const falls = steps.map(({ label, change, ...sides }): Fall => {
    const from = here;
    here += change;
    return { label, kind: change < 0 ? 'less' : 'more', x0: x(Math.min(from, here)), x1: x(Math.max(from, here)), value: change, ...sides };
  });
  return [total('before', before), ...falls, total('after', after)];
}

/** `+1.20 s`, `-830 us`, `0`. */
export function signed(value: number, unit: string): string {
  return value > 0 ? `+${measured(value, unit)}` : measured(value, unit);
}

/** The answer in one sentence. */
export function verdict(before: number, after: number, ratio: number | null, same: boolean, unit: string): string {
  const sides = `${measured(before, unit)} before, ${measured(after, unit)} after`;
  if (same) return `The runs do not differ: ${sides}, and no cause changed by more than 5 % of the run.`;
  if (ratio === null || ratio === 0) return `There is nothing to compare with: ${sides}.`;
  const change = signed(after - before, unit);
  if (Math.abs(ratio - 1) <= 0.05) return `The total is about the same, its causes are not: ${sides} (${change}).`;
  const [longer, times] = ratio > 1 ? ['after', ratio] : ['before', 1 / ratio];
  const has = unit === 'ns' ? `takes ${times.toFixed(2)} times as long` : `has ${times.toFixed(2)} times as much`;
  return `The run ${longer} ${has}: ${sides} (${change}).`;
}

/** What each step of a difference is called and how it is coloured; cool is less, warm is more. */
const STEPS = [
  ['gone', '#7d9fe8'],
  ['much less', '#8fb0ea'],
  ['less', '#adc6f0'],
  ['a little less', '#cddcf6'],
  ['about the same', '#d5dae2'],
  ['a little more', '#f6d3c5'],
  ['more', '#f0b19a'],
  ['much more', '#e98f70'],
  ['new', '#e0793f'],
] as const;

/** The steps in the form of causes, so that flame graphs, legends and tables can show them. */
export const STEP_TABLE: readonly Cause[] = STEPS.map(([word, colour], id) => ({ id, word, state: '', colour }));

/** Signs that say in black and white what vanished and what is new. */
export const STEP_SIGNS: Record<number, string> = { 0: '− ', 8: '+ ' };

/** The tree of a picture: as wide as both sides need, coloured by how much a node changed. */
export function pictured(tree: DiffTree): Tree {
  return { name: tree.name, depth: tree.depth, value: tree.width, own: tree.width, cause: tree.step, end: tree.end };
}

/** `app!read: before 1.20 s, after 1.00 s, -200 ms: a little less`. */
export function describeNode(tree: DiffTree, node: number, name: string, unit: string): string {
  const [before, after] = [at(tree.before, node), at(tree.after, node)];
  const step = STEPS[at(tree.step, node)]?.[0] ?? '';
  return `${name}: before ${measured(before, unit)}, after ${measured(after, unit)}, ${signed(after - before, unit)}: ${step}`;
}

export const HEAD = ['Before', 'After', 'Change', 'Only', 'Name'] as const;

export function cells(change: Change, unit: string): string[] {
  return [measured(change.before, unit), measured(change.after, unit), signed(change.change, unit), change.only ?? '', change.name];
}

export function sheet(changes: readonly Change[], unit: string): Sheet {
  return { head: HEAD, rows: changes.map((change) => cells(change, unit)) };
}

/** The deepest nodes of the tree as rows: the twin of the picture, the largest change first. */
export function nodeRows(tree: DiffTree): Change[] {
  const rows = Array.from(tree.name.keys()).filter((node) => node > 0 && at(tree.before, node) !== at(tree.after, node));
  const change = (node: number) => at(tree.after, node) - at(tree.before, node);
  rows.sort((a, b) => Math.abs(change(b)) - Math.abs(change(a)) || a - b);
  return rows.map((node) => ({
    name: tree.names[at(tree.name, node)] ?? '',
    before: at(tree.before, node),
    after: at(tree.after, node),
    change: change(node),
    only: at(tree.step, node) === 0 ? 'before' : at(tree.step, node) === 8 ? 'after' : null,
  }));
}

/** The longest stretches of a run that are listed. */
const LONGEST = 40;

/** The bars of a run by falling length, at most so many as a person reads. */
export function longest(run: { readonly x0: Float32Array; readonly x1: Float32Array }): number[] {
  const length = (bar: number) => at(run.x1, bar) - at(run.x0, bar);
  return [...run.x0.keys()].sort((a, b) => length(b) - length(a) || a - b).slice(0, LONGEST);
}

/** `3 functions are not listed.`; empty where all are. */
export const leftOut = (count: number): string => (count > 0 ? `${plural(count, 'more function')} with smaller changes are not listed.` : '');
