// What a finding rests on: when, in which stacks, in which stretches of which threads, on which counted
// facts; each leads to the view that shows more. Below, what is known to be wrong with the recording.

import { useMemo, useState } from 'preact/hooks';
import type { Grounds, SameStack } from '../../model/evidence';
import { NO_FILTER, sameFilter, withName, type Filter } from '../../model/filter';
import { causeTable, findFinding, findingWord, type Cause, type Finding, type Report } from '../../model/report';
import type { State } from '../../model/state';
import { plural, shown } from '../../model/text';
import { measured, percent, time } from '../../model/units';
import { CopyButtons } from '../../shell/copyButtons';
import { Failed, Waiting } from '../../shell/empty';
import { Grid } from '../../shell/grid';
import { openNameMenu } from '../../shell/nameMenu';
import { useAnswer, usePage } from '../../shell/page';
import { Prose } from '../../shell/prose';
import { Swatch } from '../../shell/swatch';
import { Trust } from '../overview/trust';
import { around, cutTo, span, stackCells, stackSheet, STACK_HEAD, stretchCells, stretchSheet, STRETCH_HEAD } from './layout';
import { When } from './when';

type Causes = readonly (Cause | undefined)[];

export function EvidenceView({ state }: { state: State }) {
  const { engine, recording } = usePage();
  // The rules look at what the run was waiting for, whatever metric shows: as the overview asks.
  const filter = { ...state.filter, metric: null };
  const reply = useAnswer(engine, 'report', { filter });
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return <Waiting />;
  const report = reply.value;
  const at = state.finding === null ? 0 : findFinding(report.findings, state.finding);
  const finding = report.findings[at];
  return (
    <section class="view evidence" aria-busy={reply.pending}>
      {report.findings.length > 0 && <Choice report={report} at={at} />}
      {!sameFilter(filter, NO_FILTER) && <p class="notice">The filter narrows these findings and their evidence.</p>}
      {at < 0 && (
        <p class="empty" role="status">
          There is no finding <code>{shown(state.finding ?? '', 60)}</code> here, or the filter leaves it out. {report.findings.length > 0 && 'Choose one above.'}
        </p>
      )}
      {report.findings.length === 0 && (
        <p class="empty" role="status">
          No rule has a finding for this recording, so there is no evidence of one. The tree and the flame graph show all of the time.
        </p>
      )}
      {finding && <Of key={`${findingWord(report.findings, at)}`} finding={finding} at={at} report={report} filter={filter} state={state} />}
      <h2>What to doubt in the recording as a whole</h2>
      <Trust facts={report} explained={report.explained_share} open={at < 0} />
      <p class="soft">{recording.facts.of}</p>
    </section>
  );
}

