// Functions by their own and total value.

import { useMemo, useState } from 'preact/hooks';
import { at, matcher } from '../../model/calltree';
import { causeTable } from '../../model/report';
import type { Sort, State } from '../../model/state';
import { plural, shown } from '../../model/text';
import { measured, percent } from '../../model/units';
import { CopyButtons } from '../../shell/copyButtons';
import { Empty, Failed, Waiting } from '../../shell/empty';
import { Grid, type Column } from '../../shell/grid';
import { openNameMenu } from '../../shell/nameMenu';
import { useAnswer, usePage } from '../../shell/page';
import { Search } from '../../shell/search';
import { Swatch } from '../../shell/swatch';
import type { Answer, Functions } from '../../worker/protocol';
import { listed, order, sheet } from './layout';

export function FunctionsView({ state }: { state: State }) {
  const { engine } = usePage();
  const reply = useAnswer(engine, 'functions', { filter: state.filter });
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return <Waiting />;
  const { filtered } = reply.value;
  if (filtered.empty !== null) return <Empty state={state} reason={filtered.empty} />;
  return <Table state={state} answer={reply.value} pending={reply.pending} />;
}

const COLUMNS: readonly { title: string; sort?: Sort; right?: boolean }[] = [
  { title: 'Own', sort: 'own', right: true },
  { title: 'Own %', right: true },
  { title: 'Total', sort: 'total', right: true },
  { title: 'Total %', right: true },
  { title: 'Count', sort: 'count', right: true },
  { title: 'Mostly' },
  { title: 'Function', sort: 'name' },
  { title: 'Place' },
];

function Table({ state, answer, pending }: { state: State; answer: Answer<Functions>; pending: boolean }) {
  const page = usePage();
  const { columns: functions, names, filtered } = answer;
  const [selected, select] = useState(0);
  const causes = useMemo(() => causeTable(page.recording.facts.causes), [page.recording]);
  const hits = useMemo(() => matcher(names, state.search), [names, state.search]);
  const list = useMemo(() => listed(functions, state.all), [functions, state.all]);
  const rows = useMemo(() => order(functions, list, names, state.sort, hits), [list, names, state.sort, hits]);
  const basis = { names, unit: filtered.unit, total: filtered.total, causes };
  const nameOf = (at: number) => names[functions.name[rows[at] ?? 0] ?? 0] ?? '';
  const share = (value: number) => percent(filtered.total > 0 ? value / filtered.total : 0);
  const cell = (index: number, column: number) => {
    const row = rows[index] ?? 0;
    const own = at(functions.own, row);
    const total = at(functions.total, row);
    const texts = [measured(own, filtered.unit), share(own), measured(total, filtered.unit), share(total), String(at(functions.count, row))];
    if (column < texts.length) return texts[column];
    if (column === 5) return <Swatch cause={causes[at(functions.cause, row)]} />;
    return <span title={shown(nameOf(index), 2000)}>{shown(column === 6 ? nameOf(index) : functions.place[row] ?? '')}</span>;
  };
  const heads: Column[] = COLUMNS.map(({ title, sort, right }) => ({
    title,
    right: right ?? false,
    ...(sort && { sort: () => page.store.set({ sort }), sorted: state.sort === sort ? (sort === 'name' ? 'ascending' : 'descending') : undefined }),
  }));
  return (
    <section class="view" aria-busy={pending}>
      <div class="toolbar">
        <Search state={state} found={hits === null ? plural(rows.length, 'row') : `${rows.length} of ${plural(list.length, 'row')}`} />
        <label>
          <input type="checkbox" checked={state.all} onChange={(event) => page.store.set({ all: event.currentTarget.checked })} /> threads and causes, too
        </label>
        <CopyButtons sheet={() => sheet(functions, rows, basis)} />
      </div>
      <p class="soft heading">{filtered.heading}</p>
      {rows.length === 0 ? (
        <Empty state={state} reason={`No function's name holds the text \`${shown(state.search, 80)}\`.`} />
      ) : (
        <Grid
          label="Functions"
          kind="functions"
          columns={heads}
          count={rows.length}
          cell={cell}
          selected={Math.min(selected, rows.length - 1)}
          onSelect={select}
          onOpen={(at) => page.store.set({ view: 'butterfly', focus: nameOf(at) })}
          onMenu={(at, x, y) => openNameMenu(page, nameOf(at), x, y)}
        />
      )}
    </section>
  );
}
