// Two recordings against each other: how much, by cause and by finding, as one picture, by function.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { findPath, matcher, pathHashes } from '../../model/calltree';
import type { Change, Compared, DiffTree } from '../../model/compare';
import type { State } from '../../model/state';
import { shown } from '../../model/text';
import { time } from '../../model/units';
import { CopyButtons } from '../../shell/copyButtons';
import { Failed, Waiting } from '../../shell/empty';
import { Grid } from '../../shell/grid';
import { openNameMenu } from '../../shell/nameMenu';
import { useAnswer, usePage } from '../../shell/page';
import { Search } from '../../shell/search';
import { Swatch } from '../../shell/swatch';
import { Chart } from '../flame/chart';
import { cells, describeNode, HEAD, leftOut, nodeRows, pictured, sheet, STEP_SIGNS, STEP_TABLE, verdict } from './layout';
import { Findings, Waterfall } from './falls';
import { Choose, useOther } from './other';
import { BothRuns, RUN_PIXELS } from './runs';

export function CompareView({ state }: { state: State }) {
  const other = useOther(state);
  if (other.open === null) return <Choose state={state} other={other} />;
  return <Comparison state={state} other={other.open} />;
}

/** The recordings' names, the one before first. */
const sideNames = (state: State, opened: string, other: string): readonly [string, string] => (state.swap ? [other, opened] : [opened, other]);

function Comparison({ state, other }: { state: State; other: string }) {
  const { engine, recording } = usePage();
  const reply = useAnswer(engine, 'compare', { filter: state.filter, other, first: state.swap, pixels: RUN_PIXELS });
  const [anyway, show] = useState(false);
  useEffect(() => show(false), [other]);
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return <Waiting />;
  const { compared, runs, tree } = reply.value;
  const { before, after, unit } = compared;
  return (
    <section class="view compare" aria-busy={reply.pending}>
      <Sides state={state} compared={compared} other={other} />
      <h1 class="verdict">{verdict(before.total, after.total, compared.ratio, compared.same, unit)}</h1>
      <p class="soft heading">{compared.of}</p>
      {compared.same && !anyway ? (
        <p>
          <button type="button" onClick={() => show(true)}>
            Show the differences anyway
          </button>
        </p>
      ) : (
        <>
          <Waterfall title="By cause" before={before.total} after={after.total} changes={compared.causes} rest="other causes" unit={unit} />
          {runs !== null && <BothRuns runs={runs} state={state} names={sideNames(state, recording.name, other)} />}
          <Findings state={state} compared={compared} other={other} />
          <Picture state={state} tree={tree} unit={unit} />
          <Functions changes={compared.functions} left={compared.functions_left_out} unit={unit} />
        </>
      )}
    </section>
  );
}

/** Which recording is which, and what can be done about it. */
function Sides({ state, compared, other }: { state: State; compared: Compared; other: string }) {
  const { recording, store } = usePage();
  const names = sideNames(state, recording.name, other);
  return (
    <div class="toolbar">
      {(['before', 'after'] as const).map((side, at) => (
        <span key={side}>
          {side}: <strong>{shown(names[at] ?? '', 80)}</strong> <span class="soft">{compared[side].recording.place}, {time(compared[side].recording.wall_ns)}</span>
        </span>
      ))}
      <span class="spring" />
      <button type="button" onClick={() => store.set({ swap: !state.swap })}>
        Swap the sides
      </button>
      <button type="button" onClick={() => store.set({ compare: null })}>
        Compare with another
      </button>
    </div>
  );
}

function Picture({ state, tree, unit }: { state: State; tree: DiffTree; unit: string }) {
  const { store } = usePage();
  const both = useMemo(() => pictured(tree), [tree]);
  const hashes = useMemo(() => pathHashes(both, tree.names), [both]);
  const hits = useMemo(() => matcher(tree.names, state.search), [tree, state.search]);
  const used = useMemo(() => [...new Set(tree.step)].sort((a, b) => a - b), [tree]);
  const focus = findPath(hashes, state.zoom);
  const basis = { names: tree.names, unit, total: both.value[0] ?? 0, causes: STEP_TABLE };
  return (
    <section class="part" aria-label="Both runs as one flame graph">
      <h2>Both runs as one flame graph</h2>
      <div class="toolbar">
        <Search state={state} found="" />
        {focus > 0 && (
          <button type="button" onClick={() => store.set({ zoom: null })} title="Escape">
            Zoom out
          </button>
        )}
        <button type="button" aria-pressed={state.table} onClick={() => store.set({ table: !state.table })} title="T">
          Show as table
        </button>
      </div>
      {state.table ? (
        <ChangeTable label="Nodes of both flame graphs" changes={nodeRows(tree)} unit={unit} />
      ) : (
        <Chart
          tree={both}
          basis={basis}
          focus={focus}
          hashes={hashes}
          hits={hits}
          describe={(node) => describeNode(tree, node, shown(tree.names[tree.name[node] ?? 0] ?? '', 160), unit)}
          sign={(node) => STEP_SIGNS[tree.step[node] ?? 4] ?? ''}
        />
      )}
      <p class="legend soft" aria-label="Colours: how a box changed">
        A box is as wide as the larger side.{' '}
        {used.map((step) => (
          <Swatch key={step} cause={STEP_TABLE[step]} />
        ))}
        {used.includes(0) && <span>−: gone</span>}
        {used.includes(8) && <span>+: new</span>}
      </p>
    </section>
  );
}

function Functions({ changes, left, unit }: { changes: readonly Change[]; left: number; unit: string }) {
  return (
    <section class="part" aria-label="By function">
      <h2>By function</h2>
      <p class="soft">Functions of the program&apos;s own code, with what runs below them.</p>
      <div class="toolbar">
        <CopyButtons sheet={() => sheet(changes, unit)} />
      </div>
      <ChangeTable label="Functions on both sides" changes={changes} unit={unit} />
      {left > 0 && <p class="soft">{leftOut(left)}</p>}
    </section>
  );
}

function ChangeTable({ label, changes, unit }: { label: string; changes: readonly Change[]; unit: string }) {
  const page = usePage();
  const [selected, select] = useState(0);
  if (changes.length === 0) return <p class="empty">Nothing differs here.</p>;
  const name = (row: number) => changes[row]?.name ?? '';
  return (
    <Grid
      label={label}
      kind="changes"
      columns={HEAD.map((title, at) => ({ title, right: at < 3 }))}
      count={changes.length}
      cell={(row, column) => {
        const one = changes[row];
        const text = one ? (cells(one, unit)[column] ?? '') : '';
        return column < 4 ? text : <span title={shown(text, 2000)}>{shown(text)}</span>;
      }}
      selected={Math.min(selected, changes.length - 1)}
      onSelect={select}
      onMenu={(row, x, y) => openNameMenu(page, name(row), x, y)}
    />
  );
}
