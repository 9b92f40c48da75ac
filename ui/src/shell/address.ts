// The state in the address, both ways. A step is an entry of the browser's history; sliding (panning,
// typing) rewrites the entry.

import { decode, encode } from '../model/state';
import type { Store } from '../model/store';

/** Keeps the address and the store the same. Gives the function that ends it. */
export function bindAddress(store: Store, say: (text: string) => void): () => void {
  const write = store.listen((state, manner) => {
    if (manner === 'restore') return;
    const hash = encode(state);
    if (hash === location.hash) return;
    if (manner === 'slide') history.replaceState(null, '', hash);
    else history.pushState(null, '', hash);
  });
  const read = () => {
    const { state, problem } = decode(location.hash);
    if (problem !== null) say(problem);
    store.set(state, 'restore');
  };
  window.addEventListener('popstate', read);
  return () => {
    write();
    window.removeEventListener('popstate', read);
  };
}
