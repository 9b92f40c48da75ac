// The flame graph's canvas: pointer and keyboard on boxes. Only the rows that show are drawn.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { at, hashWord, parents, type Tree } from '../../model/calltree';
import { functionOf, shown } from '../../model/text';
import { measured, percent } from '../../model/units';
import { menuPlace, openNameMenu } from '../../shell/nameMenu';
import { usePage } from '../../shell/page';
import { usePicture } from '../../shell/share';
import { CANVAS_FONT, signWidth, useCanvas, useSize, useTheme } from '../../shell/surface';
import { themeColour } from '../../shell/theme';
import type { Basis } from '../tree/layout';
import { draw, type Look } from './draw';
import { hit, layout, neighbour, type Boxes, type Direction } from './layout';

export interface ChartProps {
  readonly tree: Tree;
  readonly basis: Basis;
  /** The node zoomed to; -1 for all. */
  readonly focus: number;
  readonly hashes: Float64Array;
  readonly hits: Uint8Array | null;
  /** What is said about a node, where that is not its value and cause. */
  describe?(node: number): string;
  /** A sign in front of a node's name. */
  sign?(node: number): string;
}

export const ROW = 20;

const ARROWS: Record<string, Direction> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };

function look(width: number): Look {
  return {
    width,
    rowHeight: ROW,
    font: CANVAS_FONT,
    sign: signWidth(),
    ground: themeColour('--surface'),
    text: '#10161f',
    plain: themeColour('--box'),
    plainText: themeColour('--text'),
    hit: themeColour('--hit'),
    focus: themeColour('--text'),
  };
}

/** `app!read: total 1.20 s (35 %), own 3.00 ms (0.1 %), mostly blocked.disk`. */
function describeCost({ tree, basis }: ChartProps, node: number): string {
  const value = (amount: number) => `${measured(amount, basis.unit)} (${percent(basis.total > 0 ? amount / basis.total : 0)})`;
  const cause = basis.causes[at(tree.cause, node)];
  const name = shown(basis.names[at(tree.name, node)] ?? '', 160);
  return `${name}: total ${value(at(tree.value, node))}, own ${value(at(tree.own, node))}${cause ? `, mostly ${cause.word}` : ''}`;
}

export function Chart(props: ChartProps) {
  const { tree, basis, focus, hashes, hits } = props;
  const page = usePage();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const theme = useTheme();
  const [scroll, setScroll] = useState(0);
  const [chosen, choose] = useState(-1);
  const [hovered, hover] = useState(-1);
  const up = useMemo(() => parents(tree), [tree]);
  const boxes = useMemo(() => layout(tree, focus, 0.6 / Math.max(size.width, 1)), [tree, focus, size.width]);
  const paintLook = useMemo(() => look(size.width), [size.width, theme]);
  const selected = chosen < tree.name.length ? chosen : -1;
  const label = useMemo(() => labels(basis.names), [basis.names]);
  const colours = basis.causes.map((cause) => cause?.colour);
  const scene = { tree, boxes, colours, label: (node: number) => (props.sign?.(node) ?? '') + label(at(tree.name, node)), hits };
  useEffect(() => choose(-1), [tree]);
  useEffect(() => reveal(frame.current, boxes, selected), [selected, boxes]);
  useCanvas(canvas, size, (pen, sharpness) => {
    pen.setTransform(sharpness, 0, 0, sharpness, 0, -scroll * sharpness);
    const rows = [Math.floor(scroll / ROW), Math.ceil((scroll + size.height) / ROW)] as const;
    draw(pen, { ...scene, selected, rows }, paintLook);
  });
  usePicture({
    name: 'flame',
    width: size.width,
    height: boxes.rows * ROW,
    paint: (pen) => draw(pen, { ...scene, selected: -1, rows: [0, boxes.rows - 1] }, paintLook),
  });
  const zoomTo = (node: number) => {
    const top = node < 0 || at(tree.depth, node) === 0;
    page.store.set({ zoom: top ? null : hashWord(hashes[node] ?? NaN) });
  };
  const nodeAt = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const found = hit(boxes, (event.clientX - box.left) / Math.max(size.width, 1), Math.floor((event.clientY - box.top + scroll) / ROW));
    return found < 0 ? -1 : at(boxes.node, found);
  };
  const menu = (node: number, x: number, y: number) => {
    choose(node);
    openNameMenu(page, basis.names[at(tree.name, node)] ?? '', x, y, [{ label: 'Zoom to this box', act: () => zoomTo(node) }]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow !== undefined) choose(neighbour(tree, up, selected < 0 ? focus : selected, arrow));
    else if (event.key === 'Enter' && selected >= 0) zoomTo(selected);
    else if (event.key === 'Escape') zoomTo(-1);
    else if ((event.key === 'm' || event.key === 'ContextMenu') && selected >= 0 && frame.current) menu(selected, ...menuPlace(frame.current));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const described = hovered >= 0 ? hovered : selected;
  return (
    <>
      <p class="status-line" id="flame-status" aria-live="polite">
        {described >= 0 && described < tree.name.length ? (props.describe?.(described) ?? describeCost(props, described)) : 'Click a box to zoom. Right-click for include, exclude and fold. Arrow keys move.'}
      </p>
      <div
        ref={frame}
        class="flame"
        tabIndex={0}
        role="application"
        aria-label="Flame graph. Arrow keys move, Enter zooms, M opens a menu, T shows a table"
        aria-describedby="flame-status"
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          onClick={(event) => {
            const node = nodeAt(event);
            if (node < 0) return;
            choose(node);
            zoomTo(node);
          }}
          onMouseMove={(event) => hover(nodeAt(event))}
          onMouseLeave={() => hover(-1)}
          onContextMenu={(event) => {
            event.preventDefault();
            const node = nodeAt(event);
            if (node >= 0) menu(node, event.clientX, event.clientY);
          }}
        />
        <div class="spacer" style={{ height: `${Math.max(boxes.rows * ROW - size.height, 0)}px` }} />
      </div>
    </>
  );
}

/** The texts of boxes, made once a name: the function without its module. */
function labels(names: readonly string[]): (name: number) => string {
  const made = new Map<number, string>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const text = shown(functionOf(names[name] ?? ''), 200);
    made.set(name, text);
    return text;
  };
}

/** Scrolls so that the selected box shows. */
function reveal(frame: HTMLElement | null, boxes: Boxes, node: number): void {
  const box = boxes.node.indexOf(node);
  if (frame === null || node < 0 || box < 0) return;
  const y = at(boxes.row, box) * ROW;
  if (y < frame.scrollTop) frame.scrollTop = y;
  else if (y + ROW > frame.scrollTop + frame.clientHeight) frame.scrollTop = y + ROW - frame.clientHeight;
}
