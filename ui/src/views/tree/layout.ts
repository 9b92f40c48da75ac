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

/** The nodes that show. The topmost nodes are always open: a closed root alone says nothing. */
export function rows(tree: Tree, hashes: Float64Array, open: ReadonlySet<number>): number[] {
  return visible(tree, (node) => at(tree.depth, node) === 0 || open.has(hashes[node] ?? NaN));
}

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
