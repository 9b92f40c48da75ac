// Pictures as SVG.

import { expect, test } from 'vitest';
import { SvgPen } from './svg';

test('calls become elements in their order', () => {
  const pen = new SvgPen(100, 40);
  pen.fillStyle = '#123456';
  pen.fillRect(0, 1.005, 50, 20);
  pen.globalAlpha = 0.35;
  pen.strokeStyle = 'red';
  pen.strokeRect(1, 2, -3, 4);
  const lines = pen.file('a run').split('\n');
  expect(lines[0]).toContain('viewBox="0 0 100 40"');
  expect(lines.slice(1, 4)).toEqual([
    '<title>a run</title>',
    '<rect x="0" y="1" width="50" height="20" fill="#123456"/>',
    '<rect x="1" y="2" width="0" height="4" fill="none" stroke="red" stroke-width="1" opacity="0.35"/>',
  ]);
});

test('names of the recorded program stay text', () => {
  const pen = new SvgPen(10, 10);
  pen.fillText('</text><script>alert("1")</script>\u0001&', 1, 2);
  const text = pen.file('<b>');
  expect(text).not.toMatch(/<script|<b>|\u0001/);
  expect(text).toContain('&#60;/text&#62;&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#38;</text>');
});
