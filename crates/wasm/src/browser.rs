//! The session as JavaScript sees it.

use js_sys::{Array, Error as JsError, Float32Array, Float64Array, Object, Reflect, Uint8Array};
use js_sys::{Uint16Array, Uint32Array};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::columns::{FunctionColumns, RunColumns, TreeColumns};
use crate::session::{Refused, Session as Plain};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
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
"#;

fn thrown(refused: Refused) -> JsValue {
    JsError::new(&refused.0).into()
}

/// An object with these properties.
fn object<const N: usize>(properties: [(&str, JsValue); N]) -> Result<JsValue, JsValue> {
    let object = Object::new();
    for (name, value) in properties {
        Reflect::set(&object, &name.into(), &value)?;
    }
    Ok(object.into())
}

fn floats(values: &[f64]) -> JsValue {
    Float64Array::from(values).into()
}

fn numbers(values: &[u32]) -> JsValue {
    Uint32Array::from(values).into()
}

fn bytes(values: &[u8]) -> JsValue {
    Uint8Array::from(values).into()
}

fn texts(values: Vec<String>) -> JsValue {
    values.into_iter().map(JsValue::from).collect::<Array>().into()
}

fn tree(tree: &TreeColumns) -> Result<JsValue, JsValue> {
    object([
        ("name", numbers(&tree.name)),
        ("depth", Uint16Array::from(&tree.depth[..]).into()),
        ("value", floats(&tree.value)),
        ("own", floats(&tree.own)),
        ("cause", bytes(&tree.cause)),
        ("end", numbers(&tree.end)),
    ])
}

fn run_side(run: RunColumns) -> Result<JsValue, JsValue> {
    object([
        ("start", run.start.into()),
        ("x0", Float32Array::from(&run.x0[..]).into()),
        ("x1", Float32Array::from(&run.x1[..]).into()),
        ("cause", bytes(&run.cause)),
        ("thread", numbers(&run.thread)),
        ("names", texts(run.names)),
    ])
}

/// A time from JavaScript; what is before the start is the start.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` clamps")]
fn time(time: f64) -> u64 {
    time as u64
}

/// Lets a defect of the program be seen as an error with its message instead of `unreachable`.
#[wasm_bindgen(start)]
pub(crate) fn start() {
    std::panic::set_hook(Box::new(|panic| wasm_bindgen::throw_str(&panic.to_string())));
}

/// Reads the tables that rules and causes share, before somebody waits for them.
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "wasm-bindgen exports public functions only")]
pub fn prepare() {
    crate::session::prepare();
}

/// One opened recording and the view that is shown of it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Session(Plain);

