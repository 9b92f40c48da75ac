// The recordings that a page can open without being given a file: those of its server, or the one
// that a page in one file carries. A page without either has none, and that is no failure.

import type { Inside } from './inside';

export interface Offered {
  readonly name: string;
  readonly bytes: number;
  readonly modified_ms: number;
}

export interface Library {
  readonly title: string;
  /** What the recordings lack, and where it is; none where they are whole. */
  readonly note: string | null;
  /** The list; null where nobody answers. */
  offered(): Promise<readonly Offered[] | null>;
  /** The bytes of one of the list. */
  read(name: string): Promise<Uint8Array>;
}

export const serverLibrary: Library = {
  title: 'Recordings of the server',
  note: null,
  async offered() {
    try {
      const answer = await fetch('api/recordings', { headers: { accept: 'application/json' } });
      return answer.ok ? ((await answer.json()) as Offered[]) : null;
    } catch {
      return null;
    }
  },
  async read(name) {
    const answer = await fetch(`api/recordings/${encodeURIComponent(name)}`);
    if (!answer.ok) throw new Error(`the server does not give ${name}: ${answer.status} ${answer.statusText}`);
    return new Uint8Array(await answer.arrayBuffer());
  },
};

export function insideLibrary(inside: Inside): Library {
  return {
    title: 'The recording in this page',
    note: inside.note,
    offered: () => Promise.resolve([{ name: inside.name, bytes: inside.recording().length, modified_ms: 0 }]),
    read: () => Promise.resolve(inside.recording()),
  };
}
