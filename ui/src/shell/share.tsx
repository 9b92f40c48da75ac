// What leaves the page: the link to what shows, and pictures of flame graphs and timelines.

import { useEffect } from 'preact/hooks';
import { SvgPen } from '../model/svg';
import type { Pen } from '../views/flame/draw';
import { copy } from './copy';
import { usePage, type Page } from './page';

/** A view that can be drawn on another pen than its canvas. */
export interface Picture {
  /** The view, for the file's name. */
  readonly name: string;
  readonly width: number;
  /** All of its height, also what is scrolled away. */
  readonly height: number;
  paint(pen: Pen): void;
}

export const PICTURE_FORMS = ['svg', 'png'] as const;
export type PictureForm = (typeof PICTURE_FORMS)[number];

/** A browser's canvas has limits; a picture that is taller is refused by some of them. */
const TALLEST_PNG = 16_000;

/** Offers a picture while a view shows. */
export function usePicture(picture: Picture): void {
  const page = usePage();
  useEffect(() => {
    page.picture.current = picture;
    return () => {
      if (page.picture.current === picture) page.picture.current = null;
    };
  });
}

export async function copyLink(say: (text: string) => void): Promise<void> {
  const done = await copy(location.href);
  if (!done) return say('The browser refused to copy.');
  say(location.protocol === 'file:' ? 'Link copied. It is for this file, in its place.' : 'Link copied. It works in this browser while culprit view runs.');
}

/** Saves what shows as a file. */
export function savePicture(page: Page, form: PictureForm): void {
  const picture = page.picture.current;
  if (picture === null) return page.say('This view has no picture. Flame graphs and timelines have; tables can be copied as text.');
  const name = `${page.recording.name.replace(/\.culprit$/, '')}-${picture.name}.${form}`;
  const saved = (blob: Blob | null) => {
    if (blob === null) return page.say('The browser could not make the picture.');
    save(blob, name);
    page.say(`Saved as ${name}.`);
  };
  if (form === 'svg') {
    const pen = new SvgPen(picture.width, picture.height);
    picture.paint(pen);
    return saved(new Blob([pen.file(`${page.recording.name}: ${picture.name}`)], { type: 'image/svg+xml' }));
  }
  const canvas = document.createElement('canvas');
  const sharpness = picture.height * 2 > TALLEST_PNG ? 1 : 2;
  canvas.width = picture.width * sharpness;
  canvas.height = Math.min(picture.height * sharpness, TALLEST_PNG);
  const pen = canvas.getContext('2d');
  if (pen === null) return saved(null);
  pen.scale(sharpness, sharpness);
  picture.paint(pen);
  canvas.toBlob(saved, 'image/png');
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function ShareButton() {
  const page = usePage();
  const open = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const pictures = page.picture.current === null ? [] : PICTURE_FORMS;
    page.menu({
      x: box.left,
      y: box.bottom + 4,
      title: 'Share what shows',
      items: [
        { label: 'Copy the link', act: () => void copyLink(page.say) },
        ...pictures.map((form) => ({ label: `Save the picture as ${form.toUpperCase()}`, act: () => savePicture(page, form) })),
      ],
    });
  };
  return (
    <button type="button" aria-haspopup="menu" onClick={open}>
      Share
    </button>
  );
}
