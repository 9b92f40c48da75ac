/* tslint:disable */
/* eslint-disable */

/** Functions by falling own value. `cause` is 255 for none, `kind` 0 a function, 1 a thread, 2 a cause. */
export interface Functions {
    own: Float64Array;
    total: Float64Array;
    count: Float64Array;
    name: Uint32Array;
    kind: Uint8Array;
    cause: Uint8Array;
    place: string[];
}
/** A call tree in preorder, callees by falling value. `end` is the index behind a node's subtree. */
export interface Tree {
    name: Uint32Array;
    depth: Uint16Array;
    value: Float64Array;
    own: Float64Array;
    cause: Uint8Array;
    end: Uint32Array;
}
/**
 * Two call trees as one, in preorder; `width` is of a picture of both. `step` is how a node changed: 0 gone,
 * 1 to 3 less, 4 about the same, 5 to 7 more, 8 new.
 */
export interface DiffTree {
    name: Uint32Array;
    depth: Uint16Array;
    width: Float64Array;
    before: Float64Array;
    after: Float64Array;
    step: Uint8Array;
    end: Uint32Array;
    names: string[];
}
/** Bars of lanes: those of lane `i` are `first[i]` to `first[i + 1]`, its thread is row `thread[i]`. */
export interface Lanes {
    thread: Uint32Array;
    first: Uint32Array;
    x0: Float32Array;
    x1: Float32Array;
    cause: Uint8Array;
}
/** What the run was waiting for: bars in order of time. `thread` is a row of the threads, 4294967295 for none. */
export interface RunBars {
    thread: Uint32Array;
    x0: Float32Array;
    x1: Float32Array;
    cause: Uint8Array;
}
/** What a command was waiting for from its `start` on; `thread` is a place in `names`. */
export interface RunSide {
    start: number;
    x0: Float32Array;
    x1: Float32Array;
    cause: Uint8Array;
    thread: Uint32Array;
    names: string[];
}
/** Two runs on one scale: its pixels are `length` ns. */
export interface Runs {
    length: number;
    before: RunSide;
    after: RunSide;
}



/**
 * One opened recording and the view that is shown of it.
 */
export class Session {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * The activities that the filter keeps as JSON.
     *
     * # Errors
     * When a pattern of the filter is wrong.
     */
    activities(): string;
    /**
     * The interval of a lane at a time as JSON; `null` where there is none.
     *
     * # Errors
     * When a pattern of the filter is wrong.
     */
    at(thread: number, at: number): string;
    /**
     * What a name calls.
     *
     * # Errors
     * When no name has the number.
     */
    callees(name: number): Tree;
    /**
     * Who calls a name.
     *
     * # Errors
     * When no name has the number.
     */
    callers(name: number): Tree;
    /**
     * What changed from this recording to the other one under the filter as JSON; from the other one to
     * this if it comes `first`.
     *
     * # Errors
     * When there is no other one, or the two have no metric in common.
     */
    compare(first: boolean): string;
    /**
     * What became of the findings as JSON.
     *
     * # Errors
     * When there is no other recording.
     */
    compare_findings(first: boolean): string;
    /**
     * What both commands were waiting for over time; null where one of them did not end.
     *
     * # Errors
     * When there is no other recording.
     */
    compared_runs(first: boolean, pixels: number): Runs | null;
    /**
     * Both sides of the last comparison in one tree.
     *
     * # Errors
     * None that is expected.
     */
    compared_tree(): DiffTree;
    /**
     * What a finding of the last report rests on as JSON.
     *
     * # Errors
     * When that had no such finding.
     */
    evidence(finding: number): string;
    /**
     * The recording's facts under the filter, which are there at once, as JSON.
     *
     * # Errors
     * None that is expected.
     */
    facts(): string;
    /**
     * Sets the filter, and says what it keeps as JSON.
     *
     * # Errors
     * When it is no filter.
     */
    filter(json: string): string;
    /**
     * Functions by falling own value.
     *
     * # Errors
     * None that is expected.
     */
    functions(): Functions;
    /**
     * Bars of threads within a range of time that is so many pixels wide.
     *
     * # Errors
     * When a pattern of the filter is wrong.
     */
    lanes(from: number, to: number, pixels: number, busy_only: boolean): Lanes;
    /**
     * Names by their number.
     */
    names(): string[];
    /**
     * Opens a recording from its bytes.
     *
     * # Errors
     * When the bytes are no recording.
     */
    constructor(name: string, bytes: Uint8Array | number[]);
    /**
     * Opens a second recording, to be compared with this one.
     *
     * # Errors
     * When the bytes are no recording.
     */
    open_other(name: string, bytes: Uint8Array | number[]): void;
    /**
     * The report as JSON. It takes as long as its rules do.
     *
     * # Errors
     * When the filter has no report.
     */
    overview(): string;
    /**
     * The presets that everybody has as JSON; `own` says what counts as the program's own code.
     *
     * # Errors
     * When `own` is no list of patterns.
     */
    presets(own: string): string;
    /**
     * What the command was waiting for within a range of time that is so many pixels wide.
     *
     * # Errors
     * When a pattern of the filter is wrong.
     */
    run_bars(from: number, to: number, pixels: number): RunBars;
    /**
     * The threads of the lanes as JSON.
     *
     * # Errors
     * When a pattern of the filter is wrong.
     */
    threads(): string;
    /**
     * The call tree.
     *
     * # Errors
     * None that is expected.
     */
    tree(): Tree;
}

