// The order of the functions' rows, and the rows as text.

import type { Cause } from '../../model/report';
import type { Sheet } from '../../model/export';
import type { Sort } from '../../model/state';
import { at } from '../../model/calltree';
import { measured, percent } from '../../model/units';
import type { Functions } from '../../worker/protocol';

/** The rows of functions; those of threads and causes as well if `all`. */
export function listed(functions: Functions, all: boolean): number[] {
  return Array.from(functions.name.keys()).filter((row) => all || at(functions.kind, row) === 0);
}

/** The rows that a search leaves, sorted. Equal rows keep the engine's order. */
export function order(functions: Functions, listedRows: readonly number[], names: readonly string[], sort: Sort, hits: Uint8Array | null): Uint32Array {
  const rows = listedRows.filter((row) => hits === null || at(hits, at(functions.name, row)) === 1);
  if (sort === 'name') {
    const word = (row: number) => names[at(functions.name, row)] ?? '';
    rows.sort((a, b) => (word(a) < word(b) ? -1 : word(a) > word(b) ? 1 : a - b));
  } else {
    const column = functions[sort];
    rows.sort((a, b) => at(column, b) - at(column, a) || a - b);
  }
  return Uint32Array.from(rows);
}

export interface Basis {
  readonly names: readonly string[];
  readonly unit: string;
  readonly total: number;
  readonly causes: readonly (Cause | undefined)[];
}

export const HEAD = ['Own', 'Own %', 'Total', 'Total %', 'Count', 'Mostly', 'Place', 'Function'] as const;

/** One row's cells, in the order of the head. */
export function cells(functions: Functions, row: number, basis: Basis): string[] {
  const share = (value: number) => percent(basis.total > 0 ? value / basis.total : 0);
  const own = at(functions.own, row);
  const total = at(functions.total, row);
  return [
    measured(own, basis.unit),
    share(own),
    measured(total, basis.unit),
    share(total),
    String(at(functions.count, row)),
    basis.causes[at(functions.cause, row)]?.word ?? '',
    functions.place[row] ?? '',
    basis.names[at(functions.name, row)] ?? '',
  ];
}

/** The most rows that are copied: more would not fit where people paste. */
export const MOST_COPIED = 1000;

export function sheet(functions: Functions, rows: Uint32Array, basis: Basis): Sheet {
  return { head: HEAD, rows: Array.from(rows.subarray(0, MOST_COPIED), (row) => cells(functions, row, basis)) };
}
