// The end-to-end tests: each is a thing that a person does with the built page.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NAMES } from './hostile.mjs';
import { address, openFile, shot, until } from './browser.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const SERVICE = '#v=1&rec=service.culprit';
const LOCKS = '#v=1&rec=locks.culprit';

/** The page with a recording of the server, once it shows. */
async function opened(world, hash, options) {
  const page = await world.openPage(hash, options);
  await page.locator('.tabs').waitFor();
  return page;
}

/** To another state of the open recording, as a person who edits the address. */
async function go(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await page.waitForTimeout(150);
}

const tab = (page, name) => page.locator('.tabs button', { hasText: name }).click();
const told = (page) => page.locator('.status-line').first().innerText();

/** What axe finds wrong. It runs beside the page's own code, which the page's policy does not bind. */
export async function violations(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { result } = await session.send('Runtime.evaluate', {
    expression: "axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ') + ' ' + n.failureSummary).slice(0, 3).join(' | '))))",
    awaitPromise: true,
    returnByValue: true,
  });
  return JSON.parse(result.value);
}

export const cases = {
  async 'opens a chosen file and shows the verdict'(world) {
    const page = await world.openPage();
    await shot(page, 'open');
    await openFile(page, join(world.folder, 'service.culprit'));
    await page.locator('.overview[aria-busy=false]').waitFor();
    assert.match(await page.locator('.verdict').innerText(), /661 ms/);
    assert.ok((await page.locator('.finding').count()) >= 3);
    assert.equal(address(page).rec, 'service.culprit');
    await shot(page, 'overview');
  },

  async 'opens a dropped file'(world) {
    const page = await world.openPage();
    const bytes = readFileSync(join(world.folder, 'service.culprit')).toString('base64');
    const transfer = await page.evaluateHandle((text) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0))], 'dropped.culprit'));
      return data;
    }, bytes);
    await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
    await page.locator('.verdict').waitFor();
    assert.equal(address(page).rec, 'dropped.culprit');
  },

  async 'refuses what is no recording, and says so'(world) {
    const page = await world.openPage();
    await page.locator('input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no recording') });
    const text = await page.locator('[role=alert]').innerText();
    assert.match(text, /could not be opened/);
    assert.match(text, /notes\.txt/);
    await shot(page, 'refused');
  },

  async 'opens a recording of the server by its button'(world) {
    const page = await world.openPage();
    await page.getByRole('button', { name: 'locks.culprit' }).click();
    await page.locator('.verdict').waitFor();
    assert.equal(address(page).rec, 'locks.culprit');
  },

  async 'back leaves the recording, forward opens it again'(world) {
    const page = await world.openPage();
    await page.getByRole('button', { name: 'service.culprit' }).click();
    await page.locator('.verdict').waitFor();
    await page.keyboard.press('4');
    await page.getByRole('grid').waitFor();
    await page.goBack();
    await page.locator('.verdict').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Open a recording' }).waitFor();
    await page.goForward();
    await page.locator('.verdict').waitFor();
    assert.equal(address(page).rec, 'service.culprit');
  },

  async 'a finding leads to its function, and its command is copied'(world) {
    const page = await opened(world, SERVICE, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy the command' }).first().click();
    await page.getByText('Command copied.').waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^culprit /);
    await page.getByRole('button', { name: 'Show in the flame graph' }).first().click();
    await page.locator('.flame canvas').waitFor();
    assert.equal(await page.locator('.chip').count(), 1);
  },

  async 'flame graph: zoom by click, back, forward, share by address'(world) {
    const page = await opened(world, `${SERVICE}&view=flame`);
    await page.locator('.flame canvas').click({ position: { x: 60, y: 70 } });
    await until('the zoom is in the address', () => address(page).zoom);
    const { zoom } = address(page);
    const description = await told(page);
    await shot(page, 'flame-zoomed');
    await page.goBack();
    await until('back undoes the zoom', () => address(page).zoom === undefined);
    await page.goForward();
    await until('forward zooms again', () => address(page).zoom === zoom);
    const shared = await opened(world, new URL(page.url()).hash);
    await shared.getByRole('button', { name: 'Zoom out' }).waitFor();
    assert.ok(description.length > 10);
  },

  async 'search tells the total of its matches and is in the address'(world) {
    const page = await opened(world, `${SERVICE}&view=flame`);
    await page.keyboard.press('/');
    await until('the search has the keyboard', () => page.evaluate(() => document.activeElement?.id === 'search'));
    await page.keyboard.type('eval');
    await page.getByText(/boxes match: .*%\)/).waitFor();
    await until('the search is in the address', () => address(page).q === 'eval');
    await shot(page, 'flame-search');
  },

  async 'the menu of a box includes, excludes, folds; undo takes it back'(world) {
    const page = await opened(world, `${SERVICE}&view=flame`);
    const before = await page.locator('.heading').innerText();
    await page.locator('.flame canvas').click({ button: 'right', position: { x: 60, y: 90 } });
    await shot(page, 'flame-menu');
    await page.getByRole('menuitem', { name: /^Exclude/ }).click();
    await page.locator('.chip').waitFor();
    assert.match(await page.locator('.chip').innerText(), /^exclude /);
    assert.ok(address(page).exc);
    await page.keyboard.press('u');
    await until('undo removes the chip', async () => (await page.locator('.chip').count()) === 0);
    assert.equal(await page.locator('.heading').innerText(), before);
    await page.keyboard.press('Shift+U');
    await page.locator('.chip').waitFor();
    await page.locator('.chip button').click();
    await until('its button removes the chip', async () => (await page.locator('.chip').count()) === 0);
  },

  async 'an empty view names the filter, and its button lifts it'(world) {
    const page = await opened(world, SERVICE);
    for (const view of ['flame', 'tree', 'functions', 'butterfly']) {
      await go(page, `${SERVICE}&view=${view}&inc=nothing-has-this-name`);
      await page.locator('.empty').waitFor();
      assert.match(await page.locator('.empty').innerText(), /nothing-has-this-name/);
      if (view === 'flame') await shot(page, 'empty');
      await page.getByRole('button', { name: 'Remove the filter include nothing-has-this-name' }).last().click();
      await until('the view shows again', async () => (await page.locator('.empty').count()) === 0);
    }
  },

  async 'a wrong pattern is shown, not logged'(world) {
    const page = await opened(world, `${SERVICE}&view=flame&inc=${encodeURIComponent('@(')}`);
    await page.locator('.empty').waitFor();
    await page.getByRole('button', { name: /^Remove the filter include/ }).last().click();
    await page.locator('.flame canvas').waitFor();
  },

  async 'functions: sorted, searched, copied, opened as butterfly'(world) {
    const page = await opened(world, `${SERVICE}&view=functions`, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('grid').waitFor();
    await page.getByRole('button', { name: 'Total', exact: true }).click();
    await until('the order is in the address', () => address(page).sort === 'total');
    await page.getByRole('button', { name: 'Copy as Markdown' }).click();
    await page.getByText(/rows copied/).waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\| Own \| Own % \|/);
    await shot(page, 'functions');
    await page.locator('.grid-body .grid-row').nth(2).dblclick();
    await page.getByRole('heading', { name: 'Callers', exact: true }).waitFor();
    await until('both sides show', async () => (await page.locator('.wing .grid-body, .wing p.soft').count()) >= 2);
    await shot(page, 'butterfly');
  },

  async 'a typed pattern and a thread of the timeline narrow every view'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`);
    await page.getByRole('button', { name: 'booker-1 (10862)' }).click();
    await page.getByRole('menuitem', { name: 'Only this thread' }).click();
    await page.locator('.chip', { hasText: 'thread booker-1 (10862)' }).waitFor();
    await until('one lane is left', async () => (await page.locator('.lane-name').count()) === 1);
    await tab(page, 'Tree');
    await page.getByLabel('Kind of filter').selectOption('exclude');
    await page.getByLabel('Pattern').fill('futex');
    await page.getByLabel('Pattern').press('Enter');
    await page.locator('.chip', { hasText: 'exclude futex' }).waitFor();
    await page.getByText(/booker-1/).last().waitFor();
    assert.equal(address(page).exc, 'futex');
  },

  async 'tree: the keyboard opens the hottest path'(world) {
    const page = await opened(world, `${SERVICE}&view=tree`);
    const grid = page.getByRole('treegrid');
    await grid.focus();
    const before = await page.locator('.grid-body .grid-row').count();
    await page.keyboard.press('Space');
    await until('rows opened', async () => (await page.locator('.grid-body .grid-row').count()) > before);
    await shot(page, 'tree');
    await page.keyboard.press('m');
    await page.getByRole('menuitem', { name: /^Include/ }).waitFor();
    await page.keyboard.press('Escape');
    await until('the menu closed', async () => (await page.getByRole('menu').count()) === 0);
  },

  async 'timeline: WASD, wheel and drag move the window'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`);
    const plot = page.locator('.plot canvas');
    await plot.waitFor();
    await shot(page, 'timeline');
    await page.keyboard.press('w');
    await until('W zooms', () => address(page).window);
    const first = address(page).window;
    await page.keyboard.press('d');
    await until('D moves', () => address(page).window !== first);
    await plot.hover({ position: { x: 300, y: 40 } });
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    const third = await until('the wheel zooms', () => address(page).window !== first && address(page).window);
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + 300, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await until('dragging pans', () => address(page).window !== third);
    assert.equal(address(page).wait, undefined);
    await page.keyboard.press('0');
    await until('0 shows all', () => address(page).window === undefined);
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await until('the button zooms', () => address(page).window);
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await until('the button shows all', () => address(page).window === undefined);
  },

  async 'timeline: a brush sets the time range of every view'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`);
    await page.locator('.plot canvas').waitFor();
    const axis = await page.locator('.axis').boundingBox();
    await page.mouse.move(axis.x + axis.width * 0.25, axis.y + 10);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width * 0.5, axis.y + 10, { steps: 5 });
    await page.mouse.up();
    await page.locator('.chip', { hasText: 'time' }).waitFor();
    const { from, to } = address(page);
    assert.ok(Number(from) < Number(to));
    await shot(page, 'timeline-brushed');
    await tab(page, 'Flame');
    await page.locator('.flame canvas').waitFor();
    await page.locator('.chip', { hasText: 'time' }).waitFor();
    await tab(page, 'Overview');
    await page.getByText('The filter narrows this overview').waitFor();
    const narrowed = await page.locator('.verdict').innerText();
    await page.getByRole('button', { name: 'Show the whole run' }).click();
    await until('the whole run has another verdict', async () => (await page.locator('.verdict').innerText()) !== narrowed);
  },

  async 'timeline: hover, the story of a wait, F follows it, Backspace returns'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`);
    const plot = page.locator('.plot canvas');
    await plot.hover({ position: { x: 400, y: 12 } });
    await until('hover shows the interval', async () => / at .*: /.test(await told(page)));
    await plot.click({ position: { x: 400, y: 12 } });
    await page.locator('.story').waitFor();
    const first = await page.locator('.story h2').innerText();
    await shot(page, 'timeline-story');
    const wait = address(page).wait;
    await page.keyboard.press('f');
    await until('F leads elsewhere', () => address(page).wait !== wait);
    await until('another story', async () => (await page.locator('.story h2').innerText()) !== first);
    await shot(page, 'timeline-followed');
    await page.keyboard.press('Backspace');
    await until('Backspace returns', () => address(page).wait === wait);
  },

  async 'timeline: idle threads are one line that opens'(world) {
    const page = await opened(world, `${LOCKS}&view=timeline`);
    const line = page.locator('.idle-line');
    assert.match(await line.innerText(), /idle threads?/);
    const before = await page.locator('.lane-name').count();
    await line.click();
    await until('their lanes show', async () => (await page.locator('.lane-name').count()) > before);
  },

  async 'by keyboard only: from the first screen to a function in the flame graph'(world) {
    const page = await world.openPage();
    await page.getByRole('button', { name: 'service.culprit' }).waitFor();
    for (let presses = 0; presses < 12; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate(() => document.activeElement?.textContent)) === 'service.culprit') break;
    }
    await page.keyboard.press('Enter');
    await page.locator('.verdict').waitFor();
    await page.keyboard.press('3');
    await page.locator('.flame canvas').waitFor();
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.className === 'flame')) break;
    }
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await until('the box is told', async () => /: total .*own/.test(await told(page)));
    await page.keyboard.press('Enter');
    await until('Enter zooms', () => address(page).zoom);
    await page.keyboard.press('m');
    await page.getByRole('menuitem', { name: 'Zoom to this box' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'include' }).waitFor();
    await page.keyboard.press('t');
    await page.getByRole('treegrid').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await shot(page, 'keys');
    await page.keyboard.press('Escape');
  },

  async 'links of another version say so'(world) {
    const page = await world.openPage('#v=9&rec=service.culprit&view=flame');
    await page.getByText('This link has version 9').waitFor();
  },

  async 'a link about a file that is not here asks for it, and keeps its view'(world) {
    const page = await world.openPage('#v=1&rec=gone.culprit&view=tree');
    await page.getByText('gone.culprit').waitFor();
    assert.equal(address(page).view, 'tree');
  },

  async 'hostile names are text'(world) {
    const page = await opened(world, '#v=1&rec=hostile.culprit');
    for (const view of ['overview', 'functions', 'tree', 'flame', 'butterfly', 'timeline', 'compare']) {
      await go(page, `#v=1&rec=hostile.culprit&view=${view}`);
      await page.locator(`.tabs [aria-current]`).waitFor();
      await page.waitForTimeout(250);
      assert.equal(await page.locator('img, #app script, #app b').count(), 0, view);
      const text = await page.locator('#app').innerText();
      assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u200b]/, view);
      assert.ok(!text.includes('x'.repeat(2000)), view);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
      assert.equal(wide, false, `${view} is wider than the window`);
    }
    assert.match(await page.title(), /Culprit$/);
    await tab(page, 'Functions');
    const rows = page.locator('.grid-body .grid-row');
    await rows.first().waitFor();
    await shot(page, 'hostile');
    const count = await rows.count();
    for (let row = 0; row < count; row += 1) {
      await rows.nth(row).click({ button: 'right' });
      await page.getByRole('menuitem', { name: /^Include/ }).click();
      await page.locator('.chip').waitFor();
      assert.equal(await page.locator('.empty').count(), 0, `include of row ${row}`);
      await page.keyboard.press('u');
      await until('undone', async () => (await page.locator('.chip').count()) === 0);
    }
    assert.ok(count >= NAMES.length);
  },

  async 'axe finds nothing, in both themes'(world) {
    for (const colorScheme of ['light', 'dark']) {
      const first = await world.openPage('', { colorScheme });
      await first.getByRole('button', { name: 'locks.culprit' }).waitFor();
      assert.deepEqual(await violations(first), [], `${colorScheme} first screen`);
      await first.context().close();
      const page = await opened(world, LOCKS, { colorScheme });
      for (const rest of ['overview', 'timeline', 'timeline&table=1', 'flame&q=a', 'flame&table=1', 'functions', 'tree', 'butterfly', 'compare', 'compare&with=service.culprit', 'compare&with=service.culprit&table=1', 'activities', 'evidence', 'flame&inc=nothing-here']) {
        await go(page, `${LOCKS}&view=${rest}`);
        await page.locator('.view, .empty').first().waitFor();
        await until('the view is there', async () => (await page.locator('.waiting').count()) === 0);
        assert.deepEqual(await violations(page), [], `${colorScheme} ${rest}`);
        if (colorScheme === 'dark') await shot(page, `dark-${rest.replace(/\W/g, '-')}`);
      }
      await page.context().close();
    }
  },

  async 'the theme switch wins over the system'(world) {
    const page = await opened(world, SERVICE, { colorScheme: 'dark' });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.getByRole('button', { name: 'Theme: system. Switch' }).click();
    assert.notEqual(await ground(), dark);
    await page.reload();
    await page.locator('.tabs').waitFor();
    assert.notEqual(await ground(), dark);
  },

  async 'fits a phone'(world) {
    const page = await opened(world, LOCKS, { viewport: { width: 360, height: 740 }, hasTouch: true, reducedMotion: 'reduce' });
    for (const view of ['overview', 'timeline', 'flame', 'functions', 'tree', 'butterfly', 'compare', 'activities', 'evidence']) {
      await go(page, `${LOCKS}&view=${view}`);
      await page.locator('.view, .empty').first().waitFor();
      await page.waitForTimeout(150);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      await shot(page, `phone-${view}`);
      assert.ok(wide <= 361, `${view}: ${wide} px wide`);
    }
  },
};
