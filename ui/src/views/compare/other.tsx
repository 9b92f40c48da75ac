// The second recording: chosen from the server's folder, picked, or dropped.

import { useEffect, useState } from 'preact/hooks';
import type { State } from '../../model/state';
import { shown } from '../../model/text';
import { Waiting } from '../../shell/empty';
import type { Offered } from '../../shell/library';
import { usePage } from '../../shell/page';

export interface Other {
  /** The second recording that the engine holds; none yet. */
  readonly open: string | null;
  readonly list: readonly Offered[];
  readonly busy: boolean;
  readonly error: string | null;
  take(name: string, read: () => Promise<Uint8Array>): void;
}

/** Opens the recording that the state names, if the server has it. */
export function useOther(state: State): Other {
  const page = usePage();
  const [list, setList] = useState<readonly Offered[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const take = async (name: string, read: () => Promise<Uint8Array>) => {
    setBusy(true);
    setError(null);
    try {
      await page.engine.ask('openOther', { name, bytes: await read() });
      page.other.current = name;
      page.store.set({ compare: name });
    } catch (problem) {
      page.other.current = null;
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  useEffect(() => void page.library.offered().then((found) => setList(found ?? [])), []);
  useEffect(() => {
    const wanted = state.compare;
    if (wanted === null || wanted === page.other.current || busy) return;
    if (list.some((one) => one.name === wanted)) void take(wanted, () => page.library.read(wanted));
  }, [state.compare, list]);
  useEffect(() => {
    page.drop.current = (file) => void take(file.name, async () => new Uint8Array(await file.arrayBuffer()));
    return () => (page.drop.current = null);
  }, [page]);
  const open = state.compare !== null && state.compare === page.other.current ? state.compare : null;
  return { open, list: list.filter((one) => one.name !== page.recording.name), busy, error, take: (name, read) => void take(name, read) };
}

export function Choose({ state, other }: { state: State; other: Other }) {
  const { recording, library } = usePage();
  if (other.busy) return <Waiting />;
  const wanted = state.compare !== null && !other.list.some((one) => one.name === state.compare) ? state.compare : null;
  return (
    <section class="view compare">
      <h1 class="verdict">Compare {shown(recording.name, 80)} with another recording</h1>
      {wanted !== null && (
        <p class="notice" role="status">
          This link compares with <code>{shown(wanted, 120)}</code>. Open that file, and the comparison shows.
        </p>
      )}
      {other.error !== null && (
        <div class="notice error" role="alert">
          <strong>The second recording could not be opened.</strong> {shown(other.error, 1000)}
        </div>
      )}
      <section class="drop card">
        <p>Drop the second recording here, or choose it. The open one is the run before; the sides can be swapped.</p>
        <label class="file">
          Second recording{' '}
          <input
            type="file"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file !== undefined) other.take(file.name, async () => new Uint8Array(await file.arrayBuffer()));
            }}
          />
        </label>
      </section>
      {other.list.length > 0 && (
        <section class="card">
          <h2>{library.title}</h2>
          <ul class="offered">
            {other.list.map((one) => (
              <li key={one.name}>
                <button type="button" onClick={() => other.take(one.name, () => library.read(one.name))}>
                  {shown(one.name, 120)}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </section>
  );
}
