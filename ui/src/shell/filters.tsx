// The filter that all views share: its metric, its parts as chips, undo and redo.

import { chips } from '../model/filter';
import type { State } from '../model/state';
import { usePage } from './page';

/** Metrics that are no cause. The engine refuses those that a recording lacks, and says so. */
const METRICS = ['run', 'wall', 'cpu', 'blocked', 'runnable', 'waits', 'faults', 'samples'];

export function Filters({ state }: { state: State }) {
  const { store, recording } = usePage();
  const parts = chips(state.filter);
  const metrics = [...METRICS, ...recording.report.causes.map((cause) => cause.word)];
  const known = [...new Set(metrics)];
  return (
    <section class="filters" aria-label="Filter">
      <label class="metric">
        metric{' '}
        <select
          value={state.filter.metric ?? ''}
          onChange={(event) => {
            const metric = event.currentTarget.value || null;
            store.set({ filter: { ...state.filter, metric } });
          }}
        >
          <option value="">default</option>
          {known.map((word) => (
            <option value={word}>{word}</option>
          ))}
        </select>
      </label>
      <ul class="chips" aria-label="Active filters">
        {parts.map((chip) => (
          <li key={chip.key} class="chip">
            <span>{chip.label}</span>
            <button type="button" aria-label={`Remove the filter ${chip.label}`} onClick={() => store.set({ filter: chip.lifted })}>
              ×
            </button>
          </li>
        ))}
        {parts.length === 0 && <li class="soft">no filter: the whole run</li>}
      </ul>
      <span class="spring" />
      <button type="button" disabled={!store.canUndo()} onClick={() => store.undo()} title="Undo the last change of the filter (U)">
        undo
      </button>
      <button type="button" disabled={!store.canRedo()} onClick={() => store.redo()} title="Redo (Shift U)">
        redo
      </button>
    </section>
  );
}
