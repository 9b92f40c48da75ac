// The engine in the browser against the command line: the same filters must keep the same rows. The filters
// are random, from a seed (SEED, else 1), so that nobody has to think of the odd ones. No browser is needed:
// Node runs the same WebAssembly.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM } from './oneFileCases.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const GLUE = here('../pkg/culprit_wasm.js');
const ENGINE = here('../pkg/culprit_wasm_bg.wasm');

/** How many filters are tried, over all recordings. */
const FILTERS = 200;

/** Numbers from 0 to 1 of a seed (mulberry32), so that a failure can be repeated. */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What filters of a recording can be made of. */
function material(session) {
  session.filter('{"metric":"wall"}');
  const names = session.names().filter((name) => /^[\w.\-[\]]+![\w.]+$/.test(name));
  const threads = JSON.parse(session.threads());
  return {
    functions: names.map((name) => name.split('!')[1]),
    modules: [...new Set(names.map((name) => name.split('!')[0]))],
    threads: threads.map((one) => `${one.name} (${one.tid})`).filter((name) => /^[\w\- ()]+$/.test(name)),
    processes: threads.map((one) => `${one.process} (${one.pid})`).filter((name) => /^[\w\- ().]+$/.test(name)),
    causes: JSON.parse(session.facts()).causes.map((cause) => cause.word),
    presets: JSON.parse(session.presets('')),
    wall: JSON.parse(session.facts()).recording.wall_ns,
  };
}

/** A random filter, as the page's engine reads it. */
function randomFilter(random, of) {
  const one = (list) => list[Math.floor(random() * list.length)];
  const some = (chance) => random() < chance;
  const pattern = () => (some(0.3) ? `^${one(of.modules)}!` : some(0.2) ? one(of.modules) : one(of.functions).slice(0, 3 + Math.floor(random() * 12)));
  const filter = {};
  if (some(0.8)) filter.metric = one(['run', 'wall', 'cpu', 'blocked', 'runnable', 'waits', 'faults', ...of.causes]);
  if (some(0.3)) filter.from = Math.floor(random() * of.wall * 0.6);
  if (some(0.3)) filter.to = Math.floor((filter.from ?? 0) + 1 + random() * of.wall * 0.6);
  if (some(0.25)) filter.thread = some(0.5) ? one(of.threads) : one(of.threads).split(' ')[0];
  if (some(0.1)) filter.process = one(of.processes);
  if (some(0.35)) filter.include = some(0.3) ? `${pattern()};${pattern()}` : pattern();
  if (some(0.35)) filter.exclude = pattern();
  if (some(0.35)) filter.fold = some(0.3) ? `${pattern()};^[kernel]!` : pattern();
  if (some(0.25)) filter.group = some(0.5) ? one(of.presets).group : `${pattern()}->together`;
  if (some(0.2)) filter.fold_pct = Math.round(random() * 50) / 10;
  return filter;
}

const exact = (ns) => `${Math.floor(ns / 1e9)}.${String(ns % 1e9).padStart(9, '0')}s`;

/** The filter as options of the command line. */
function options(filter) {
  const words = { metric: 'metric', thread: 'thread', process: 'process', include: 'inc', exclude: 'exc', fold: 'fold', group: 'group', fold_pct: 'fold-pct' };
  const given = Object.entries(filter).map(([field, value]) => `--${words[field] ?? field}=${field === 'from' || field === 'to' ? exact(value) : value}`);
  return [...given, '--limit=0', '--json'];
}

const row = (name, own, total, count) => `${name}: own ${own}, total ${total}, count ${count}`;

/** The rows of the page's engine, or why it refuses. */
function ofPage(session, filter) {
  try {
    const left = JSON.parse(session.filter(JSON.stringify(filter)));
    const names = session.names();
    const { name, own, total, count } = session.functions();
    const rows = [...name].map((number, at) => row(names[number], own[at], total[at], count[at]));
    return { total: left.total, rows: rows.sort() };
  } catch (error) {
    return { refused: String(error.message ?? error) };
  }
}

/** The rows of the command line, or why it refuses. That a metric has no values is an error there. */
function ofProgram(recording, filter) {
  const found = spawnSync(PROGRAM, ['top', recording, ...options(filter)], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (found.stderr.startsWith('error: nothing to show: ')) return { total: 0, rows: [] };
  if (found.status !== 0) return { refused: found.stderr };
  const { total, rows } = JSON.parse(found.stdout);
  return { total, rows: rows.map((one) => row(one.name, one.own, one.inc, one.count)).sort() };
}

async function engine() {
  const { initSync, Session } = await import(GLUE);
  initSync({ module: readFileSync(ENGINE) });
  return (path) => new Session(path, readFileSync(path));
}

const written = {
  async 'filters: 200 random ones keep the rows of the command line'(world) {
    const open = await engine();
    const random = numbers(Number(process.env.SEED ?? 1));
    const recordings = ['requests.culprit'].map((name) => join(world.folder, name));
    const sessions = recordings.map(open);
    const materials = sessions.map(material);
    const seen = { rows: 0, empty: 0, refused: 0 };
    for (let nth = 0; nth < FILTERS; nth += 1) {
      const at = nth % recordings.length;
      const filter = randomFilter(random, materials[at]);
      const [page, program] = [ofPage(sessions[at], filter), ofProgram(recordings[at], filter)];
      const what = `filter ${nth} of ${recordings[at]}: ${JSON.stringify(filter)}`;
      assert.equal(page.refused === undefined, program.refused === undefined, `${what}\npage: ${page.refused}\nprogram: ${program.refused}`);
      if (page.refused !== undefined) seen.refused += 1;
      else {
        assert.deepEqual(page, program, what);
        seen[page.rows.length > 0 ? 'rows' : 'empty'] += 1;
      }
    }
    // Filters that all leave nothing would prove nothing.
    assert.ok(seen.rows > FILTERS / 3, JSON.stringify(seen));
    console.log(`     ${JSON.stringify(seen)}`);
  },

  async 'activities: the page has the rows of the command line'(world) {
    const open = await engine();
    const recording = join(world.folder, 'requests.culprit');
    const program = JSON.parse(execFileSync(PROGRAM, ['activities', recording, '--json'], { encoding: 'utf8' }));
    const page = JSON.parse(open(recording).activities());
    assert.ok(program.rows.length > 0);
    assert.deepEqual(page.rows, program.rows);
    assert.deepEqual(page.slowest.slice(0, program.slowest.length), program.slowest);
  },
};

/** Why these cannot run here; none where they can. */
function missing() {
  if (!existsSync(PROGRAM)) return `there is no ${PROGRAM}. Set CULPRIT to the program`;
  if (!existsSync(GLUE)) return 'there is no wasm package: npm run wasm -- FOLDER';
  const built = readFileSync(here('../dist/assets/culprit_wasm_bg.wasm'));
  return built.equals(readFileSync(ENGINE)) ? null : 'the wasm package is not that of the built page: npm run build';
}

const why = missing();
export const filterCases = why === null ? written : {};
if (why !== null) console.log(`skipped: filters against the command line; ${why}`);
