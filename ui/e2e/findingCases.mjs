// The end-to-end tests of what leads a person to the answer: the palette, a finding's evidence, the run
// in the timeline, activities, and what can be taken along.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { violations } from './cases.mjs';
import { address, shot, until } from './browser.mjs';

const SERVICE = '#v=1&rec=service.culprit';
const LOCKS = '#v=1&rec=locks.culprit';
const REQUESTS = '#v=1&rec=requests.culprit';

async function opened(world, hash, options) {
  const page = await world.openPage(hash, options);
  await page.locator('.tabs').waitFor();
  return page;
}

const list = (page) => page.getByRole('listbox', { name: 'Found' });

/** Opens the palette, types, and waits until the best entry has these words. */
async function find(page, text, best) {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /^Find views/ }).waitFor();
  await page.keyboard.type(text);
  await until(`${text} is found`, async () => best.test(await list(page).locator('[aria-selected=true]').innerText().catch(() => '')));
}

export const findingCases = {
  async 'palette: views, functions, threads, presets and commands by their names'(world) {
    const page = await opened(world, LOCKS, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.keyboard.press('Control+k');
    await until('functions are there', async () => /function/.test(await list(page).innerText()) || /of \d+ found|\d{3,} found/.test(await page.locator('.palette-foot').innerText()));
    await shot(page, 'palette');
    await page.keyboard.press('Escape');
    await page.locator('dialog.palette').waitFor({ state: 'detached' });
    await find(page, 'flame', /^view\s+Flame/);
    await page.keyboard.press('Enter');
    await until('the view', () => address(page).view === 'flame');
    await find(page, 'booker-1 thread', /^thread\s+booker-1/);
    await shot(page, 'palette-thread');
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'thread booker-1' }).waitFor();
    await find(page, 'modules preset', /^preset\s+modules/);
    await page.keyboard.press('Enter');
    await until('the preset', async () => (await page.getByLabel('preset').inputValue()) === 'modules');
    await find(page, 'remove all filters', /^command/);
    await page.keyboard.press('Enter');
    await until('no filter', async () => (await page.locator('.chip').count()) === 0);
    await find(page, 'park', /^function\s+.*park/i);
    await page.keyboard.press('Shift+Enter');
    await page.locator('.chip', { hasText: /include .*park/i }).waitFor();
    await find(page, 'copy the link', /^command/);
    await page.keyboard.press('Enter');
    await page.getByText(/^Link copied/).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());
  },

  async 'palette: closes by Escape, gives the focus back, and says when nothing fits'(world) {
    const page = await opened(world, `${SERVICE}&view=functions`);
    await page.getByRole('grid').focus();
    await find(page, 'tree', /^view\s+Tree/);
    await page.keyboard.type(' nothing-has-this-name');
    await page.getByText(/^Nothing has these words/).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await until('it closed', async () => (await page.locator('dialog').count()) === 0);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('role')), 'grid');
    assert.equal(address(page).view, 'functions');
    await page.getByRole('button', { name: /^Find anything/ }).click();
    await page.getByRole('combobox', { name: /^Find views/ }).waitFor();
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await violations(page), [], colorScheme);
    }
  },

  async 'palette: the mouse chooses, and a phone has room'(world) {
    const page = await opened(world, SERVICE, { viewport: { width: 360, height: 740 }, hasTouch: true });
    await page.getByRole('button', { name: /^Find anything/ }).click();
    await list(page).getByText('Timeline', { exact: true }).click();
    await until('the view', () => address(page).view === 'timeline');
    await page.getByRole('button', { name: /^Find anything/ }).click();
    await list(page).waitFor();
    await shot(page, 'phone-palette');
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 361);
  },

  async 'evidence: from a finding to its times, stacks, timeline and flame graph'(world) {
    const page = await opened(world, LOCKS);
    await page.locator('.overview[aria-busy=false]').waitFor();
    await page.getByRole('button', { name: 'Evidence: when and where' }).first().click();
    const stretches = page.getByRole('grid', { name: 'Stretches of the finding' });
    await stretches.waitFor();
    const word = await until('the finding is in the address', () => address(page).finding);
    await shot(page, 'evidence');
    assert.match(await page.locator('.evidence h2.verdict').innerText(), /\S/);
    assert.ok((await stretches.getByRole('row').count()) > 3);
    await stretches.getByRole('button', { name: /^Show .* in the timeline$/ }).first().click();
    await page.locator('.story').waitFor();
    assert.ok(address(page).window && address(page).wait);
    await shot(page, 'evidence-timeline');
    await page.goBack();
    await stretches.waitFor();
    assert.equal(address(page).finding, word);
    await page.getByRole('grid', { name: 'Stacks of the finding' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('.flame canvas').waitFor();
    assert.equal(await page.locator('.chip').count(), 2);
  },

  async 'evidence: each finding has some, in both themes and on a phone'(world) {
    for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 360, height: 740 } }]) {
      const page = await opened(world, `${SERVICE}&view=evidence`, options);
      const next = page.getByRole('button', { name: 'Next', exact: true });
      await next.waitFor();
      for (let nth = 0; ; nth += 1) {
        await until('the evidence is there', async () => (await page.locator('.evidence .waiting').count()) === 0);
        if (nth === 0) assert.deepEqual(await violations(page), [], options.colorScheme);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (options.viewport?.width ?? 1280) + 1);
        await shot(page, `evidence-${options.colorScheme}-${nth}`);
        if (await next.isDisabled()) break;
        await next.click();
      }
      await page.context().close();
    }
  },

  async 'evidence: a finding that the filter leaves out says so'(world) {
    const page = await opened(world, `${SERVICE}&view=evidence&finding=no-such-finding`);
    await page.locator('.empty', { hasText: 'no-such-finding' }).waitFor();
    await page.getByLabel('finding').selectOption({ index: 1 });
    await page.getByRole('heading', { name: /^Stacks/ }).waitFor();
  },

  async 'timeline: the run is a lane that leads to whom it waits for'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`);
    const run = page.locator('.run-plot canvas');
    await run.hover({ position: { x: 300, y: 12 } });
    await until('hover says whom the run waits for', async () => /^the run at .* waits for .*: /.test(await page.locator('.status-line').first().innerText()));
    await run.click({ position: { x: 300, y: 12 } });
    await page.locator('.story').waitFor();
    const first = address(page).wait;
    await page.keyboard.press('ArrowDown');
    await until('another thread', () => address(page).wait !== first);
    await page.keyboard.press('c');
    await until('C leads back to the run', () => address(page).wait?.split('-')[0] === first.split('-')[0]);
    await page.keyboard.press('t');
    const table = page.getByRole('region', { name: 'What the run was waiting for', exact: true });
    await table.waitFor();
    assert.ok((await table.getByRole('row').count()) > 3);
    await shot(page, 'timeline-run-table');
  },

  async 'share: pictures of flame graph and timeline as files'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`, { acceptDownloads: true });
    await page.locator('.run-plot canvas').waitFor();
    for (const [view, form] of [['timeline', 'SVG'], ['timeline', 'PNG'], ['flame', 'SVG']]) {
      await page.locator('.tabs button', { hasText: view === 'flame' ? 'Flame' : 'Timeline' }).click();
      await page.locator(view === 'flame' ? '.flame canvas' : '.plot canvas').waitFor();
      await page.getByRole('button', { name: 'Share' }).click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: `Save the picture as ${form}` }).click()]);
      assert.equal(download.suggestedFilename(), `locks-${view}.${form.toLowerCase()}`);
      const path = await download.path();
      const bytes = readFileSync(path);
      if (form === 'PNG') assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
      else {
        assert.match(bytes.toString(), /^<svg [^>]*viewBox/);
        assert.ok(bytes.toString().split('<rect').length > 20);
        if (process.env.SHOTS) await download.saveAs(`${process.env.SHOTS}/saved-${view}.svg`);
      }
    }
    await page.locator('.tabs button', { hasText: 'Functions' }).click();
    await page.getByRole('grid').waitFor();
    await page.getByRole('button', { name: 'Share' }).click();
    assert.equal(await page.getByRole('menuitem').count(), 1);
  },

  async 'activities: names, slowest, the timeline, and a filter for every view'(world) {
    const page = await opened(world, `${REQUESTS}&view=activities`);
    const names = page.getByRole('grid', { name: 'Activities by name' });
    await names.waitFor();
    assert.match(await names.innerText(), /p99/);
    const rightOf = async (cell) => (await cell.boundingBox()).x + (await cell.boundingBox()).width;
    const [head, value] = [await rightOf(names.getByRole('columnheader', { name: 'p50' })), await rightOf(names.getByRole('row').nth(1).getByRole('gridcell').nth(4))];
    assert.ok(Math.abs(head - value) < 2, `numbers stand under their heads: ${head}, ${value}`);
    await shot(page, 'activities');
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Show the selected one in the timeline' }).click();
    await page.locator('.plot canvas').waitFor();
    assert.ok(address(page).window);
    await shot(page, 'activities-timeline');
    await page.goBack();
    await names.waitFor();
    await page.getByRole('button', { name: 'Narrow every view to the selected name' }).click();
    await page.locator('.chip', { hasText: 'activity' }).waitFor();
    await until('one name is left', async () => (await names.getByRole('row').count()) === 2);
    await page.locator('.tabs button', { hasText: 'Flame' }).click();
    await page.locator('.flame canvas').waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goBack();
    await names.waitFor();
    assert.deepEqual(await violations(page), []);
  },

  async 'activities: a recording without them says how to record them'(world) {
    const page = await opened(world, `${SERVICE}&view=activities`);
    await page.locator('.empty', { hasText: '--activity' }).waitFor();
  },
};
