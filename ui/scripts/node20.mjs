// What Vitest uses of newer Nodes: without it, Node 20 cannot print which tests failed.

Map.groupBy ??= (items, key) => {
  const groups = new Map();
  let at = 0;
  for (const item of items) {
    const group = key(item, at++);
    groups.set(group, [...(groups.get(group) ?? []), item]);
  }
  return groups;
};
