// The import lint: `src/model` and every `layout.ts` are pure. They import nothing of the page and
// never name what a browser alone has. So they can be tested, and be read, without a screen.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../src', import.meta.url));
const files = readdirSync(src, { recursive: true })
  .map((file) => join(src, file))
  .filter((file) => /\.tsx?$/.test(file));

/** Names that only a browser has. */
const BROWSER = /\b(document|navigator|localStorage|sessionStorage|location|history|requestAnimationFrame|HTML\w*Element|CanvasRenderingContext2D|MouseEvent|KeyboardEvent|PointerEvent)\b|\bwindow\s*[.[]/;
/** What pure code must not import. */
const PAGE = /from '(preact[^']*|[^']*\/(shell|theme)\/[^']*|[^']*\/(draw|view|chart|card|table)|[^']*\/worker\/(client|session|worker))'/;
/** What would need a laxer content security policy. */
const UNSAFE = /dangerouslySetInnerHTML|\.innerHTML|\beval\(|new Function\(/;
/** The longest file that is read at one go. */
const LINES = 600;

const pure = (file) => /^model\/.*\.ts$/.test(file) || /\/layout\.ts$/.test(file);
const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, (hit) => hit.replace(/[^\n]/g, '')).replace(/\/\/.*$/gm, '');

const problems = [];
for (const path of files) {
  const file = relative(src, path);
  const text = readFileSync(path, 'utf8');
  const lines = withoutComments(text).split('\n');
  if (!text.startsWith('// ')) problems.push(`${file}: begin with a comment that says what the file holds`);
  if (lines.length > LINES) problems.push(`${file}: ${lines.length} lines; split it at ${LINES}`);
  lines.forEach((line, at) => {
    const say = (what) => problems.push(`src/${file}:${at + 1}: ${what}: ${line.trim()}`);
    if (UNSAFE.test(line)) say('text must stay text');
    if (!pure(file) || file.endsWith('.test.ts')) return;
    if (BROWSER.test(line)) say('model and layout never touch the browser');
    if (PAGE.test(line)) say('model and layout import nothing of the page');
  });
}
// The declarations in the repository are those that were generated from Rust.
const declared = (path) => new URL(`../${path}culprit_wasm.d.ts`, import.meta.url);
if (existsSync(declared('pkg/')) && readFileSync(declared('pkg/'), 'utf8') !== readFileSync(declared(''), 'utf8')) {
  problems.push('culprit_wasm.d.ts differs from the wasm package: run `npm run wasm -- FOLDER`');
}
for (const problem of problems) console.error(problem);
console.log(`lint: ${files.length} files, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
