// A table of which only the rows that show exist. One row has the keyboard; keys that the table does
// not know are handed on.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { menuPlace } from './nameMenu';

export interface Column {
  readonly title: string;
  /** Numbers stand right. */
  readonly right?: boolean;
  /** What a click on the head does; none for columns that cannot be sorted. */
  readonly sort?: () => void;
  readonly sorted?: 'ascending' | 'descending' | undefined;
}

export interface GridProps {
  readonly label: string;
  /** The class that sets the columns' widths. */
  readonly kind: string;
  readonly columns: readonly Column[];
  readonly count: number;
  cell(row: number, column: number): ComponentChildren;
  readonly selected: number;
  onSelect(row: number): void;
  /** Enter or a double click. */
  onOpen?(row: number): void;
  onMenu?(row: number, x: number, y: number): void;
  /** A key that the table does not know; true when it was used. */
  onKey?(event: KeyboardEvent, row: number): boolean;
  /** For trees: the depth from 1, and whether the row is open; none for leaves. */
  level?(row: number): { level: number; expanded: boolean | null };
}

export const ROW_HEIGHT = 26;
/** Rows above and below the visible ones that exist as well, so that scrolling shows no gap. */
const SPARE = 8;

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

let grids = 0;

export function Grid(props: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const [id] = useState(() => `grid-${(grids += 1)}`);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => reveal(box.current, props.selected), [props.selected]);
  const first = Math.max(Math.floor(view.top / ROW_HEIGHT) - SPARE, 0);
  const last = Math.min(Math.ceil((view.top + view.height) / ROW_HEIGHT) + SPARE, props.count);
  const rows = Array.from({ length: Math.max(last - first, 0) }, (_, at) => first + at);
  const tree = props.level !== undefined;
  return (
    <div
      ref={box}
      class={`grid ${props.kind}`}
      role={tree ? 'treegrid' : 'grid'}
      aria-label={props.label}
      aria-rowcount={props.count + 1}
      aria-activedescendant={props.selected >= first && props.selected < last ? `${id}-${props.selected}` : undefined}
      tabIndex={0}
      onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      onKeyDown={(event) => onKeyDown(event, props, view.height)}
    >
      <div class="grid-head" role="rowgroup">
        <div class="grid-row" role="row" aria-rowindex={1}>
          {props.columns.map((column) => (
            <Head key={column.title} column={column} />
          ))}
        </div>
      </div>
      <div class="grid-body" role="rowgroup" style={{ height: `${props.count * ROW_HEIGHT}px` }}>
        {rows.map((row) => (
          <Row key={row} id={`${id}-${row}`} row={row} props={props} />
        ))}
      </div>
    </div>
  );
}

function Head({ column }: { column: Column }) {
  return (
    <span role="columnheader" class={column.right ? 'right' : ''} aria-sort={column.sorted}>
      {column.sort ? (
        <button type="button" class="plain" onClick={column.sort}>
          {column.title}
          {column.sorted === 'descending' ? ' ▾' : column.sorted ? ' ▴' : ''}
        </button>
      ) : (
        column.title
      )}
    </span>
  );
}

function Row({ id, row, props }: { id: string; row: number; props: GridProps }) {
  const level = props.level?.(row);
  return (
    <div
      id={id}
      class="grid-row"
      role="row"
      aria-rowindex={row + 2}
      aria-selected={row === props.selected}
      aria-level={level?.level}
      aria-expanded={level?.expanded ?? undefined}
      style={{ transform: `translateY(${row * ROW_HEIGHT}px)` }}
      onClick={() => props.onSelect(row)}
      onDblClick={() => props.onOpen?.(row)}
      onContextMenu={(event) => {
        event.preventDefault();
        props.onSelect(row);
        props.onMenu?.(row, event.clientX, event.clientY);
      }}
    >
      {props.columns.map((column, at) => (
        <span key={column.title} role="gridcell" class={column.right ? 'right' : ''}>
          {props.cell(row, at)}
        </span>
      ))}
    </div>
  );
}

function onKeyDown(event: KeyboardEvent, props: GridProps, height: number): void {
  if (event.target instanceof HTMLButtonElement || event.ctrlKey || event.metaKey || event.altKey) return;
  const { selected, count } = props;
  const page = Math.max(Math.floor(height / ROW_HEIGHT) - 2, 1);
  const step = event.key === 'PageDown' ? page : event.key === 'PageUp' ? -page : STEPS[event.key];
  if (step !== undefined) {
    if (count > 0) props.onSelect(Math.min(Math.max(Math.max(selected, -1) + step, 0), count - 1));
  } else if (props.onKey?.(event, selected)) {
    // Used by the view.
  } else if (event.key === 'Enter' && selected >= 0) {
    props.onOpen?.(selected);
  } else if ((event.key === 'm' || event.key === 'ContextMenu') && selected >= 0) {
    const row = document.getElementById(event.currentTarget instanceof Element ? event.currentTarget.getAttribute('aria-activedescendant') ?? '' : '');
    if (row !== null) props.onMenu?.(selected, ...menuPlace(row));
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

/** Scrolls just enough that a row shows under the head. */
function reveal(element: HTMLDivElement | null, row: number): void {
  if (element === null || row < 0) return;
  const top = row * ROW_HEIGHT;
  const room = element.clientHeight - 2 * ROW_HEIGHT;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top > element.scrollTop + room) element.scrollTop = top - room;
}
