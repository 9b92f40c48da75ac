// The page begins here: theme, state of the address, engine in its worker, then everything else.

import { render } from 'preact';
import '../theme/page.css';
import { decode } from '../model/state';
import { createStore } from '../model/store';
import { createEngine, type Port } from '../worker/client';
import { App } from './app';
import { restoreTheme } from './theme';

restoreTheme();
const { state, problem } = decode(location.hash);
const store = createStore(state);
const worker = new Worker(new URL('../worker/worker.ts', import.meta.url), { type: 'module' });
const engine = createEngine(worker as Port);
const root = document.getElementById('app');
if (root !== null) render(<App store={store} engine={engine} problem={problem} />, root);
