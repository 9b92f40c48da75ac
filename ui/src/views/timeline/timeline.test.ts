// Windows, ticks and bars.

import { expect, test } from 'vitest';
import { recordingPen } from '../../testing/pen';
import { draw } from './draw';
import { barAt, clamp, covers, fetched, pan, placeOf, SHORTEST, shownRows, sums, ticks, timeOf, zoom } from './layout';

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

test('height shows the group; a selection is outlined', () => {
  const pen = recordingPen();
  const causes = [
    { colour: 'green', group: 'running' as const, word: 'cpu.user' },
    { colour: 'red', group: 'blocked' as const, word: 'blocked.lock' },
  ];
  const look = { width: 200, height: 46, rowHeight: 23, font: 'f', sign: 5, ground: 'ground', line: 'line', text: 'dark', focus: 'focus' };
  draw(pen, { lanes, have: [0, 1000], pixels: 100, window: [0, 1000], causes, rows: [0, 1], selected: { lane: 0, from: 600, to: 1000 }, range: [500, null] }, look);
  expect(pen.log).toEqual(['fill ground 0 0 200 46', 'fill green 0 1 80 20', 'text cpu.user 4 11', 'fill red 120 13.8 80 7.2', 'fill line 0 22 200 1', 'fill ground 0 0 100 46', 'outline focus 120 1 80 20']);
});
