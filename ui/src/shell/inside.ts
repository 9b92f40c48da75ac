// What a page in one file carries: what to show first, and the bytes of the engine, of its worker and
// of the recording. Such a page fetches nothing.

import { fromWire, type WireFilter } from '../model/filter';
import { START, VIEWS, type State } from '../model/state';
import type { Port } from '../worker/client';

export interface Inside {
  /** The recording's file name. */
  readonly name: string;
  /** What is shown where the address says nothing. */
  readonly state: State;
  /** What is not in the page, and where it is; none where all is. */
  readonly note: string | null;
  recording(): Uint8Array;
}

interface StartDocument {
  readonly name: string;
  readonly view: string;
  readonly filter: WireFilter;
  readonly note: string | null;
}

const text = (id: string) => document.getElementById(id)?.textContent ?? null;

/** What this page carries; none for a page that a server gives. */
export function inside(): Inside | null {
  const start = text('start');
  if (start === null) return null;
  const { name, view, filter, note } = JSON.parse(start) as StartDocument;
  const shown = VIEWS.find((one) => one === view) ?? START.view;
  return {
    name,
    note,
    state: { ...START, recording: name, view: shown, filter: fromWire(filter) },
    recording: () => bytes('recording'),
  };
}

function bytes(id: string): Uint8Array<ArrayBuffer> {
  const signs = atob(text(id) ?? '');
  const found = new Uint8Array(signs.length);
  for (let at = 0; at < signs.length; at += 1) found[at] = signs.charCodeAt(at);
  return found;
}

function inflate(id: string): Promise<ArrayBuffer> {
  const stream = new Blob([bytes(id)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

/** The worker of a page in one file: a file has no address that a worker could be loaded from. */
export async function insideWorker(): Promise<Port> {
  const [program, engine] = await Promise.all([inflate('worker'), inflate('engine')]);
  const address = URL.createObjectURL(new Blob([program], { type: 'text/javascript' }));
  const worker = new Worker(address);
  worker.postMessage({ engine }, [engine]);
  return worker as Port;
}
