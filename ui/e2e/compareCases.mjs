// The end-to-end tests of the comparison of two recordings.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { address, shot, until } from './browser.mjs';

const PAIR = '#v=1&rec=service.culprit&view=compare';

async function compared(world, hash, options) {
  const page = await world.openPage(hash, options);
  await page.locator('.compare .toolbar').first().waitFor();
  return page;
}

export const compareCases = {
  async 'compare: a second recording of the server, both ways round'(world) {
    const page = await world.openPage(PAIR);
    await page.locator('.compare').getByRole('button', { name: 'locks.culprit' }).click();
    await page.getByRole('table').first().waitFor();
    assert.equal(address(page).with, 'locks.culprit');
    const first = await page.locator('.verdict').innerText();
    assert.match(first, /^The run (before|after) takes \d+\.\d\d times as long: .* before, .* after/);
    const falls = page.locator('.falls').first().locator('tbody tr');
    assert.match(await falls.first().innerText(), /^before/);
    assert.match(await falls.last().innerText(), /^after/);
    assert.ok((await falls.count()) > 3);
    await page.locator('ol.changes li').first().waitFor();
    await shot(page, 'compare');
    await page.getByRole('button', { name: 'Swap the sides' }).click();
    await until('the other way round', async () => (await page.locator('.verdict').innerText()) !== first);
    assert.equal(address(page).swap, '1');
    await page.reload();
    await until('the link shows the same', async () => (await page.locator('.compare .verdict').count()) > 0 && (await page.locator('.verdict').innerText()) !== first);
  },

  async 'compare: what vanished stays in the picture, and is in the table'(world) {
    const page = await compared(world, `${PAIR}&with=locks.culprit`);
    await page.locator('.flame canvas').waitFor();
    await page.locator('.flame').focus();
    for (let step = 0; step < 3; step += 1) await page.keyboard.press('ArrowDown');
    await until('a box is described', async () => /before .*, after .*: (gone|new|less|more|much|a little|about)/.test(await page.locator('.status-line').first().innerText()));
    assert.match(await page.getByRole('region', { name: 'Both runs as one flame graph' }).locator('.legend').innerText(), /gone[^]*new/);
    await page.keyboard.press('t');
    const nodes = page.getByRole('grid', { name: 'Nodes of both flame graphs' });
    await nodes.waitFor();
    assert.match(await nodes.innerText(), /^(before|after)$/m);
    await page.getByRole('grid', { name: 'Functions on both sides' }).waitFor();
  },

  async 'compare: a recording with itself is one sentence'(world) {
    const page = await world.openPage(PAIR);
    await page.locator('.compare input[type=file]').setInputFiles(join(world.folder, 'service.culprit'));
    await page.locator('.compare .toolbar').first().waitFor();
    assert.match(await page.locator('.verdict').innerText(), /^The runs do not differ/);
    assert.equal(await page.locator('.falls, .flame, .grid').count(), 0);
    await shot(page, 'compare-same');
    await page.getByRole('button', { name: 'Show the differences anyway' }).click();
    await page.locator('.falls').first().waitFor();
  },

  async 'compare: the filter is that of the page, and a refused file is said'(world) {
    const page = await compared(world, `${PAIR}&with=locks.culprit&metric=cpu`);
    await page.getByText(/CPU time/).first().waitFor();
    await page.getByRole('button', { name: 'Compare with another' }).click();
    await page.locator('.compare input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no recording') });
    assert.match(await page.locator('[role=alert]').innerText(), /second recording could not be opened.*notes\.txt/s);
  },

  async 'compare: fits a phone, in both themes'(world) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await compared(world, `${PAIR}&with=locks.culprit`, { viewport: { width: 360, height: 740 }, hasTouch: true, colorScheme });
      await page.locator('ol.changes li').first().waitFor();
      await shot(page, `compare-phone-${colorScheme}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 361, `${wide} px wide`);
    }
  },
};
