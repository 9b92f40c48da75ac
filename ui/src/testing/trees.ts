// Call trees written as text, for tests: one line a node, two spaces a level, name and own value.
//
//   ROOT 0
//     app!main 1
//       app!read 3

import type { Tree } from '../model/calltree';

/** The tree of a drawing, and its names. */
export function treeFrom(drawing: string): { tree: Tree; names: string[] } {
  const lines = drawing.split('\n').filter((line) => line.trim() !== '');
  const indent = Math.min(...lines.map((line) => line.search(/\S/)));
  const names: string[] = [];
  const count = lines.length;
  const tree = {
    name: new Uint32Array(count),
    depth: new Uint16Array(count),
    value: new Float64Array(count),
    own: new Float64Array(count),
    cause: new Uint8Array(count).fill(255),
    end: new Uint32Array(count),
  };
  lines.forEach((line, node) => {
    const [name = '', own = '0'] = line.trim().split(/\s+(?=\S+$)/);
    if (!names.includes(name)) names.push(name);
    tree.name[node] = names.indexOf(name);
    tree.depth[node] = (line.search(/\S/) - indent) / 2;
    tree.own[node] = Number(own);
  });
  for (let node = count - 1; node >= 0; node -= 1) {
    let end = node + 1;
    while (end < count && (tree.depth[end] ?? 0) > (tree.depth[node] ?? 0)) end += 1;
    tree.end[node] = end;
    tree.value[node] = tree.own.subarray(node, end).reduce((sum, own) => sum + own, 0);
  }
  return { tree, names };
}
