// The call tree from its root.

import { useMemo } from 'preact/hooks';
import { matcher, searchTotal } from '../../model/calltree';
import { causeTable } from '../../model/report';
import type { State } from '../../model/state';
import { measured, percent } from '../../model/units';
import { Empty, Failed, Waiting } from '../../shell/empty';
import { useAnswer, usePage } from '../../shell/page';
import { Search } from '../../shell/search';
import { TreeTable } from './table';

export function TreeView({ state }: { state: State }) {
  const { engine, store, recording } = usePage();
  const reply = useAnswer(engine, 'tree', { filter: state.filter });
  const causes = useMemo(() => causeTable(recording.facts.causes), [recording]);
  const names = reply.value?.names;
  const hits = useMemo(() => (names ? matcher(names, state.search) : null), [names, state.search]);
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return <Waiting />;
  const { filtered, columns: tree } = reply.value;
  if (filtered.empty !== null) return <Empty state={state} reason={filtered.empty} />;
  const found = hits && searchTotal(tree, hits);
  const words = found ? `${found.nodes} nodes, ${measured(found.value, filtered.unit)} (${percent(found.value / filtered.total)})` : '';
  return (
    <section class="view" aria-busy={reply.pending}>
      <div class="toolbar">
        <Search state={state} found={words} />
      </div>
      <p class="soft heading">{filtered.heading}</p>
      <TreeTable
        label="Call tree"
        tree={tree}
        basis={{ names: reply.value.names, unit: filtered.unit, total: filtered.total, causes }}
        open={state.open}
        onOpen={(open) => store.set({ open }, 'slide')}
        hits={hits}
      />
    </section>
  );
}
