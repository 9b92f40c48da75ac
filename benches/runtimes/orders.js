// As orders.py: `node orders.js cpu|mixed COUNT FILE PIECE`.
'use strict';
const fs = require('node:fs');

const LINES = Array.from({ length: 64 }, (_, line) =>
  Array.from({ length: 20 }, (_, part) => line * 37 + part * 11).join(','));
const CELL = new Int32Array(new SharedArrayBuffer(4));

function parse(line) {
  return line.split(',').map((part) => parseInt(part, 10));
}

function price(parts) {
  let total = 0;
  for (const part of parts) total = (total * 31 + part) % 1000003;
  return total;
}

function handle(number, totals) {
  const key = price(parse(LINES[number % 64])) % 997;
  totals.set(key, (totals.get(key) ?? 0) + 1);
}

function handleAll(first, count, totals) {
  for (let number = first; number < first + count; number++) handle(number, totals);
}

function mix(begin, count, path, totals) {
  for (let first = begin; first < begin + count; first += 250) {
    handleAll(first, 250, totals);
    fs.readFileSync(path);
    Atomics.wait(CELL, 0, 0, 1);
  }
}

const [part, count, path, piece] = process.argv.slice(2);
const totals = new Map();
for (let first = 0; first < Number(count); first += Number(piece)) {
  if (part === 'cpu') handleAll(first, Number(piece), totals);
  else mix(first, Number(piece), path, totals);
  fs.writeSync(1, `${totals.size}\n`);
}
