// The merged flame graph, root on top. A click zooms, the search marks, a menu narrows the filter.

import { useMemo } from 'preact/hooks';
import { findPath, matcher, pathHashes, searchTotal, type Tree } from '../../model/calltree';
import { causeTable, type Cause } from '../../model/report';
import type { State } from '../../model/state';
import { measured, NO_CAUSE, percent } from '../../model/units';
import { Empty, Failed, Waiting } from '../../shell/empty';
import { useAnswer, usePage } from '../../shell/page';
import { Search } from '../../shell/search';
import { Swatch } from '../../shell/swatch';
import { TreeTable } from '../tree/table';
import { Chart } from './chart';

export function FlameView({ state }: { state: State }) {
  const { engine, store, recording } = usePage();
  const reply = useAnswer(engine, 'tree', { filter: state.filter });
  const causes = useMemo(() => causeTable(recording.facts.causes), [recording]);
  const answer = reply.value;
  const hits = useMemo(() => answer && matcher(answer.names, state.search), [answer, state.search]);
  const hashes = useMemo(() => answer && pathHashes(answer.columns, answer.names), [answer]);
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (answer === null || hashes === null) return <Waiting />;
  const { filtered, columns: tree, names } = answer;
  if (filtered.empty !== null) return <Empty state={state} reason={filtered.empty} />;
  const focus = findPath(hashes, state.zoom);
  const found = hits && searchTotal(tree, hits);
  const words = found ? `${found.nodes} boxes match: ${measured(found.value, filtered.unit)} (${percent(found.value / filtered.total)})` : '';
  const basis = { names, unit: filtered.unit, total: filtered.total, causes };
  return (
    <section class="view" aria-busy={reply.pending}>
      <div class="toolbar">
        <Search state={state} found={words} />
        {focus > 0 && (
          <button type="button" onClick={() => store.set({ zoom: null })} title="Escape">
            Zoom out
          </button>
        )}
        <button type="button" aria-pressed={state.table} onClick={() => store.set({ table: !state.table })} title="T">
          Show as table
        </button>
      </div>
      <p class="soft heading">{filtered.heading}</p>
      {state.zoom !== null && focus < 0 && (
        <p class="notice" role="status">
          The filter left nothing of the box that was zoomed to. All is shown.
        </p>
      )}
      {state.table ? (
        <TreeTable label="Flame graph as table" tree={tree} basis={basis} open={state.open} onOpen={(open) => store.set({ open }, 'slide')} hits={hits} />
      ) : (
        <Chart tree={tree} basis={basis} focus={focus} hashes={hashes} hits={hits} />
      )}
      <Legend tree={tree} causes={causes} />
      {hits !== null && found?.nodes === 0 && <Empty state={state} reason={`No name holds the text \`${state.search.slice(0, 80)}\`.`} />}
    </section>
  );
}

/** The colours that show, each with its word. */
function Legend({ tree, causes }: { tree: Tree; causes: readonly (Cause | undefined)[] }) {
  const used = useMemo(() => [...new Set(tree.cause)].sort((a, b) => a - b), [tree]);
  return (
    <p class="legend soft" aria-label="Colours: the main cause of a box">
      main cause:{' '}
      {used.map((cause) => (
        <Swatch key={cause} cause={causes[cause]} />
      ))}
      {used.includes(NO_CAUSE) && <span>grey: no main cause</span>}
    </p>
  );
}
