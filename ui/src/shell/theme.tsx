// Light and dark: as the system says, unless the reader chose one.

import { useEffect, useState } from 'preact/hooks';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const KEY = 'culprit-theme';

function stored(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

/** Applies a theme, and tells those who draw by themselves. */
function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event(THEME_EVENT));
}

/** Canvases listen to this: they read their colours anew. */
export const THEME_EVENT = 'culprit-theme';

export function restoreTheme(): void {
  apply(current);
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', () => window.dispatchEvent(new Event(THEME_EVENT)));
}

let current = stored();

/** Goes from the system's theme to light, to dark, and back. */
export function turnTheme(): void {
  current = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? 'system';
  try {
    localStorage.setItem(KEY, current);
  } catch {
    // A page that may not keep anything still switches.
  }
  apply(current);
}

export function ThemeSwitch() {
  const [theme, set] = useState(current);
  useEffect(() => {
    const changed = () => set(current);
    window.addEventListener(THEME_EVENT, changed);
    return () => window.removeEventListener(THEME_EVENT, changed);
  }, []);
  return (
    <button type="button" onClick={turnTheme} aria-label={`Theme: ${theme}. Switch`} title={`Theme: ${theme}`}>
      ◐ {theme}
    </button>
  );
}

/** A colour of the theme, for canvases. */
export function themeColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
