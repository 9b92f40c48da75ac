// What the built page was made from. `--write` writes `dist/manifest.json`; without it the manifest is
// compared with the sources, and the command that mends a difference is printed.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ui = fileURLToPath(new URL('..', import.meta.url));
const manifest = join(ui, 'dist/manifest.json');

/** Sources beside `src`: whatever changes the built page. */
const BESIDE = ['index.html', 'package.json', 'package-lock.json', 'tsconfig.json', 'vite.config.ts'];
/** The parts of the wasm package that the page is built from. */
const WASM = ['culprit_wasm.js', 'culprit_wasm_bg.wasm'];

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

function walk(folder) {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? walk(path) : [path]));
}

/** One hash over the names and bytes of files, in the order of their names. */
function hash(base, paths) {
  const lines = paths.map((path) => `${relative(base, path)} ${sha256(readFileSync(path))}\n`);
  return sha256(lines.sort().join(''));
}

const tests = (path) => path.endsWith('.test.ts');
const sources = [...walk(join(ui, 'src')).filter((path) => !tests(path)), ...BESIDE.map((name) => join(ui, name))];
const pkg = join(ui, 'pkg');
const wasm = WASM.map((name) => join(pkg, name));
const built = walk(join(ui, 'dist')).filter((path) => path !== manifest).sort();
const now = {
  sources: hash(ui, sources),
  wasm: wasm.every((path) => existsSync(path)) ? hash(pkg, wasm) : null,
  files: Object.fromEntries(built.map((path) => [relative(join(ui, 'dist'), path), sha256(readFileSync(path))])),
};

if (process.argv.includes('--write')) {
  writeFileSync(manifest, `${JSON.stringify(now, null, 2)}\n`);
  console.log(`manifest: ${built.length} files`);
} else {
  const kept = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {};
  const problems = [];
  if (kept.sources !== now.sources) problems.push('the sources in ui/ changed since ui/dist was built');
  // Without the wasm package (no Rust target here) its hash cannot be compared.
  if (now.wasm !== null && kept.wasm !== now.wasm) problems.push('the wasm package changed since ui/dist was built');
  if (JSON.stringify(kept.files) !== JSON.stringify(now.files)) problems.push('files in ui/dist are not those that were built');
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) console.error('run: npm --prefix ui ci && npm --prefix ui run build');
  process.exit(problems.length === 0 ? 0 : 1);
}
