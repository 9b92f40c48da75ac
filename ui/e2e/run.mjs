// Runs the end-to-end tests: `npm run e2e`, or some of them by a part of their names:
// `npm run e2e -- timeline`. SHOTS=FOLDER keeps pictures.

import { cases } from './cases.mjs';
import { compareCases } from './compareCases.mjs';
import { filterCases } from './filterCases.mjs';
import { findingCases } from './findingCases.mjs';
import { oneFileCases } from './oneFileCases.mjs';
import { start } from './browser.mjs';

const only = process.argv.slice(2);
const world = await start();
let failed = 0;
for (const [name, run] of Object.entries({ ...cases, ...findingCases, ...compareCases, ...oneFileCases, ...filterCases })) {
  if (only.length > 0 && !only.some((part) => name.includes(part))) continue;
  const begun = Date.now();
  world.problems.length = 0;
  try {
    await run(world);
    if (world.problems.length > 0) throw new Error(`the page had errors:\n${world.problems.join('\n')}`);
    console.log(`ok   ${name} (${Date.now() - begun} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n${String(error.stack ?? error).split('\n').slice(0, 12).join('\n')}\n${world.problems.join('\n')}`);
  }
  for (const context of world.contexts()) await context.close();
}
await world.stop();
console.log(failed === 0 ? 'all passed' : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
