// Requests, operations and phases: how long they took by name, the latencies of one name, and the
// slowest of all. A choice narrows every view to one name or to the time of one activity.

import { useMemo, useState } from 'preact/hooks';
import type { Activities, NameRow, Slow } from '../../model/evidence';
import { withName } from '../../model/filter';
import type { Cause } from '../../model/report';
import type { State } from '../../model/state';
import { plural, shown } from '../../model/text';
import { time } from '../../model/units';
import { CopyButtons } from '../../shell/copyButtons';
import { Empty, Failed, Waiting } from '../../shell/empty';
import { Grid, type Column } from '../../shell/grid';
import { useAnswer, usePage, type Page } from '../../shell/page';
import { Swatch } from '../../shell/swatch';
import { around } from '../evidence/layout';
import { mainCause, nameCells, nameSheet, NAME_HEAD, scaleOf, slowCells, slowSheet, SLOW_HEAD, stripOf, told, type Scale } from './layout';

export function ActivitiesView({ state }: { state: State }) {
  const { engine } = usePage();
  const reply = useAnswer(engine, 'activities', { filter: state.filter });
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return <Waiting />;
  if (reply.value.empty !== null) return <Empty state={state} reason={reply.value.empty} />;
  return (
    <section class="view activities" aria-busy={reply.pending}>
      <Names activities={reply.value} />
      <Slowest rows={reply.value.slowest} />
    </section>
  );
}

/** The causes by their words. */
function useCauses(): ReadonlyMap<string, Cause> {
  const { recording } = usePage();
  return useMemo(() => new Map(recording.facts.causes.map((cause) => [cause.word, cause])), [recording]);
}

/** Columns that hold words; the others hold numbers. */
const WORDS: readonly string[] = ['Name', 'Main cause', 'Thread', 'Activity', 'Latencies'];

const columns = (head: readonly string[]): Column[] => head.map((title) => ({ title, right: !WORDS.includes(title) }));

/** Where the strip stands: behind the longest latency. */
const STRIP_AT = NAME_HEAD.indexOf('Max') + 1;

const HEAD_WITH_STRIP = [...NAME_HEAD.slice(0, STRIP_AT), 'Latencies', ...NAME_HEAD.slice(STRIP_AT)];

function Names({ activities }: { activities: Activities }) {
  const page = usePage();
  const causes = useCauses();
  const { rows } = activities;
  const [selected, select] = useState(0);
  const scale = useMemo(() => scaleOf(rows), [rows]);
  const at = Math.min(selected, rows.length - 1);
  const chosen = rows[at];
  const cell = (row: number, column: number) => {
    const one = rows[row];
    if (one === undefined) return '';
    if (column === STRIP_AT) return <Strip row={one} scale={scale} />;
    const text = nameCells(one)[column > STRIP_AT ? column - 1 : column] ?? '';
    if (HEAD_WITH_STRIP[column] === 'Main cause') return <Swatch cause={causes.get(text)} />;
    return <span title={shown(text, 2000)}>{shown(text, 160)}</span>;
  };
  const only = (row: number) => narrow(page, rows[row]);
  return (
    <>
      <div class="toolbar">
        <h2>{plural(rows.length, 'name')}</h2>
        <button type="button" onClick={() => only(at)} disabled={chosen === undefined} title="Enter">
          Narrow every view to the selected name
        </button>
        <span class="spring" />
        <CopyButtons sheet={() => nameSheet(rows)} />
      </div>
      <Grid label="Activities by name" kind="activity-names" columns={columns(HEAD_WITH_STRIP)} count={rows.length} cell={cell} selected={at} onSelect={select} onOpen={only} />
      <p class="soft">
        Latencies: {time(scale.from)} to {time(scale.to)}, logarithmic; full up to p50, lighter up to p90, line up to the slowest, tick at p99. On CPU, ready, blocked: of all threads that worked on them. Nobody: no thread
        worked on them.
      </p>
      {chosen && <Histogram row={chosen} />}
    </>
  );
}

