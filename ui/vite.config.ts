// Builds the page: one html, one css, one js, one worker and the wasm, each under a fixed name, so
// that the same sources give the same bytes and the server can embed them by name.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const wasm = fileURLToPath(new URL('./pkg/culprit_wasm.js', import.meta.url));

const names = {
  chunkFileNames: 'assets/[name].js',
  assetFileNames: 'assets/[name][extname]',
};

export default defineConfig({
  base: './',
  resolve: { alias: { 'culprit-wasm': wasm } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    rolldownOptions: { output: { ...names, entryFileNames: 'assets/app.js' } },
  },
  worker: {
    // One plain script: a page in one file cannot load a module worker of its bytes.
    format: 'iife',
    rolldownOptions: { output: { ...names, entryFileNames: 'assets/worker.js' } },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
} as Parameters<typeof defineConfig>[0]);
