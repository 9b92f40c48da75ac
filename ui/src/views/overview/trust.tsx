// What to doubt, in plain sight: how much the recorder was allowed to see, what was lost, and
// whether the sums agree with the kernel's own.

import type { Facts } from '../../model/report';
import { shown } from '../../model/text';
import { percent, time } from '../../model/units';

/** The parts of facts that a report has, too. */
type Trusted = Pick<Facts, 'recording' | 'checks' | 'losses'>;

export function Trust({ facts, explained, open = false }: { facts: Trusted; explained: number | null; open?: boolean }) {
  const { recording, losses, checks } = facts;
  const fine = checks.filter((check) => check.fine).length;
  const serious = losses.filter((loss) => loss.severity !== 'info').length;
  return (
    <details class="trust" open={open}>
      <summary>
        <span>
          Access level <strong>{recording.rung}</strong>
        </span>
        <span>
          explained <strong>{explained === null ? '…' : percent(explained)}</strong>
        </span>
        <span>
          records lost <strong>{recording.lost}</strong>
        </span>
        <span>
          checks <strong>{`${fine} of ${checks.length}`}</strong> agree
        </span>
        <span>
          limits <strong>{losses.length}</strong>
          {serious > 0 ? `, ${serious} to know` : ''}
        </span>
      </summary>
      <Checks checks={checks} />
      {losses.length === 0 ? (
        <p>Nothing was lost, cut or guessed.</p>
      ) : (
        <table class="facts">
          <caption>Lost, cut or guessed</caption>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Weight</th>
              <th scope="col" class="right">Count</th>
              <th scope="col">Detail</th>
              <th scope="col">What to do</th>
            </tr>
          </thead>
          <tbody>
            {losses.map((loss) => (
              <tr key={loss.id}>
                <th scope="row">{loss.id}</th>
                <td>{loss.severity}</td>
                <td class="right">{loss.count}</td>
                <td>{shown(loss.detail, 400)}</td>
                <td>{shown(loss.advice, 400)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}

function Checks({ checks }: { checks: Facts['checks'] }) {
  if (checks.length === 0) return null;
  return (
    <table class="facts">
      <caption>Sums against the kernel's</caption>
      <thead>
        <tr>
          <th scope="col">Check</th>
          <th scope="col" class="right">Measured</th>
          <th scope="col" class="right">Expected</th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        {checks.map((check) => (
          <tr key={check.what}>
            <th scope="row">{check.what}</th>
            <td class="right">{time(check.measured_ns)}</td>
            <td class="right">{time(check.expected_ns)}</td>
            <td>{check.fine ? '✓ agrees' : '✗ differs'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
