// The call tree as columns in preorder, and walks over it that never recurse:
//
//   at      0     1     2     3      4
//   depth   0     1     2     3      2
//   name    ROOT  main  read  wait   parse
//   end     5     5     4     4      5        behind the subtree

import { NO_CAUSE, type CauseId } from './units';

/** Nodes in preorder, children by falling value. */
export interface Tree {
  readonly name: Uint32Array;
  readonly depth: Uint16Array;
  /** Value of the node and all below, in the metric's unit. */
  readonly value: Float64Array;
  /** Value of the node itself. */
  readonly own: Float64Array;
  /** The main cause; 255 for none. */
  readonly cause: Uint8Array;
  /** The index behind the node's subtree. */
  readonly end: Uint32Array;
}

/** Reads a column at a place that is known to be inside. */
export function at(column: ArrayLike<number>, index: number): number {
  return column[index] ?? 0;
}

/** A node's parent, -1 for those on top. */
export function parents(tree: Tree): Int32Array {
  const found = new Int32Array(tree.name.length).fill(-1);
  const open: number[] = [];
  for (let node = 0; node < found.length; node += 1) {
    const depth = at(tree.depth, node);
    open[depth] = node;
    if (depth > 0) found[node] = open[depth - 1] ?? -1;
  }
  return found;
}

/** The children of a node in the tree's order; those on top for -1. */
export function children(tree: Tree, node: number): number[] {
  const found: number[] = [];
  const stop = node < 0 ? tree.name.length : at(tree.end, node);
  for (let child = node + 1; child < stop; child = at(tree.end, child)) found.push(child);
  return found;
}

/** The nodes from the top to this one. */
export function pathTo(up: Int32Array, node: number): number[] {
  const path: number[] = [];
  for (let here = node; here >= 0; here = up[here] ?? -1) path.push(here);
  return path.reverse();
}

/** The sum of the nodes on top. */
export function total(tree: Tree): number {
  return children(tree, -1).reduce((sum, node) => sum + at(tree.value, node), 0);
}

/** A hash of each name, which does not depend on the name's number. */
function nameHashes(names: readonly string[]): Uint32Array {
  return Uint32Array.from(names, (name) => {
    let hash = 0x811c9dc5;
    for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
    return hash >>> 0;
  });
}

/** A hash of each node's path of names: an address that holds for another page of the same run. */
export function pathHashes(tree: Tree, names: readonly string[]): Float64Array {
  const ofName = nameHashes(names);
  const found = new Float64Array(tree.name.length);
  const low: number[] = [];
  const high: number[] = [];
  for (let node = 0; node < found.length; node += 1) {
    const depth = at(tree.depth, node);
    const name = at(ofName, at(tree.name, node));
    const l = (Math.imul((depth > 0 ? low[depth - 1] ?? 0 : 7) ^ name, 0x85ebca6b) + 0x9e37) >>> 0;
    const h = (Math.imul(((depth > 0 ? high[depth - 1] ?? 0 : 3) + name) | 0, 0xc2b2ae35) ^ (l >>> 13)) >>> 0;
    low[depth] = l;
    high[depth] = h;
    found[node] = (h & 0xfffff) * 0x100000000 + l;
  }
  return found;
}

/** A path's hash as a word of the address. */
export const hashWord = (hash: number): string => hash.toString(36);

/** The hash of a word; NaN, which no node has, for what is no such word. */
export const hashOf = (word: string): number => parseInt(word, 36);

/** The node of a word; -1 when the tree has none. */
export function findPath(hashes: Float64Array, word: string | null): number {
  return word === null ? -1 : hashes.indexOf(hashOf(word));
}

/** A function that says which names hold a text, ignoring case; none for an empty text. */
export function matcher(names: readonly string[], search: string): Uint8Array | null {
  const text = search.trim().toLowerCase();
  if (text === '') return null;
  return Uint8Array.from(names, (name) => (name.toLowerCase().includes(text) ? 1 : 0));
}

/** What a search found: nodes, and their value without counting a node below another one twice. */
export interface Found {
  readonly nodes: number;
  readonly value: number;
}

export function searchTotal(tree: Tree, hits: Uint8Array): Found {
  let nodes = 0;
  let value = 0;
  let counted = 0;
  for (let node = 0; node < tree.name.length; node += 1) {
    if (at(hits, at(tree.name, node)) === 0) continue;
    nodes += 1;
    if (node < counted) continue;
    value += at(tree.value, node);
    counted = at(tree.end, node);
  }
  return { nodes, value };
}

/** The path of largest children below a node, down to where no child holds half of its parent. */
export function hottestPath(tree: Tree, node: number): number[] {
  const path = node < 0 ? [] : [node];
  let here = node;
  for (;;) {
    const whole = here < 0 ? total(tree) : at(tree.value, here);
    const next = children(tree, here)[0];
    if (next === undefined || at(tree.value, next) * 2 < whole) return path;
    path.push(next);
    here = next;
  }
}

/** The nodes of a tree view that show: those whose parents are all open. */
export function visible(tree: Tree, isOpen: (node: number) => boolean): number[] {
  const rows: number[] = [];
  let node = 0;
  while (node < tree.name.length) {
    rows.push(node);
    node = isOpen(node) ? node + 1 : at(tree.end, node);
  }
  return rows;
}

/** True when a node has callees. */
export const hasChildren = (tree: Tree, node: number): boolean => at(tree.end, node) > node + 1;

/** The node's main cause; null for none. */
export function causeOf(tree: Tree, node: number): CauseId | null {
  const cause = tree.cause[node] ?? NO_CAUSE;
  return cause === NO_CAUSE ? null : cause;
}
