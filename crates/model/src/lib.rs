//! The words, ids, units and tables that every part of Culprit shares.
//!
//! Data flows one way: something runs in a *place*; the recorder, an importer or a probe turns it
//! into the rows declared here; the recording file keeps them; the engine turns rows into times,
//! trees and comparisons; rules turn those into [`Finding`]s. This crate holds the nouns of that
//! sentence and no verbs: it reads no file, no clock and no environment.
//!
//! Each table is one file under `tables/`, declared once with its columns' meaning and unit; the
//! file format, its documentation and SQL all follow from that declaration.

mod cause;
mod chain;
mod clean;
mod column;
mod counted;
mod elide;
mod estimate;
mod filter;
mod finding;
mod generated_name;
mod ids;
mod label;
mod loss;
mod meta;
mod metric;
mod recording;
mod runtime;
mod selection;
mod tables;
mod text;
mod time;
mod unit;

pub mod notation;
pub mod seen_runtime;
pub mod values;

pub use cause::Cause;
pub use chain::chain;
pub use clean::{clean, clean_lines};
#[doc(hidden)]
pub use column::take as take_column;
pub use column::{Cell, Column, ColumnData, ColumnType, Row, ShapeError, Table, Values};
pub use counted::counted;
pub use elide::elide;
pub use estimate::standard_error;
pub use filter::{Drill, Filter, Root};
pub use finding::{Evidence, Finding, Severity, Where};
pub use generated_name::{
    GeneratedName, java_method, method_name, parse_generated_name, script_name,
};
pub use ids::{ActivityId, FrameId, ModuleId, Pid, ProcessId, StackId, StepId, ThreadId, Tid};
pub use label::{Label, UnknownLabel};
pub use loss::{LossKind, LossOrigin, LossSeverity};
pub use meta::{ClockPair, KeptConfiguration, Meta, Rung};
pub use metric::Metric;
pub use recording::{Recording, TABLES, main_metric};
pub use runtime::{Ask, RUNTIMES, Runtime, RuntimeVariable, WrittenWhen, is_same_option};
pub use seen_runtime::SeenRuntime;
pub use selection::{SelectedRow, Selection, Source, Step};
pub use tables::{
    Activity, ActivityEdge, ActivitySource, ActivityWork, Basis, Cost, CostColumns, Counter,
    EdgeKind, Fault, FaultKind, Frame, Guess, Instruction, InterpreterStack, Interval,
    IntervalColumns, Loss, Mapping, Mark, MarkKind, Module, Observation, OptionalColumn, Process,
    Sample, SampleKind, Stack, Switch, SwitchKind, Thread, UNKNOWN_CPU, WakeSource, Wakeup,
    WakeupKind, counter_names, is_kernel_module,
};
pub use text::Text;
pub use time::{Nanos, Time};
pub use unit::Unit;
