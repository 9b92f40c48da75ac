// Windows, ticks and bars.

import { expect, test } from 'vitest';
import { recordingPen } from '../../testing/pen';
import { draw } from './draw';
import { NO_THREAD } from '../../worker/protocol';
import { barAt, clamp, covers, fetched, laneRows, pan, placeOf, runLane, SHORTEST, shownRows, sums, ticks, timeOf, zoom } from './layout';

const END = 1000;

test('windows stay in the recording and keep the zoomed place', () => {
  expect(zoom([0, 1000], 0.5, 0.25, END)).toEqual([125, 625]);
  expect(timeOf(zoom([0, 1000], 0.5, 0.25, END), 0.25)).toBe(250);
  expect(zoom([200, 700], 4, 0.5, END)).toEqual([0, 1000]);
  expect(zoom([0, 1000], 1e-9, 0.5, END)).toEqual([500 - SHORTEST / 2, 500 + SHORTEST / 2]);
  expect(pan([0, 500], -1, END)).toEqual([0, 500]);
  expect(pan([0, 500], 0.5, END)).toEqual([250, 750]);
  expect(clamp([900, 1500], END)).toEqual([400, 1000]);
  expect(clamp([0, 0], 0)).toEqual([0, SHORTEST]);
  expect(placeOf([100, 300], 150)).toBe(0.25);
});

test('what was fetched serves until it is left or too coarse', () => {
  const have = fetched([400, 600], END);
  expect(have).toEqual([300, 700]);
  expect([covers(have, [400, 600]), covers(have, [320, 520]), covers(have, [250, 450]), covers(have, [450, 550])]).toEqual([true, true, false, false]);
});

test('ticks are round and few', () => {
  expect(ticks([0, 1000], 5)).toEqual({ step: 200, times: [0, 200, 400, 600, 800, 1000] });
  expect(ticks([130, 190], 4).times).toEqual([140, 160, 180]);
});

test('rows under a scroll position', () => {
  expect(shownRows(100, 50, 100, 24)).toEqual([2, 7]);
  expect(shownRows(3, 0, 100, 24)).toEqual([0, 3]);
});

const lanes = {
  thread: Uint32Array.from([7, 9]),
  first: Uint32Array.from([0, 2, 3]),
  x0: Float32Array.from([0, 60, 20]),
  x1: Float32Array.from([40, 100, 30]),
  cause: Uint8Array.from([0, 1, 1]),
};

test('the bar at a place, and time by cause', () => {
  expect([barAt(lanes, 0, 10), barAt(lanes, 0, 50), barAt(lanes, 0, 60), barAt(lanes, 1, 25), barAt(lanes, 1, 30)]).toEqual([0, -1, 1, 2, -1]);
  expect([...sums(lanes, 0, [0, 1000], 100, [200, 700])]).toEqual([[0, 200], [1, 100]]);
});

const causes = [
  { colour: 'green', group: 'running' as const, word: 'cpu.user' },
  { colour: 'red', group: 'blocked' as const, word: 'blocked.lock' },
];
const look = { width: 200, height: 46, rowHeight: 23, font: 'f', sign: 5, ground: 'ground', line: 'line', text: 'dark', focus: 'focus' };
const noRun = { thread: Uint32Array.of(), x0: Float32Array.of(), x1: Float32Array.of(), cause: Uint8Array.of() };
const scene = { lanes, have: [0, 1000] as const, pixels: 100, window: [0, 1000] as const, causes, run: noRun, laneOfRow: laneRows(lanes) };

test('height shows the group; a selection is outlined', () => {
  const pen = recordingPen();
  draw(pen, { ...scene, rows: [0, 1], selected: { lane: 0, from: 600, to: 1000 }, range: [500, null] }, look);
  expect(pen.log).toEqual(['fill ground 0 0 200 46', 'fill green 0 1 80 20', 'text cpu.user 4 11', 'fill red 120 13.8 80 7.2', 'fill line 0 22 200 1', 'fill ground 0 0 100 46', 'outline focus 120 1 80 20']);
});

// The path: thread 7 up to 40, thread 9 for two pixels of 200, thread 7 again, then one without a lane.
const run = {
  thread: Uint32Array.of(7, 9, 7, NO_THREAD),
  x0: Float32Array.of(0, 40, 60, 80),
  x1: Float32Array.of(40, 60, 80, 100),
  cause: Uint8Array.of(0, 1, 0, 1),
};

test('the path runs along the foot of its lanes, and a line leads from lane to lane', () => {
  const pen = recordingPen();
  draw(pen, { ...scene, run, rows: [0, 2], selected: null, range: [null, null] }, look);
  const path = pen.log.filter((call) => call.startsWith('fill focus'));
  expect(path).toEqual([
    'fill focus 0 19 80 3',
    'fill focus 80 42 40 3',
    'fill focus 80 19 1 26',
    'fill focus 120 19 40 3',
    'fill focus 120 19 1 26',
  ]);
});

test('lines between lanes are left out where stretches are too short to follow', () => {
  const pen = recordingPen();
  const dense = { thread: Uint32Array.of(7, 9, 7), x0: Float32Array.of(0, 10, 11), x1: Float32Array.of(10, 11, 90), cause: Uint8Array.of(0, 0, 0) };
  draw(pen, { ...scene, run: dense, rows: [0, 2], selected: null, range: [null, null] }, look);
  expect(pen.log.filter((call) => call.startsWith('fill focus'))).toEqual(['fill focus 0 19 20 3', 'fill focus 20 42 2 3', 'fill focus 22 19 158 3']);
});

test('the run is one lane, asked like the others', () => {
  expect([barAt(runLane(run), 0, 41), barAt(runLane(run), 0, 100)]).toEqual([1, -1]);
  expect([...laneRows(lanes)]).toEqual([[7, 0], [9, 1]]);
});