function Choice({ report, at }: { report: Report; at: number }) {
  const { store } = usePage();
  const { findings } = report;
  const go = (to: number) => store.set({ finding: findingWord(findings, to) });
  return (
    <div class="toolbar">
      <label class="grow">
        finding{' '}
        <select value={at} onChange={(event) => go(Number(event.currentTarget.value))}>
          {at < 0 && <option value={-1}>none of these</option>}
          {findings.map((one, row) => (
            <option key={row} value={row}>
              {row + 1}. {shown(one.title.replace(/`/g, ''), 90)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={at <= 0} onClick={() => go(at - 1)}>
        Previous
      </button>
      <button type="button" disabled={at < 0 || at + 1 >= findings.length} onClick={() => go(at + 1)}>
        Next
      </button>
    </div>
  );
}

interface OfProps {
  readonly finding: Finding;
  readonly at: number;
  readonly report: Report;
  readonly filter: Filter;
  readonly state: State;
}

function Of({ finding, at, report, filter, state }: OfProps) {
  const { engine, recording, store } = usePage();
  const reply = useAnswer(engine, 'evidence', { filter, finding: at });
  const causes = useMemo(() => causeTable(recording.facts.causes), [recording]);
  return (
    <>
      <h2 class="verdict">
        <Prose text={finding.title} />
      </h2>
      <p class="numbers">
        <strong>{time(finding.cost_ns)}</strong> of {time(report.whole_ns)} ({percent(finding.share)}) · rule <code>{finding.id}</code> · {percent(finding.confidence)} sure{' '}
        <button type="button" onClick={() => store.set({ view: 'overview' })}>
          Why, and what to change
        </button>
      </p>
      {reply.error !== null && <p role="alert">{reply.error}</p>}
      {reply.value === null && reply.error === null && <Waiting />}
      {reply.value !== null && <Time grounds={reply.value} state={state} />}
      <Facts finding={finding} />
      {reply.value !== null && reply.value.count > 0 && (
        <>
          <Stacks grounds={reply.value} finding={finding} causes={causes} />
          <Stretches grounds={reply.value} finding={finding} causes={causes} state={state} />
        </>
      )}
    </>
  );
}

function Facts({ finding }: { finding: Finding }) {
  if (finding.evidence.length === 0) return null;
  return (
    <section class="part" aria-label="Counted facts">
      <h3>Counted facts</h3>
      <table class="facts fact-list">
        <tbody>
          {finding.evidence.map((fact, at) => (
            <tr key={at}>
              <td class="right">{measured(fact.value, fact.unit)}</td>
              <th scope="row">
                <Prose text={fact.what} />
              </th>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** When it was. */
function Time({ grounds, state }: { grounds: Grounds; state: State }) {
  const { recording, store } = usePage();
  const wall = recording.facts.recording.wall_ns;
  const whole = span(grounds.when_ns, wall);
  if (whole === null) {
    return <p class="empty">This finding says something about the recording, not about a part of its time: its facts are all of its evidence.</p>;
  }
  const show = (window: readonly [number, number]) => store.set({ view: 'timeline', window, wait: null });
  return (
    <section class="part" aria-label="When it happened">
      <div class="toolbar">
        <h3>When: {plural(grounds.count, 'stretch', 'stretches')} of time</h3>
        <span class="spring" />
        <button type="button" onClick={() => show(whole)}>
          Show this time in the timeline
        </button>
        <button type="button" onClick={() => store.set({ filter: { ...state.filter, from: whole[0], to: whole[1] } })}>
          Use as time range
        </button>
      </div>
      <When when={grounds.when_ns} wall={wall} onPick={show} />
    </section>
  );
}

function Stacks({ grounds, finding, causes }: { grounds: Grounds; finding: Finding; causes: Causes }) {
  const page = usePage();
  const [selected, select] = useState(0);
  const row = Math.min(selected, grounds.stacks.length - 1);
  const chosen = grounds.stacks[row];
  return (
    <section class="part" aria-label="Stacks">
      <div class="toolbar">
        <h3>Stacks: {cutTo(grounds.stacks.length, grounds.stack_count)}</h3>
        <span class="spring" />
        <CopyButtons sheet={() => stackSheet(grounds, finding.cost_ns, causes)} />
      </div>
      <div class="beside">
        <Grid
          label="Stacks of the finding"
          kind="evidence-stacks"
          columns={STACK_HEAD.map((title, at) => ({ title, right: at < 3 }))}
          count={grounds.stacks.length}
          cell={(at, column) => {
            const one = grounds.stacks[at];
            if (one === undefined) return '';
            if (column === 3) return <Swatch cause={causes[one.cause]} />;
            return shown(stackCells(one, finding.cost_ns, causes)[column] ?? '', 160);
          }}
          selected={row}
          onSelect={select}
          onOpen={(at) => toFlame(page, grounds.stacks[at])}
          onMenu={(at, x, y) => openNameMenu(page, grounds.stacks[at]?.function ?? '', x, y)}
        />
        {chosen && <Frames stack={chosen} />}
      </div>
    </section>
  );
}

/** The flame graph of one thread with one function. */
function toFlame({ store }: ReturnType<typeof usePage>, stack: SameStack | undefined): void {
  if (stack === undefined) return;
  const { filter } = store.get();
  store.set({ view: 'flame', zoom: null, filter: withName(withName(filter, 'thread', stack.thread), 'include', stack.function) });
}

/** Frames that show at first. */
const FIRST = 14;

function Frames({ stack }: { stack: SameStack }) {
  const page = usePage();
  const frame = (name: string, at: number) => (
    <li key={at}>
      <button type="button" class="plain mono" title={shown(name, 2000)} onClick={(event) => openNameMenu(page, name, event.clientX, event.clientY)}>
        {shown(name, 120)}
      </button>
    </li>
  );
  return (
    <section class="card frames" aria-label="The selected stack">
      <h3>The selected stack, innermost first</h3>
      {stack.frames.length === 0 && <p class="soft">No stack was recorded there.</p>}
      <ol class="stack">{stack.frames.slice(0, FIRST).map(frame)}</ol>
      {stack.frames.length > FIRST && (
        <details>
          <summary>{plural(stack.frames.length - FIRST, 'more frame')}</summary>
          <ol class="stack" start={FIRST + 1}>
            {stack.frames.slice(FIRST).map(frame)}
          </ol>
        </details>
      )}
      <p class="buttons">
        <button type="button" onClick={() => toFlame(page, stack)}>
          Show in the flame graph
        </button>
        <button type="button" onClick={() => page.store.set({ view: 'butterfly', focus: stack.function })}>
          Callers and callees
        </button>
      </p>
    </section>
  );
}

function Stretches({ grounds, finding, causes, state }: { grounds: Grounds; finding: Finding; causes: Causes; state: State }) {
  const page = usePage();
  const wall = page.recording.facts.recording.wall_ns;
  const [selected, select] = useState(0);
  const open = (at: number) => {
    const one = grounds.stretches[at];
    if (one === undefined) return;
    const middle = Math.floor((one.from_ns + one.to_ns) / 2);
    page.store.set({ view: 'timeline', window: around(one.from_ns, one.to_ns, wall), wait: [one.tid, middle], idle: state.idle });
  };
  return (
    <section class="part" aria-label="Stretches of time">
      <div class="toolbar">
        <h3>Stretches of time: {cutTo(grounds.stretches.length, grounds.count)}</h3>
        <span class="soft">A click on a time shows it in the timeline.</span>
        <span class="spring" />
        <CopyButtons sheet={() => stretchSheet(grounds, finding.cost_ns, causes)} />
      </div>
      <Grid
        label="Stretches of the finding"
        kind="stretches"
        columns={STRETCH_HEAD.map((title, at) => ({ title, right: at < 3 }))}
        count={grounds.stretches.length}
        cell={(at, column) => {
          const one = grounds.stretches[at];
          if (one === undefined) return '';
          const text = shown(stretchCells(one, finding.cost_ns, causes)[column] ?? '', 160);
          if (column === 3) return <Swatch cause={causes[one.cause]} />;
          if (column !== 2) return <span title={text}>{text}</span>;
          return (
            <button type="button" class="plain link" tabIndex={-1} aria-label={`Show ${text} in the timeline`} onClick={() => open(at)}>
              {text}
            </button>
          );
        }}
        selected={Math.min(selected, grounds.stretches.length - 1)}
        onSelect={select}
        onOpen={open}
        onMenu={(at, x, y) => openNameMenu(page, grounds.stretches[at]?.function ?? '', x, y, [{ label: 'Show this time in the timeline', act: () => open(at) }])}
      />
    </section>
  );
}
