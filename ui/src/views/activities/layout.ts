// Activities as rows: their latencies as a strip on one scale for all names, and their time in words.

import type { NameRow, Passed, Slow } from '../../model/evidence';
import type { Sheet } from '../../model/export';
import { number, time, type Ns } from '../../model/units';

/** The scale of latencies: its ends are powers of ten, because names differ by factors. */
export interface Scale {
  readonly from: Ns;
  readonly to: Ns;
}

/** A scale on which all latencies of all names have a place. */
export function scaleOf(rows: readonly NameRow[]): Scale {
  let [least, most] = [Infinity, 1];
  for (const row of rows) {
    if (row.max_ns === null) continue;
    least = Math.min(least, row.histogram[0]?.from_ns || 1, row.p50_ns ?? Infinity);
    most = Math.max(most, row.max_ns);
  }
  const from = 10 ** Math.floor(Math.log10(Math.max(Math.min(least, most), 1)));
  return { from, to: Math.max(10 ** Math.ceil(Math.log10(most)), from * 10) };
}

/** The place of a latency, 0 to 1. */
export function placeOn({ from, to }: Scale, ns: Ns): number {
  return Math.min(Math.max(Math.log(Math.max(ns, 1) / from) / Math.log(to / from), 0), 1);
}

/** A row's strip: half of its activities lie up to `p50`, nine of ten up to `p90`, and so on. */
export interface Strip {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** The strip of a row; none where nothing ended. */
export function stripOf(row: NameRow, scale: Scale): Strip | null {
  const { p50_ns, p90_ns, p99_ns, max_ns } = row;
  if (p50_ns === null || p90_ns === null || p99_ns === null || max_ns === null) return null;
  return { p50: placeOn(scale, p50_ns), p90: placeOn(scale, p90_ns), p99: placeOn(scale, p99_ns), max: placeOn(scale, max_ns) };
}

/** The cause that took most thread time; none where none is known. */
export function mainCause(passed: Passed): string | null {
  const parts = Object.entries(passed.causes).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  return parts[0]?.[0] ?? null;
}

const known = (ns: Ns | null): string => (ns === null ? '-' : time(ns));

const PASSED = ['On CPU', 'Ready', 'Blocked', 'Nobody'] as const;

const passedCells = (passed: Passed) => [known(passed.cpu_ns), known(passed.runnable_ns), known(passed.blocked_ns), known(passed.nobody_ns)];

/** Columns of the names; the strip stands in the one before the last. */
export const NAME_HEAD = ['Name', 'Ended', 'Open', 'Per s', 'p50', 'p90', 'p99', 'Max', ...PASSED, 'Main cause'] as const;

export function nameCells(row: NameRow): string[] {
  const latencies = [row.p50_ns, row.p90_ns, row.p99_ns, row.max_ns].map(known);
  return [row.name, String(row.count), String(row.open), number(row.per_s), ...latencies, ...passedCells(row), mainCause(row) ?? '-'];
}

export const SLOW_HEAD = ['Took', 'At', ...PASSED, 'Main cause', 'Thread', 'Activity'] as const;

export function slowCells(slow: Slow): string[] {
  const name = slow.path.join(' > ') + (slow.key === null ? '' : ` (${slow.key})`);
  return [time(slow.latency_ns), time(slow.from_ns), ...passedCells(slow), mainCause(slow) ?? '-', slow.thread, name];
}

export function nameSheet(rows: readonly NameRow[]): Sheet {
  return { head: NAME_HEAD, rows: rows.map(nameCells) };
}

export function slowSheet(rows: readonly Slow[]): Sheet {
  return { head: SLOW_HEAD, rows: rows.map(slowCells) };
}

/** The latency in words that a person can check: `9 of 10 took up to 12.0 ms, the slowest 80.1 ms`. */
export function told(row: NameRow): string {
  if (row.p90_ns === null || row.max_ns === null) return `none of ${row.open} ended within the recording`;
  return `half took up to ${known(row.p50_ns)}, 9 of 10 up to ${time(row.p90_ns)}, the slowest ${time(row.max_ns)}`;
}
