// The filter that all views share: its metric, its parts as chips, undo and redo.

import { useState } from 'preact/hooks';
import { chips, presetOf, withPreset, type PatternField } from '../model/filter';
import { withEntry } from '../model/patterns';
import type { State } from '../model/state';
import { useAnswer, usePage } from './page';

/** Metrics that are no cause. The engine refuses those that a recording lacks, and says so. */
export const METRICS = ['run', 'wall', 'cpu', 'blocked', 'runnable', 'waits', 'faults', 'samples'];

export const METRIC_MEANINGS: Readonly<Record<string, string>> = {
  run: 'the elapsed time of the run, each moment given to what the run was waiting for',
  wall: 'the time of all threads',
  cpu: 'time on a CPU',
  blocked: 'time blocked',
  runnable: 'time ready, without a CPU',
  waits: 'how many waits',
  faults: 'how many page faults',
  samples: 'how many samples',
};

export function Filters({ state }: { state: State }) {
  const { store, recording } = usePage();
  const parts = chips(state.filter);
  const metrics = [...METRICS, ...recording.facts.causes.map((cause) => cause.word)];
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
            <option key={word} value={word} title={METRIC_MEANINGS[word]}>
              {word}
            </option>
          ))}
        </select>
      </label>
      <PresetChoice state={state} />
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
      <AddFilter state={state} />
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

const FIELDS: readonly PatternField[] = ['include', 'exclude', 'group', 'fold', 'thread', 'process'];

/** The presets that everybody has: groups and folds with a name. */
function PresetChoice({ state }: { state: State }) {
  const { engine, store } = usePage();
  const { own } = state.filter;
  const presets = useAnswer(engine, 'presets', { own }).value ?? [];
  const chosen = presetOf(state.filter, presets);
  return (
    <label class="metric">
      preset{' '}
      <select
        value={chosen?.name ?? ''}
        title={chosen?.meaning ?? 'Groups and folds with a name'}
        onChange={(event) => {
          const { value } = event.currentTarget;
          store.set({ zoom: null, filter: withPreset(state.filter, presets.find((one) => one.name === value)) });
        }}
      >
        <option value="">none</option>
        {presets.map((one) => (
          <option key={one.name} value={one.name} title={one.meaning}>
            {one.name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A pattern that is typed, in the language of the command line's options. */
function AddFilter({ state }: { state: State }) {
  const { store } = usePage();
  const [field, setField] = useState<PatternField>('include');
  const [text, setText] = useState('');
  const add = (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    store.set({ filter: { ...state.filter, [field]: withEntry(state.filter[field], text.trim()) } });
    setText('');
  };
  return (
    <form class="add" onSubmit={add}>
      <select aria-label="Kind of filter" value={field} onChange={(event) => setField(event.currentTarget.value as PatternField)}>
        {FIELDS.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <input aria-label="Pattern" placeholder="pattern" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" disabled={text.trim() === ''}>
        add
      </button>
    </form>
  );
}
