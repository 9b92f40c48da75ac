// What both canvases share: the tooltip, sharp pixels, and colours from the style sheet.

const tip = document.getElementById("tip");

function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** Shows `parts` (elements) beside the pointer, inside the window. */
function showTip(event, parts) {
  tip.replaceChildren(...parts);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 14 + width > innerWidth ? event.clientX - width - 10 : event.clientX + 14;
  const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

function hideTip() { tip.hidden = true; }

/** A small table: one row an entry of `[label, value]`. */
function tipTable(rows) {
  const table = element("table");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((cell) => line.append(element("td", cell)));
    table.append(line);
  }
  return table;
}

/** The largest causes of `by` in words. */
function causeRows(by, whole) {
  return [...by].sort((a, b) => b[1] - a[1]).slice(0, 5)
    .map(([cause, ns]) => [CAUSES[cause].word, duration(ns), percent(ns / whole)]);
}

/** A canvas context in CSS pixels, sharp on any screen. */
function sharp(canvas, height) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width };
}

function styleColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const FONT = getComputedStyle(document.body).fontFamily;
const MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** `text`, or as much of its two ends as fits: the end of a thread's name is its number. */
function clipped(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  for (let left = text.length - 1; left > 8; left--) {
    const tail = Math.min(9, left >> 1);
    const short = `${text.slice(0, left - tail)}…${text.slice(-tail)}`;
    if (context.measureText(short).width <= width) return short;
  }
  return text.slice(0, 4);
}

/** The longest beginning of `text` that fits, by the width of one character of a fixed font. */
function fit(text, width, character) {
  const room = Math.floor(width / character);
  if (text.length <= room) return text;
  return room < 3 ? "" : `${text.slice(0, room - 1)}…`;
}
