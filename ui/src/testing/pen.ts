// A canvas that writes down what it is asked to draw.

import type { Pen } from '../views/flame/draw';

export function recordingPen(): Pen & { log: string[] } {
  const log: string[] = [];
  const numbers = (values: number[]) => values.map((value) => Math.round(value * 10) / 10).join(' ');
  return {
    log,
    fillStyle: '',
    strokeStyle: '',
    lineWidth: 1,
    font: '',
    textBaseline: 'middle',
    globalAlpha: 1,
    fillRect(...box) {
      log.push(`fill ${String(this.fillStyle)} ${numbers(box)}`);
    },
    strokeRect(...box) {
      log.push(`outline ${String(this.strokeStyle)} ${numbers(box)}`);
    },
    fillText(text, x, y) {
      log.push(`text ${text} ${numbers([x, y])}`);
    },
  };
}
