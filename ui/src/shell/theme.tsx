// Light and dark: as the system says, unless the reader chose one.

import { useState } from 'preact/hooks';

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
  apply(stored());
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', () => window.dispatchEvent(new Event(THEME_EVENT)));
}

export function ThemeSwitch() {
  const [theme, set] = useState(stored());
  const turn = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // A page that may not keep anything still switches.
    }
    apply(next);
    set(next);
  };
  return (
    <button type="button" onClick={turn} aria-label={`Theme: ${theme}. Switch`} title={`Theme: ${theme}`}>
      ◐ {theme}
    </button>
  );
}

/** A colour of the theme, for canvases. */
export function themeColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
