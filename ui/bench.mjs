// Measures the built page: compressed sizes, and for each recording the time to the first view, of
// filters, of pan and zoom frames, and the memory of the page. Medians; nothing is a gate.
// Use: npm run bench -- RECORDING.culprit ...

import { readFileSync, readdirSync, statSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { serve } from './scripts/serve.mjs';

const dist = fileURLToPath(new URL('./dist', import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const ROUNDS = Number(process.env.ROUNDS ?? 5);

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
const KB = (bytes) => `${(bytes / 1000).toFixed(1)} kB`.padStart(11);
const ms = (value) => `${value.toFixed(1)} ms`;

function sizes() {
  const files = readdirSync(dist, { recursive: true }).filter((name) => statSync(join(dist, name)).isFile() && !name.endsWith('manifest.json'));
  const sum = [0, 0, 0];
  console.log(`${'file'.padEnd(34)}${'plain'.padStart(11)}${'gzip -9'.padStart(11)}${'brotli'.padStart(11)}`);
  for (const name of files.sort()) {
    const bytes = readFileSync(join(dist, name));
    const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
    const row = [bytes.length, gzipSync(bytes, { level: 9 }).length, brotli.length];
    row.forEach((size, at) => (sum[at] += size));
    console.log(name.padEnd(34) + row.map(KB).join(''));
  }
  console.log('all'.padEnd(34) + sum.map(KB).join(''));
}

/** Opens a file; gives the times from the choice to the first view and to the findings. */
async function open(browser, url, path) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(url);
  await page.locator('input[type=file]').waitFor();
  await page.evaluate(() => {
    const shows = (selector) =>
      new Promise((done) => {
        const watch = new MutationObserver(() => {
          if (document.querySelector(selector) === null) return;
          watch.disconnect();
          done(performance.now());
        });
        watch.observe(document.body, { childList: true, subtree: true, attributeFilter: ['aria-busy'] });
      });
    globalThis.views = new Promise((done) => {
      void Promise.all([shows('.verdict'), shows('.overview[aria-busy=false]')]).then(done);
      document.querySelector('input[type=file]').addEventListener('change', () => (globalThis.chosen = performance.now()), { capture: true });
    });
  });
  await page.locator('input[type=file]').setInputFiles(path, { timeout: 120_000 });
  const took = await page.evaluate(() => globalThis.views.then((times) => times.map((at) => at - globalThis.chosen)));
  return { page, took };
}

/** The time from a change of the address to the answer on the page. */
function change(page, hash) {
  return page.evaluate(async (to) => {
    const busy = () => document.querySelector('.view[aria-busy=true], .waiting') !== null;
    const begun = performance.now();
    return new Promise((done) => {
      let seen = false;
      const look = () => {
        seen ||= busy();
        if (!seen || busy()) return;
        watch.disconnect();
        done(performance.now() - begun);
      };
      const watch = new MutationObserver(look);
      watch.observe(document.body, { subtree: true, childList: true, attributeFilter: ['aria-busy'] });
      location.hash = to;
    });
  }, hash);
}

/** Lengths of frames while keys pan and zoom the timeline. */
function frames(page) {
  return page.evaluate(async () => {
    const lengths = [];
    let last = performance.now();
    for (let at = 0; at < 120; at += 1) {
      const key = at < 20 ? 'w' : at % 40 < 20 ? 'd' : 'a';
      window.dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true }));
      await new Promise((next) => requestAnimationFrame(next));
      const now = performance.now();
      lengths.push(now - last);
      last = now;
    }
    return lengths;
  });
}

/** Resident memory of the largest renderer process. */
async function memory(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const resident = ({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0) / 1000;
  return Math.max(...processInfo.filter(({ type }) => type === 'renderer').map(resident));
}

async function measure(path) {
  const name = basename(path);
  const server = await serve(null);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const first = [];
  let page;
  for (let round = 0; round < Math.min(ROUNDS, 3); round += 1) {
    await page?.close();
    const opened = await open(browser, server.url, path);
    first.push(opened.took);
    page = opened.page;
  }
  const base = `#v=1&rec=${encodeURIComponent(name)}`;
  const filters = { include: '&inc=read', exclude: '&exc=write', fold: '&fold=libc', range: '&from=100000000&to=900000000', wall: '&metric=wall' };
  const [view, findings] = [0, 1].map((at) => ms(median(first.map((took) => took[at]))));
  console.log(`\n${name}, ${KB(statSync(path).size).trim()}\n  open to first view   ${view}\n  open to findings     ${findings}`);
  await change(page, `${base}&view=flame`);
  for (const [kind, filter] of Object.entries(filters)) {
    const times = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round > 0) await change(page, `${base}&view=flame`);
      times.push(await change(page, `${base}&view=flame${filter}`));
    }
    await change(page, `${base}&view=flame`);
    console.log(`  ${`filter: ${kind}`.padEnd(21)}${ms(median(times))}`);
  }
  console.log(`  ${'timeline, first'.padEnd(21)}${ms(await change(page, `${base}&view=timeline`))}`);
  const lengths = await frames(page);
  const late = [...lengths].sort((a, b) => a - b)[Math.floor(lengths.length * 0.95)];
  console.log(`  ${'pan, zoom: a frame'.padEnd(21)}${ms(median(lengths))}, 95 % within ${ms(late)}`);
  console.log(`  ${'memory of the page'.padEnd(21)}${(await memory(browser)).toFixed(0)} MB`);
  await browser.close();
  server.stop();
}

sizes();
console.log(`\n${cpus().length} CPUs, load ${loadavg()[0].toFixed(1)}`);
for (const path of process.argv.slice(2)) await measure(path);
