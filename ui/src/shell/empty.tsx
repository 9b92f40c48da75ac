// A view that has nothing to show: why, and a button for each part of the filter that could be it.

import { chips, liftable, NO_FILTER } from '../model/filter';
import type { State } from '../model/state';
import { usePage } from './page';
import { Prose } from './prose';

export function Empty({ state, reason }: { state: State; reason: string }) {
  const { store } = usePage();
  const { filter, search } = state;
  const lifts = liftable(filter, reason);
  return (
    <section class="empty" role="status" aria-label="Nothing to show">
      <h2>Nothing to show</h2>
      <p>
        <Prose text={reason.replace(/^nothing to show: /, '')} />
      </p>
      <p class="buttons">
        {lifts.map((chip) => (
          <button key={chip.key} type="button" onClick={() => store.set({ filter: chip.lifted })}>
            Remove the filter {chip.label}
          </button>
        ))}
        {chips(filter).length > 1 && (
          <button type="button" onClick={() => store.set({ filter: { ...NO_FILTER, metric: filter.metric } })}>
            Remove all filters
          </button>
        )}
        {filter.metric !== null && (
          <button type="button" onClick={() => store.set({ filter: { ...filter, metric: null } })}>
            Use the default metric instead of {filter.metric}
          </button>
        )}
        {search !== '' && (
          <button type="button" onClick={() => store.set({ search: '' })}>
            Clear the search {search}
          </button>
        )}
      </p>
    </section>
  );
}

/** A question that the engine refused: its message, and what can be lifted. */
export function Failed({ state, message }: { state: State; message: string }) {
  return <Empty state={state} reason={message} />;
}

export function Waiting() {
  return (
    <p class="soft waiting" role="status">
      Computing…
    </p>
  );
}