function narrow({ store }: Page, row: { name: string } | undefined): void {
  if (row !== undefined) store.set({ filter: withName({ ...store.get().filter, activity: '' }, 'activity', row.name) });
}

function Strip({ row, scale }: { row: NameRow; scale: Scale }) {
  const strip = stripOf(row, scale);
  if (strip === null) return '-';
  const part = (from: number, to: number) => ({ left: `${from * 100}%`, width: `${Math.max(to - from, 0.004) * 100}%` });
  return (
    <span class="latency" role="img" aria-label={told(row)} title={told(row)}>
      <i class="to-max" style={part(strip.p90, strip.max)} />
      <i class="to-p90" style={part(strip.p50, strip.p90)} />
      <i class="to-p50" style={part(0, strip.p50)} />
      <i class="p99" style={{ left: `${strip.p99 * 100}%` }} />
    </span>
  );
}

function Histogram({ row }: { row: NameRow }) {
  const most = Math.max(...row.histogram.map((bucket) => bucket.count), 1);
  return (
    <details class="card">
      <summary>
        Latencies of {shown(row.name, 120)}: {told(row)}
      </summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Histogram of latencies">
        <table class="facts falls">
          <thead>
            <tr>
              <th scope="col" class="right">From</th>
              <th scope="col" class="right">To</th>
              <th scope="col" class="right">Count</th>
              <th scope="col">Of the most</th>
            </tr>
          </thead>
          <tbody>
            {row.histogram.map((bucket) => (
              <tr key={bucket.from_ns}>
                <td class="right">{time(bucket.from_ns)}</td>
                <td class="right">{time(bucket.to_ns)}</td>
                <td class="right">{bucket.count}</td>
                <td class="fall-cell">
                  <i class="fall total" aria-hidden="true" style={{ left: 0, width: `${(bucket.count / most) * 100}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Slowest({ rows }: { rows: readonly Slow[] }) {
  const page = usePage();
  const causes = useCauses();
  const [selected, select] = useState(0);
  if (rows.length === 0) return <p class="soft">None of these ended within the recording.</p>;
  const wall = page.recording.facts.recording.wall_ns;
  const open = (at: number) => {
    const one = rows[at];
    if (one !== undefined) page.store.set({ view: 'timeline', window: around(one.from_ns, one.to_ns, wall), wait: [one.tid, Math.min(one.from_ns + 1, wall)] });
  };
  const keep = (at: number) => {
    const one = rows[at];
    if (one === undefined) return;
    const filter = withName({ ...page.store.get().filter, activity: '' }, 'activity', one.name);
    page.store.set({ filter: { ...filter, from: one.from_ns, to: one.to_ns } });
  };
  const at = Math.min(selected, rows.length - 1);
  return (
    <>
      <div class="toolbar">
        <h2>The slowest {rows.length}</h2>
        <button type="button" onClick={() => open(at)} title="Enter">
          Show the selected one in the timeline
        </button>
        <button type="button" onClick={() => keep(at)}>
          Narrow every view to its time
        </button>
        <span class="spring" />
        <CopyButtons sheet={() => slowSheet(rows)} />
      </div>
      <Grid
        label="The slowest activities"
        kind="slowest"
        columns={columns(SLOW_HEAD)}
        count={rows.length}
        cell={(row, column) => {
          const one = rows[row];
          if (one === undefined) return '';
          const text = slowCells(one)[column] ?? '';
          if (SLOW_HEAD[column] === 'Main cause') return <Swatch cause={causes.get(mainCause(one) ?? '')} />;
          return <span title={shown(text, 2000)}>{shown(text, 160)}</span>;
        }}
        selected={at}
        onSelect={select}
        onOpen={open}
        onMenu={(row, x, y) =>
          page.menu({
            x,
            y,
            title: shown(rows[row]?.name ?? '', 120),
            items: [
              { label: 'Show it in the timeline', act: () => open(row) },
              { label: 'Narrow every view to its time', act: () => keep(row) },
              { label: 'Narrow every view to its name', act: () => narrow(page, rows[row]) },
            ],
          })
        }
      />
    </>
  );
}
