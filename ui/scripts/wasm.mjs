// Puts a wasm package (wasm-bindgen --target web) to where the build looks for it: `ui/pkg`.
// Use: npm run wasm -- FOLDER

import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const from = process.argv[2];
if (from === undefined) {
  console.error('say where the package is: npm run wasm -- FOLDER');
  process.exit(2);
}
const to = fileURLToPath(new URL('../pkg', import.meta.url));
mkdirSync(to, { recursive: true });
for (const name of ['culprit_wasm.js', 'culprit_wasm.d.ts', 'culprit_wasm_bg.wasm']) {
  copyFileSync(join(from, name), join(to, name));
}
// The declarations are in the repository: types are checked where no wasm target is, too.
copyFileSync(join(from, 'culprit_wasm.d.ts'), fileURLToPath(new URL('../culprit_wasm.d.ts', import.meta.url)));
console.log(`wasm package of ${from} copied to ${to}`);
