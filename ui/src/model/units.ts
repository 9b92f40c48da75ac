// Quantities and how people read them. The texts are those of the command line, so that a number
// can be searched for in both. Times are whole nanoseconds since the recording's start.

declare const unit: unique symbol;
/** A number that means one thing only; plain numbers do not fit by accident. */
type Branded<Name extends string> = number & { readonly [unit]?: Name };

/** Nanoseconds: a length, or a time since the recording's start. */
export type Ns = Branded<'ns'>;
/** A name's place in the engine's list of names. */
export type NameId = Branded<'name'>;
/** The kernel's number of a thread. */
export type Tid = Branded<'tid'>;
/** A cause's number in the columns. */
export type CauseId = Branded<'cause'>;

/** The number for a node without a main cause. */
export const NO_CAUSE: CauseId = 255;

const TIME_STEPS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
] as const;

/** `3.05 s`, `12.5 ms`, `830 ns`. */
export function time(ns: Ns): string {
  const size = Math.abs(ns);
  for (const [step, word] of TIME_STEPS) {
    if (size >= step) return `${threeDigits(ns / step)} ${word}`;
  }
  return `${Math.round(ns)} ns`;
}

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/** `97 %`, `4.2 %`, `<0.1 %`. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.05) return '<0.1 %';
  return value >= 9.95 || value <= 0 ? `${value.toFixed(0)} %` : `${value.toFixed(1)} %`;
}

/** Three significant digits, whole numbers as such. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (Math.abs(value - Math.round(value)) < 1e-9 || size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return size >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
}

/** `12.5 KiB`. */
export function bytes(value: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let scaled = value;
  let at = 0;
  while (Math.abs(scaled) >= 1024 && at + 1 < units.length) {
    scaled /= 1024;
    at += 1;
  }
  return `${number(scaled)} ${units[at]}`;
}

/** A value of a unit as people read it. */
export function measured(value: number, unitWord: string): string {
  switch (unitWord) {
    case 'ns':
      return time(value);
    case 'bytes':
      return bytes(value);
    case 'share':
      return percent(value);
    case '1/s':
      return `${number(value)} /s`;
    case 'count':
    case '':
      return number(value);
    case 'factor':
      return `x ${value.toFixed(2)}`;
    case 'ratio':
      return `${value.toFixed(2)} x`;
    case 'magic':
      return `0x${Math.round(value).toString(16)}`;
    default:
      return `${number(value)} ${unitWord}`;
  }
}

/** `2.1 s – 3.4 s`: a time range, each end with the digits that its length needs. */
export function range(from: Ns, to: Ns): string {
  const step = (to - from) / 100;
  return `${timeAt(from, step, to)} – ${timeAt(to, step)}`;
}

/** A time on an axis, with as many digits as a step of the axis needs, in the unit that fits `largest`. */
export function timeAt(at: Ns, step: Ns, largest: Ns = at): string {
  const [scale, word] = TIME_STEPS.find(([size]) => largest >= size) ?? [1, 'ns'];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / Math.max(step, 1)) - 1e-9)));
  return `${(at / scale).toFixed(scale === 1 ? 0 : digits)} ${word}`;
}
