// A canvas that follows its element's size, the screen's sharpness and the theme. It draws at most
// once a frame, however often it is asked to.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { THEME_EVENT } from './theme';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of an element, kept up to date. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, set] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return;
    const measure = () => set({ width: box.clientWidth, height: box.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  return size;
}

/** Counts up when the theme changes, so that what read its colours reads them again. */
export function useTheme(): number {
  const [turn, set] = useState(0);
  useEffect(() => {
    const changed = () => set((old) => old + 1);
    window.addEventListener(THEME_EVENT, changed);
    return () => window.removeEventListener(THEME_EVENT, changed);
  }, []);
  return turn;
}

export type Paint = (pen: CanvasRenderingContext2D, sharpness: number) => void;

/** Paints a canvas in the next frame after each rendering. */
export function useCanvas(canvas: RefObject<HTMLCanvasElement | null>, size: Size, paint: Paint): void {
  const last = useRef(paint);
  last.current = paint;
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const element = canvas.current;
      const pen = element?.getContext('2d', { alpha: false });
      if (!element || !pen || size.width === 0) return;
      const sharpness = Math.min(window.devicePixelRatio || 1, 2);
      const width = Math.round(size.width * sharpness);
      const height = Math.round(size.height * sharpness);
      if (element.width !== width) element.width = width;
      if (element.height !== height) element.height = height;
      pen.setTransform(sharpness, 0, 0, sharpness, 0, 0);
      last.current(pen, sharpness);
    });
    return () => cancelAnimationFrame(frame);
  });
}

/** The font of canvases: its signs are equally wide, so that text is cut without measuring it. */
export const CANVAS_FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

let sign = 0;

/** The width of one sign of the canvases' font. */
export function signWidth(): number {
  if (sign > 0) return sign;
  const pen = document.createElement('canvas').getContext('2d');
  if (pen === null) return 7.3;
  pen.font = CANVAS_FONT;
  sign = pen.measureText('0'.repeat(50)).width / 50;
  return sign;
}