/**
 * Reads the tables that rules and causes share, before somebody waits for them.
 */
export function prepare(): void;

/**
 * Lets a defect of the program be seen as an error with its message instead of `unreachable`.
 */
export function start(): void;

export type InitInput = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

export interface InitOutput {
    readonly memory: WebAssembly.Memory;
    readonly __wbg_session_free: (a: number, b: number) => void;
    readonly prepare: () => void;
    readonly session_activities: (a: number, b: number) => void;
    readonly session_at: (a: number, b: number, c: number, d: number) => void;
    readonly session_callees: (a: number, b: number, c: number) => void;
    readonly session_callers: (a: number, b: number, c: number) => void;
    readonly session_compare: (a: number, b: number, c: number) => void;
    readonly session_compare_findings: (a: number, b: number, c: number) => void;
    readonly session_compared_runs: (a: number, b: number, c: number, d: number) => void;
    readonly session_compared_tree: (a: number, b: number) => void;
    readonly session_evidence: (a: number, b: number, c: number) => void;
    readonly session_facts: (a: number, b: number) => void;
    readonly session_filter: (a: number, b: number, c: number, d: number) => void;
    readonly session_functions: (a: number, b: number) => void;
    readonly session_lanes: (a: number, b: number, c: number, d: number, e: number, f: number) => void;
    readonly session_names: (a: number, b: number) => void;
    readonly session_new: (a: number, b: number, c: number, d: number, e: number) => void;
    readonly session_open_other: (a: number, b: number, c: number, d: number, e: number, f: number) => void;
    readonly session_overview: (a: number, b: number) => void;
    readonly session_presets: (a: number, b: number, c: number, d: number) => void;
    readonly session_run_bars: (a: number, b: number, c: number, d: number, e: number) => void;
    readonly session_threads: (a: number, b: number) => void;
    readonly session_tree: (a: number, b: number) => void;
    readonly start: () => void;
    readonly __wbindgen_export: (a: number) => void;
    readonly __wbindgen_export2: () => number;
    readonly __wbindgen_externrefs: WebAssembly.Table;
    readonly __wbindgen_add_to_stack_pointer: (a: number) => number;
    readonly __wbindgen_export3: (a: number) => void;
    readonly __wbindgen_export4: (a: number, b: number, c: number) => void;
    readonly __wbindgen_export5: (a: number, b: number) => number;
    readonly __wbindgen_export6: (a: number, b: number, c: number, d: number) => number;
    readonly __wbindgen_export7: (a: number, b: number) => void;
    readonly __wbindgen_start: () => void;
}

export type SyncInitInput = BufferSource | WebAssembly.Module;

/**
 * Instantiates the given `module`, which can either be bytes or
 * a precompiled `WebAssembly.Module`.
 *
 * @param {{ module: SyncInitInput }} module - Passing `SyncInitInput` directly is deprecated.
 *
 * @returns {InitOutput}
 */
export function initSync(module: { module: SyncInitInput } | SyncInitInput): InitOutput;

/**
 * If `module_or_path` is {RequestInfo} or {URL}, makes a request and
 * for everything else, calls `WebAssembly.instantiate` directly.
 *
 * @param {{ module_or_path: InitInput | Promise<InitInput> }} module_or_path - Passing `InitInput` directly is deprecated.
 *
 * @returns {Promise<InitOutput>}
 */
export default function __wbg_init (module_or_path?: { module_or_path: InitInput | Promise<InitInput> } | InitInput | Promise<InitInput>): Promise<InitOutput>;
