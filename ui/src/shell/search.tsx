// The search field of views with names, and what the search found.

import { useRef } from 'preact/hooks';
import type { State } from '../model/state';
import { usePage } from './page';

export const SEARCH_ID = 'search';

export function Search({ state, found }: { state: State; found: string }) {
  const { store } = usePage();
  const waiting = useRef(0);
  const onInput = (event: InputEvent) => {
    const search = (event.currentTarget as HTMLInputElement).value;
    clearTimeout(waiting.current);
    waiting.current = window.setTimeout(() => store.set({ search }, 'slide'), 120);
  };
  return (
    <span class="search">
      <input
        id={SEARCH_ID}
        type="search"
        placeholder="Search names ( / )"
        aria-label="Search names"
        value={state.search}
        onInput={onInput}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      <span class="soft" role="status">
        {found}
      </span>
    </span>
  );
}