#[wasm_bindgen]
impl Session {
    /// Opens a recording from its bytes.
    ///
    /// # Errors
    /// When the bytes are no recording.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Session, JsValue> {
        Plain::open(name, bytes).map(Self).map_err(thrown)
    }

    /// The recording's facts under the filter, which are there at once, as JSON.
    ///
    /// # Errors
    /// None that is expected.
    pub fn facts(&self) -> Result<String, JsValue> {
        self.0.facts().map_err(thrown)
    }

    /// The report as JSON. It takes as long as its rules do.
    ///
    /// # Errors
    /// When the filter has no report.
    pub fn overview(&mut self) -> Result<String, JsValue> {
        self.0.overview().map_err(thrown)
    }

    /// Sets the filter, and says what it keeps as JSON.
    ///
    /// # Errors
    /// When it is no filter.
    pub fn filter(&mut self, json: &str) -> Result<String, JsValue> {
        self.0.filter(json).map_err(thrown)
    }

    /// Names by their number.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.names()
    }

    /// Functions by falling own value.
    ///
    /// # Errors
    /// None that is expected.
    #[wasm_bindgen(unchecked_return_type = "Functions")]
    pub fn functions(&self) -> Result<JsValue, JsValue> {
        let FunctionColumns { own, total, count, name, kind, cause, place } = self.0.functions();
        object([
            ("own", floats(&own)),
            ("total", floats(&total)),
            ("count", floats(&count)),
            ("name", numbers(&name)),
            ("kind", bytes(&kind)),
            ("cause", bytes(&cause)),
            ("place", texts(place)),
        ])
    }

    /// The call tree.
    ///
    /// # Errors
    /// None that is expected.
    #[wasm_bindgen(unchecked_return_type = "Tree")]
    pub fn tree(&self) -> Result<JsValue, JsValue> {
        tree(&self.0.tree())
    }

    /// Who calls a name.
    ///
    /// # Errors
    /// When no name has the number.
    #[wasm_bindgen(unchecked_return_type = "Tree")]
    pub fn callers(&self, name: u32) -> Result<JsValue, JsValue> {
        tree(&self.0.callers(name).map_err(thrown)?)
    }

    /// What a name calls.
    ///
    /// # Errors
    /// When no name has the number.
    #[wasm_bindgen(unchecked_return_type = "Tree")]
    pub fn callees(&self, name: u32) -> Result<JsValue, JsValue> {
        tree(&self.0.callees(name).map_err(thrown)?)
    }

    /// Bars of threads within a range of time that is so many pixels wide.
    ///
    /// # Errors
    /// When a pattern of the filter is wrong.
    #[wasm_bindgen(unchecked_return_type = "Lanes")]
    pub fn lanes(
        &self,
        from: f64,
        to: f64,
        pixels: u32,
        busy_only: bool,
    ) -> Result<JsValue, JsValue> {
        let range = (time(from), time(to));
        let (thread, bars) = self.0.lanes(range, pixels, busy_only).map_err(thrown)?;
        object([
            ("thread", numbers(&thread)),
            ("first", numbers(&bars.first)),
            ("x0", Float32Array::from(&bars.left[..]).into()),
            ("x1", Float32Array::from(&bars.right[..]).into()),
            ("cause", bytes(&bars.cause)),
        ])
    }

    /// What the command was waiting for within a range of time that is so many pixels wide.
    ///
    /// # Errors
    /// When a pattern of the filter is wrong.
    #[wasm_bindgen(unchecked_return_type = "RunBars")]
    pub fn run_bars(&mut self, from: f64, to: f64, pixels: u32) -> Result<JsValue, JsValue> {
        let (thread, bars) = self.0.run_bars((time(from), time(to)), pixels).map_err(thrown)?;
        object([
            ("thread", numbers(&thread)),
            ("x0", Float32Array::from(&bars.left[..]).into()),
            ("x1", Float32Array::from(&bars.right[..]).into()),
            ("cause", bytes(&bars.cause)),
        ])
    }

    /// The activities that the filter keeps as JSON.
    ///
    /// # Errors
    /// When a pattern of the filter is wrong.
    pub fn activities(&self) -> Result<String, JsValue> {
        self.0.activities().map_err(thrown)
    }

    /// What a finding of the last report rests on as JSON.
    ///
    /// # Errors
    /// When that had no such finding.
    pub fn evidence(&self, finding: u32) -> Result<String, JsValue> {
        self.0.evidence(finding as usize).map_err(thrown)
    }

    /// The threads of the lanes as JSON.
    ///
    /// # Errors
    /// When a pattern of the filter is wrong.
    pub fn threads(&self) -> Result<String, JsValue> {
        self.0.lane_threads().map_err(thrown)
    }

    /// The interval of a lane at a time as JSON; `null` where there is none.
    ///
    /// # Errors
    /// When a pattern of the filter is wrong.
    pub fn at(&self, thread: u32, at: f64) -> Result<String, JsValue> {
        self.0.at(thread as usize, time(at)).map_err(thrown)
    }

    /// The presets that everybody has as JSON; `own` says what counts as the program's own code.
    ///
    /// # Errors
    /// When `own` is no list of patterns.
    pub fn presets(&self, own: &str) -> Result<String, JsValue> {
        self.0.presets(own).map_err(thrown)
    }

    /// Opens a second recording, to be compared with this one.
    ///
    /// # Errors
    /// When the bytes are no recording.
    pub fn open_other(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), JsValue> {
        self.0.open_other(name, bytes).map_err(thrown)
    }

    /// What changed from this recording to the other one under the filter as JSON; from the other one to
    /// this if it comes `first`.
    ///
    /// # Errors
    /// When there is no other one, or the two have no metric in common.
    pub fn compare(&mut self, first: bool) -> Result<String, JsValue> {
        self.0.compare(first).map_err(thrown)
    }

    /// What became of the findings as JSON.
    ///
    /// # Errors
    /// When there is no other recording.
    pub fn compare_findings(&mut self, first: bool) -> Result<String, JsValue> {
        self.0.compare_findings(first).map_err(thrown)
    }

    /// What both commands were waiting for over time; null where one of them did not end.
    ///
    /// # Errors
    /// When there is no other recording.
    #[wasm_bindgen(unchecked_return_type = "Runs | null")]
    #[expect(clippy::cast_precision_loss, reason = "a page shows no more digits")]
    pub fn compared_runs(&mut self, first: bool, pixels: u32) -> Result<JsValue, JsValue> {
        let Some((length, [before, after])) =
            self.0.compared_runs(first, pixels).map_err(thrown)?
        else {
            return Ok(JsValue::NULL);
        };
        object([
            ("length", (length as f64).into()),
            ("before", run_side(before)?),
            ("after", run_side(after)?),
        ])
    }

    /// Both sides of the last comparison in one tree.
    ///
    /// # Errors
    /// None that is expected.
    #[wasm_bindgen(unchecked_return_type = "DiffTree")]
    pub fn compared_tree(&self) -> Result<JsValue, JsValue> {
        let (columns, names) = self.0.compared_tree();
        object([
            ("name", numbers(&columns.name)),
            ("depth", Uint16Array::from(&columns.depth[..]).into()),
            ("width", floats(&columns.width)),
            ("before", floats(&columns.before)),
            ("after", floats(&columns.after)),
            ("step", bytes(&columns.step)),
            ("end", numbers(&columns.end)),
            ("names", texts(names)),
        ])
    }
}
