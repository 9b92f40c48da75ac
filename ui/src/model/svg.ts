// A picture of what a view draws, as SVG: the same calls as those of a canvas, written down.

/** Text as SVG reads it. Signs that XML forbids are left out. */
function escaped(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

const short = (value: number): string => String(Math.round(value * 100) / 100);

/** A pen that writes SVG. What is drawn past its edges is cut. */
export class SvgPen {
  fillStyle: string | CanvasGradient | CanvasPattern = '#000';
  strokeStyle: string | CanvasGradient | CanvasPattern = '#000';
  lineWidth = 1;
  font = '';
  textBaseline: CanvasTextBaseline = 'middle';
  globalAlpha = 1;
  readonly #parts: string[] = [];
  readonly #width: number;
  readonly #height: number;

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.#parts.push(`<rect ${box(x, y, width, height)} fill="${this.#colour(this.fillStyle)}"${this.#alpha()}/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.#parts.push(`<rect ${box(x, y, width, height)} fill="none" stroke="${this.#colour(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"${this.#alpha()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    this.#parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${this.#colour(this.fillStyle)}"${this.#alpha()}>${escaped(text)}</text>`);
  }

  /** The whole file, with a title that browsers and screen readers tell. */
  file(title: string): string {
    const size = `width="${short(this.#width)}" height="${short(this.#height)}" viewBox="0 0 ${short(this.#width)} ${short(this.#height)}"`;
    const font = 'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12" dominant-baseline="central"';
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>\n<title>${escaped(title)}</title>\n${this.#parts.join('\n')}\n</svg>\n`;
  }

  #colour(style: unknown): string {
    return escaped(typeof style === 'string' ? style : '#000');
  }

  #alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : '';
  }
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${short(x)}" y="${short(y)}" width="${short(Math.max(width, 0))}" height="${short(Math.max(height, 0))}"`;
}
