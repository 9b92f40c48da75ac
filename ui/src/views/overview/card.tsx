// One finding: what, how long, where, why, what to change, how to check, and on what evidence.

import type { Finding, Place } from '../../model/report';
import { commands, plural, shown } from '../../model/text';
import { measured, percent, time, type Ns } from '../../model/units';
import { withName } from '../../model/filter';
import { copy } from '../../shell/copy';
import { Prose } from '../../shell/prose';
import { usePage } from '../../shell/page';

/** A sign for each severity beside its word and colour. */
const SIGNS = { high: '▲', medium: '◆', low: '●', info: '○' } as const;

interface CardProps {
  readonly finding: Finding;
  readonly at: number;
  readonly whole: Ns;
  /** The finding's word in the address. */
  readonly word: string;
}

export function Card({ finding, at, whole, word }: CardProps) {
  const { store } = usePage();
  const main = finding.where.find((place) => place.file !== null) ?? finding.where[0];
  const name = main?.name || undefined;
  const show = (view: 'flame' | 'butterfly') => () => {
    if (name === undefined) return;
    if (view === 'butterfly') store.set({ view, focus: name });
    else store.set({ view, zoom: null, filter: withName(store.get().filter, 'include', name) });
  };
  return (
    <li id={`finding-${at}`} tabIndex={-1} class={`card finding ${finding.severity}`}>
      <h2>
        <span class={`badge ${finding.severity}`}>
          {SIGNS[finding.severity] ?? '○'} {finding.severity}
        </span>{' '}
        <Prose text={finding.title} />
      </h2>
      <p class="numbers">
        <strong>{time(finding.cost_ns)}</strong> of {time(whole)} ({percent(finding.share)}) · rule <code>{finding.id}</code> · {percent(finding.confidence)} sure
      </p>
      {main && <Where place={main} more={finding.where.length - 1} />}
      <h3>Why</h3>
      <p>
        <Prose text={finding.why} />
      </p>
      <Fixes fix={finding.fix} />
      <CheckLine check={finding.check} />
      <p class="buttons">
        <button type="button" onClick={() => store.set({ view: 'evidence', finding: word })}>
          Evidence: when and where
        </button>
        {name !== undefined && (
          <>
            <button type="button" onClick={show('flame')}>
              Show in the flame graph
            </button>
            <button type="button" onClick={show('butterfly')}>
              Callers and callees
            </button>
          </>
        )}
      </p>
      <EvidenceTable finding={finding} />
    </li>
  );
}

function Where({ place, more }: { place: Place; more: number }) {
  const line = place.file === null ? shown(place.module, 120) : `${shown(place.file, 160)}${place.line === null ? '' : `:${place.line}`}`;
  return (
    <p class="where">
      <code>{shown(place.function, 200)}</code> in <code>{line}</code>, thread {shown(place.thread, 80)}
      {more > 0 && <span class="soft"> and {more} more</span>}
    </p>
  );
}

function Fixes({ fix }: { fix: string }) {
  const lines = fix.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return null;
  return (
    <>
      <h3>Fix</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>
            <Prose text={line} />
          </li>
        ))}
      </ul>
    </>
  );
}

function CheckLine({ check }: { check: string }) {
  const page = usePage();
  if (check === '') return null;
  const take = async () => {
    const done = await copy(commands(check));
    page.say(done ? 'Command copied.' : 'The browser refused to copy.');
  };
  return (
    <>
      <h3>Check</h3>
      <p class="check">
        <span>
          <Prose text={check} />
        </span>
        <button type="button" onClick={() => void take()}>
          Copy the command
        </button>
      </p>
    </>
  );
}

function EvidenceTable({ finding }: { finding: Finding }) {
  if (finding.evidence.length === 0) return null;
  return (
    <details>
      <summary>{plural(finding.evidence.length, 'counted fact')}</summary>
      <table class="facts">
        <tbody>
          {finding.evidence.map((fact) => (
            <tr key={fact.what}>
              <th scope="row">
                <Prose text={fact.what} />
              </th>
              <td class="right">{measured(fact.value, fact.unit)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {finding.where.length > 1 && (
        <ul>
          {finding.where.map((place, at) => (
            <li key={at}>
              <code>{shown(`${place.module}!${place.function}`, 200)}</code>
              {place.file === null ? '' : ` ${shown(place.file, 160)}${place.line === null ? '' : `:${place.line}`}`}, thread {shown(place.thread, 80)}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
