// The rows of a tree view, and those rows as text.

import { at, hashWord, hottestPath, visible, type Tree } from '../../model/calltree';
import type { Sheet } from '../../model/export';
import type { Cause } from '../../model/report';
import { measured, percent } from '../../model/units';

/** What a tree's numbers mean. */
export interface Basis {
  readonly names: readonly string[];
  readonly unit: string;
  /** What shares are of. */
  readonly total: number;
  readonly causes: readonly (Cause | undefined)[];
}

/** True for open nodes. Those down to a depth are always open: a closed root alone says nothing. */
export function opener(tree: Tree, hashes: Float64Array, open: ReadonlySet<number>, depth: number): (node: number) => boolean {
  return (node) => at(tree.depth, node) <= depth || open.has(hashes[node] ?? NaN);
}

/** The nodes that show. */
export const rows = (tree: Tree, isOpen: (node: number) => boolean): number[] => visible(tree, isOpen);

/** The open nodes with a node's hottest path added, and the node at its end. */
export function openHottest(tree: Tree, hashes: Float64Array, open: readonly string[], node: number) {
  const path = hottestPath(tree, node);
  const words = path.map((one) => hashWord(hashes[one] ?? NaN));
  return { open: [...new Set([...open, ...words])], node: path[path.length - 1] ?? node };
}

/** The node's share of the whole. */
export function share(value: number, basis: Basis): string {
  return percent(basis.total > 0 ? value / basis.total : 0);
}

/** The rows to paste; depth is shown by two spaces a level. */
export function sheet(tree: Tree, shownRows: readonly number[], basis: Basis): Sheet {
  return {
    head: ['Total', 'Total %', 'Own', 'Mostly', 'Function'],
    rows: shownRows.slice(0, 1000).map((node) => [
      measured(at(tree.value, node), basis.unit),
      share(at(tree.value, node), basis),
      measured(at(tree.own, node), basis.unit),
      basis.causes[at(tree.cause, node)]?.word ?? '',
      '  '.repeat(at(tree.depth, node)) + (basis.names[at(tree.name, node)] ?? ''),
    ]),
  };
}
