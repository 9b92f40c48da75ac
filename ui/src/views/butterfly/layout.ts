// The butterfly's function and its two trees: which name is asked for, and what the sides say.

import { at, type Tree } from '../../model/calltree';
import type { Functions } from '../../worker/protocol';

/** The function to show: the chosen one, else the one with most own value. */
export function focusOf(chosen: string | null, functions: Functions, names: readonly string[]): string | null {
  return chosen ?? names[functions.name[functions.kind.indexOf(0)] ?? -1] ?? null;
}

/** A function's own and total value; none when the filter left nothing of it. */
export function valuesOf(focus: string, functions: Functions, names: readonly string[]): { own: number; total: number } | null {
  const row = functions.name.findIndex((name) => names[name] === focus);
  return row < 0 ? null : { own: at(functions.own, row), total: at(functions.total, row) };
}

/** True for a side with nothing but the root and the function itself. */
export const lonely = (tree: Tree): boolean => tree.name.length <= 2;
