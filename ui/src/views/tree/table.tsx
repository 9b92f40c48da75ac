// A tree as a table of open nodes: the tree view, both sides of the butterfly, and the flame graph's
// twin for keyboards and screen readers.

import { useMemo, useState } from 'preact/hooks';
import { at, hasChildren, hashOf, hashWord, parents, pathHashes, type Tree } from '../../model/calltree';
import { shown } from '../../model/text';
import { measured } from '../../model/units';
import { CopyButtons } from '../../shell/copyButtons';
import { Grid } from '../../shell/grid';
import { openNameMenu } from '../../shell/nameMenu';
import { usePage } from '../../shell/page';
import { Swatch } from '../../shell/swatch';
import { openHottest, opener, rows, share, sheet, type Basis } from './layout';

export interface TreeTableProps {
  readonly label: string;
  readonly tree: Tree;
  readonly basis: Basis;
  /** The open nodes' words. */
  readonly open: readonly string[];
  onOpen(open: readonly string[]): void;
  /** Which names are marked; none for none. */
  readonly hits: Uint8Array | null;
  /** Nodes down to this depth are always open. */
  readonly openTo?: number;
}

const COLUMNS = [
  { title: 'Total', right: true },
  { title: 'Total %', right: true },
  { title: 'Own', right: true },
  { title: 'Mostly' },
  { title: 'Function' },
];

export function TreeTable({ label, tree, basis, open, onOpen, hits, openTo = 0 }: TreeTableProps) {
  const page = usePage();
  const hashes = useMemo(() => pathHashes(tree, basis.names), [tree, basis.names]);
  const up = useMemo(() => parents(tree), [tree]);
  const opened = useMemo(() => new Set(open.map(hashOf)), [open]);
  const isOpen = opener(tree, hashes, opened, openTo);
  const list = useMemo(() => rows(tree, isOpen), [tree, hashes, opened, openTo]);
  const [node, choose] = useState(0);
  const selected = Math.max(list.indexOf(node), 0);
  const word = (one: number) => hashWord(hashes[one] ?? NaN);
  const toggle = (one: number, wanted: boolean) => {
    if (wanted && hasChildren(tree, one)) onOpen([...new Set([...open, word(one)])]);
    if (!wanted) onOpen(open.filter((other) => other !== word(one)));
  };
  const hottest = (one: number) => {
    const next = openHottest(tree, hashes, open, one);
    onOpen(next.open);
    choose(next.node);
  };
  const onKey = (event: KeyboardEvent, row: number) => {
    const here = list[row];
    if (here === undefined) return false;
    if (event.key === ' ') hottest(here);
    else if (event.key === 'ArrowRight') isOpen(here) ? choose(list[row + 1] ?? here) : toggle(here, true);
    else if (event.key === 'ArrowLeft') {
      const closes = isOpen(here) && hasChildren(tree, here) && at(tree.depth, here) > openTo;
      closes ? toggle(here, false) : choose(Math.max(up[here] ?? 0, 0));
    } else return false;
    return true;
  };
  const nameOf = (row: number) => basis.names[tree.name[list[row] ?? 0] ?? 0] ?? '';
  const cell = (row: number, column: number) => {
    const here = list[row] ?? 0;
    if (column === 0) return measured(at(tree.value, here), basis.unit);
    if (column === 1) return share(at(tree.value, here), basis);
    if (column === 2) return measured(at(tree.own, here), basis.unit);
    if (column === 3) return <Swatch cause={basis.causes[at(tree.cause, here)]} />;
    return (
      <span class="tree-name" style={{ paddingLeft: `${Math.min(at(tree.depth, here), 60) * 14}px` }}>
        <Twisty open={hasChildren(tree, here) ? isOpen(here) : null} onClick={() => toggle(here, !isOpen(here))} />
        <span class={hits !== null && at(hits, at(tree.name, here)) === 1 ? 'hit' : ''} title={shown(nameOf(row), 2000)}>
          {shown(nameOf(row))}
        </span>
      </span>
    );
  };
  return (
    <>
      <div class="toolbar">
        <button type="button" onClick={() => hottest(list[selected] ?? 0)} title="Space">
          Open hottest path
        </button>
        <button type="button" onClick={() => onOpen([])}>
          Close all
        </button>
        <CopyButtons sheet={() => sheet(tree, list, basis)} />
      </div>
      <Grid
        label={label}
        kind="tree"
        columns={COLUMNS}
        count={list.length}
        cell={cell}
        selected={selected}
        onSelect={(row) => choose(list[row] ?? 0)}
        onOpen={(row) => page.store.set({ view: 'butterfly', focus: nameOf(row) })}
        onMenu={(row, x, y) => openNameMenu(page, nameOf(row), x, y)}
        onKey={onKey}
        level={(row) => {
          const here = list[row] ?? 0;
          return { level: at(tree.depth, here) + 1, expanded: hasChildren(tree, here) ? isOpen(here) : null };
        }}
      />
    </>
  );
}

function Twisty({ open, onClick }: { open: boolean | null; onClick(): void }) {
  if (open === null) return <i class="twisty" />;
  return (
    <i
      class="twisty"
      aria-hidden="true"
      onClick={(event) => {
        event.stopPropagation();
        onClick();
      }}
    >
      {open ? '▾' : '▸'}
    </i>
  );
}
