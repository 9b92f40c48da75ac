// The answer in ten seconds: the verdict, the run as one bar, the findings, and what to doubt.

import { useEffect, useRef } from 'preact/hooks';
import { causeParts, segments } from './layout';
import { Card } from './card';
import { Trust } from './trust';
import { percent, time } from '../../model/units';
import { Prose } from '../../shell/prose';
import { useAnswer, usePage } from '../../shell/page';
import { Failed, Waiting } from '../../shell/empty';
import { chips, NO_FILTER, sameFilter } from '../../model/filter';
import type { State } from '../../model/state';
import { findingWord, type Facts, type Report, type Run } from '../../model/report';

export function OverviewView({ state }: { state: State }) {
  const { engine, recording, store } = usePage();
  const filter = { ...state.filter, metric: null };
  const whole = sameFilter(filter, NO_FILTER);
  const reply = useAnswer(engine, 'report', { filter });
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return whole ? <First facts={recording.facts} /> : <Waiting />;
  const report = reply.value;
  return (
    <section class="view overview" aria-busy={reply.pending}>
      {!whole && (
        <p class="notice" role="status">
          The filter narrows this overview: {chips(filter).map((chip) => chip.label).join(', ')}.{' '}
          <button type="button" onClick={() => store.set({ filter: { ...NO_FILTER, metric: state.filter.metric } })}>
            Show the whole run
          </button>
        </p>
      )}
      <h1 class="verdict">
        <Prose text={report.verdict} />
      </h1>
      <p class="soft">{report.of}</p>
      <FindingsBar report={report} />
      <Trust facts={report} explained={report.explained_share} />
      {report.findings.length === 0 ? (
        <p class="empty">No rule has a finding for this recording. The views show where the time went.</p>
      ) : (
        <ol class="cards">
          {report.findings.map((finding, at) => (
            <Card key={`${finding.id} ${at}`} finding={finding} at={at} whole={report.whole_ns} word={findingWord(report.findings, at)} />
          ))}
        </ol>
      )}
      <Unexplained report={report} />
      <Section />
    </section>
  );
}

/** What is known before the rules have answered. */
function First({ facts }: { facts: Facts }) {
  const course = facts.course === null ? '' : `: ${facts.course}`;
  return (
    <section class="view overview" aria-busy="true">
      <h1 class="verdict">
        <Prose text={`${time(facts.recording.wall_ns)}${course}`} />
      </h1>
      <p class="soft">{facts.of}</p>
      <p class="notice waiting" role="status">
        Looking for findings…
      </p>
      <Trust facts={facts} explained={null} />
      <ByCause run={facts.run} />
    </section>
  );
}

/** The run as one bar: the findings' parts, and the rest. */
function FindingsBar({ report }: { report: Report }) {
  if (report.whole_ns <= 0) return null;
  const parts = segments(report.findings, report.explained_share);
  return (
    <div class="bar findings-bar" role="group" aria-label="The run by finding">
      {parts.map(({ finding, x0, x1 }) => {
        const one = report.findings[finding];
        const share = percent(x1 - x0);
        const wide = x1 - x0 >= 0.06;
        if (one === undefined) {
          return (
            <a key="rest" class="bar-part rest" href="#unexplained" style={{ flexGrow: x1 - x0 }} title={`not explained: ${share}`} onClick={(event) => jump(event, 'unexplained')}>
              {wide ? `not explained ${share}` : ''}
              <span class="offscreen">{wide ? '' : `not explained ${share}`}</span>
            </a>
          );
        }
        return (
          <a key={finding} class={`bar-part part-${one.severity}`} href={`#finding-${finding}`} style={{ flexGrow: x1 - x0 }} title={`${finding + 1}. ${one.id}: ${share}`} onClick={(event) => jump(event, `finding-${finding}`)}>
            {wide ? `${finding + 1} ${one.id} ${share}` : <span class="offscreen">{`${finding + 1} ${one.id} ${share}`}</span>}
          </a>
        );
      })}
    </div>
  );
}

/** Scrolls to a part of the page; the address keeps the state, so it is not used for places. */
function jump(event: Event, id: string): void {
  event.preventDefault();
  const place = document.getElementById(id);
  place?.scrollIntoView({ block: 'start' });
  place?.focus({ preventScroll: true });
}

function Unexplained({ report }: { report: Report }) {
  const rest = Math.max(1 - report.explained_share, 0);
  return (
    <section id="unexplained" tabIndex={-1} class="card">
      <h2>Not explained: {report.whole_ns > 0 ? `${time(report.whole_ns * rest)} of ${time(report.whole_ns)} (${percent(rest)})` : 'nothing was measured'}</h2>
      <p>No finding stands for this time. The tree and the flame graph show all of it. The run by cause:</p>
      <ByCause run={report.run} />
    </section>
  );
}

/** What a page in one file carries beside its recording, such as the configuration of the run. */
function Section() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const template = document.getElementById('section');
    if (template instanceof HTMLTemplateElement) place.current?.replaceChildren(template.content.cloneNode(true));
  }, []);
  return <div ref={place} class="carried" />;
}

function ByCause({ run }: { run: Run | null }) {
  return (
    <table class="facts">
      <thead>
        <tr>
          <th scope="col">Cause</th>
          <th scope="col" class="right">Time</th>
          <th scope="col" class="right">Share</th>
        </tr>
      </thead>
      <tbody>
        {causeParts(run).map((part) => (
          <tr key={part.word}>
            <th scope="row">{part.word}</th>
            <td class="right">{time(part.value)}</td>
            <td class="right">{percent(part.share)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
