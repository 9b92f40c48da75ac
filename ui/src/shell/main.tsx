// The page begins here: theme, state of the address, engine in its worker, then everything else.

import { render } from 'preact';
import '../theme/page.css';
import { decode } from '../model/state';
import { createStore } from '../model/store';
import { createEngine, type Port } from '../worker/client';
import { App } from './app';
import { inside, insideWorker } from './inside';
import { insideLibrary, serverLibrary } from './library';
import { restoreTheme } from './theme';

restoreTheme();
const carried = inside();
const { state, problem } = decode(location.hash);
const store = createStore(carried !== null && state.recording === null ? carried.state : state);
const worker =
  carried === null ? (new Worker(new URL('../worker/worker.ts', import.meta.url), { type: 'module' }) as Port) : await insideWorker();
const engine = createEngine(worker);
const library = carried === null ? serverLibrary : insideLibrary(carried);
const root = document.getElementById('app');
if (root !== null) render(<App store={store} engine={engine} library={library} problem={problem} />, root);
