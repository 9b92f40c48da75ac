// The end-to-end tests of the page in one file: opened from a file, with every request refused.
// The program that writes such pages is CULPRIT, or the release build of this repository.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { address, shot, until } from './browser.mjs';

const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL('../../target', import.meta.url));
export const PROGRAM = process.env.CULPRIT ?? join(target, 'release/culprit');

/** Writes a recording's page and opens it; whatever it asks the network for is a failure. */
async function openFile(world, recording, more = [], options = {}) {
  const file = join(world.folder, `${recording}.html`);
  execFileSync(PROGRAM, ['report', join(world.folder, recording), '-o', file, ...more], { stdio: 'pipe' });
  const page = await world.openPage(null, options);
  await page.route('**/*', (route) => {
    const url = route.request().url();
    if (url === pathToFileURL(file).href || url.startsWith('blob:')) return route.continue();
    world.problems.push(`asked for ${url}`);
    return route.abort();
  });
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(file).href);
  await page.locator('.tabs').waitFor();
  return page;
}

const tab = (page, name) => page.locator('.tabs button', { hasText: name }).click();
const answered = (page) => page.locator('.overview[aria-busy=false]').waitFor();

const written = {
  async 'one file: views and filters work offline'(world) {
    const page = await openFile(world, 'service.culprit');
    await answered(page);
    assert.match(await page.locator('.verdict').innerText(), /661 ms/);
    assert.ok((await page.locator('.finding').count()) >= 3);
    await page.getByRole('button', { name: 'Show in the flame graph' }).first().click();
    await page.locator('.flame canvas').waitFor();
    await page.locator('.chip').waitFor();
    assert.equal(address(page).view, 'flame');
    for (const view of ['Functions', 'Tree', 'Evidence', 'Timeline', 'Callers']) {
      await tab(page, view);
      await page.locator('.view').waitFor();
      await until(`${view} has answered`, async () => (await page.locator('.waiting').count()) === 0);
      assert.equal(await page.locator('.empty').count(), 0, view);
    }
    await page.goBack();
    assert.equal(address(page).view, 'timeline');
    await page.getByLabel('metric').selectOption('wall');
    await until('another metric', () => address(page).metric === 'wall');
    await page.reload();
    await page.locator('.tabs [aria-current]', { hasText: 'Timeline' }).waitFor();
    await shot(page, 'one-file');
  },

  async 'one file: opens with the filter that it was written with'(world) {
    const page = await openFile(world, 'locks.culprit', ['--preset', 'modules', '--inc', 'Main', '--from', '0.1s']);
    await page.locator('.chip', { hasText: 'include Main' }).waitFor();
    await page.locator('.chip', { hasText: 'group' }).waitFor();
    await until('the preset is named', async () => (await page.getByLabel('preset').inputValue()) === 'modules');
  },

  async 'one file: reads as text without scripts'(world) {
    const page = await openFile(world, 'service.culprit').then(async (page) => {
      const url = page.url().split('#')[0];
      const plain = await world.openPage(null, { javaScriptEnabled: false });
      await plain.goto(url);
      return plain;
    });
    assert.match(await page.locator('noscript').innerText(), /661 ms/);
  },

  async 'one file: hostile names are text'(world) {
    const page = await openFile(world, 'hostile.culprit');
    await answered(page);
    for (const view of ['Functions', 'Tree', 'Flame', 'Timeline', 'Callers']) {
      await tab(page, view);
      await page.waitForTimeout(200);
      assert.equal(await page.locator('#app img, #app script, #app b').count(), 0, view);
    }
    assert.match(await page.title(), /Culprit$/);
    // What the page's own policy forbids: a script that was put into it, and a request.
    const ran = await page.evaluate(async () => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.owned = true';
      document.body.append(script);
      const asked = await fetch('https://example.invalid/').then(() => true, () => false);
      return [globalThis.owned === true, asked];
    });
    assert.deepEqual(ran, [false, false]);
    // Both refusals are complaints, which are wanted here; no request got as far as the network.
    assert.ok(!world.problems.some((problem) => problem.startsWith('asked for')), world.problems.join('\n'));
    world.problems.length = 0;
  },
};

export const oneFileCases = existsSync(PROGRAM) ? written : {};
if (!existsSync(PROGRAM)) console.log(`skipped: the page in one file; there is no ${PROGRAM}. Set CULPRIT to the program`);
