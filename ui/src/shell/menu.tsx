// A context menu: opened by the pointer or by a key, walked by arrows, closed by Escape.

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Menu } from './page';

export function ContextMenu({ menu, onClose }: { menu: Menu; onClose(): void }) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = list.current;
    if (box === null) return;
    // Inside the window, wherever it was opened.
    box.style.left = `${Math.max(Math.min(menu.x, innerWidth - box.offsetWidth - 8), 8)}px`;
    box.style.top = `${Math.max(Math.min(menu.y, innerHeight - box.offsetHeight - 8), 8)}px`;
    box.querySelector('button')?.focus();
  }, [menu]);
  useEffect(() => {
    const before = document.activeElement;
    const away = (event: Event) => {
      if (!list.current?.contains(event.target as Node)) onClose();
    };
    window.addEventListener('pointerdown', away);
    return () => {
      window.removeEventListener('pointerdown', away);
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, [menu]);
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Escape') return onClose();
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])];
    const here = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(here + step + buttons.length) % buttons.length]?.focus();
  };
  return (
    <div ref={list} class="menu" role="menu" aria-label={menu.title} onKeyDown={onKeyDown}>
      <p class="menu-title" role="presentation">
        {menu.title}
      </p>
      {menu.items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          onClick={() => {
            onClose();
            item.act();
          }}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}
