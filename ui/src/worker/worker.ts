// The worker: one engine with one recording. Questions are answered one at a time; between two of
// them the messages that came meanwhile are read, so that superseded questions cost nothing.

import init, { prepare } from 'culprit-wasm';
import { createQueue } from './queue';
import { answer } from './session';
import type { Question, Reply } from './protocol';

const scope = self as unknown as DedicatedWorkerGlobalScope;
const queue = createQueue<Question>();
/** The engine's bytes, where a page in one file hands them over; else they are beside this worker. */
interface Given {
  readonly engine: ArrayBuffer;
}
let give: (engine: ArrayBuffer) => void = () => {};
const given = new Promise<ArrayBuffer>((resolve) => (give = resolve));
const loaded = scope.location.protocol === 'blob:' ? given.then((engine) => init({ module_or_path: engine })) : init();
// While a person chooses a file.
const ready = loaded.then(prepare);
// Whoever asks a question is told why there is no engine.
ready.catch(() => {});
const turn = new MessageChannel();
let working = false;

const reply = (message: Reply, transfer: Transferable[] = []) => scope.postMessage(message, transfer);

/** The buffers of the typed arrays in an answer, each once. */
function buffers(value: unknown, found = new Set<ArrayBuffer>(), depth = 0): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (depth < 3 && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const field of Object.values(value)) buffers(field, found, depth + 1);
  }
  return found;
}

const text = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function work(): Promise<void> {
  const question = queue.next();
  if (question === undefined) {
    working = false;
    return;
  }
  try {
    await ready;
    const ok = answer(question);
    reply({ id: question.id, ok }, [...buffers(ok)]);
  } catch (error) {
    reply({ id: question.id, error: text(error) });
  }
  turn.port2.postMessage(null);
}

turn.port1.onmessage = () => void work();

scope.addEventListener('message', ({ data }: MessageEvent<Question | Given>) => {
  if ('engine' in data) return give(data.engine);
  for (const old of queue.add(data)) reply({ id: old.id, superseded: true });
  if (working) return;
  working = true;
  turn.port2.postMessage(null);
});
