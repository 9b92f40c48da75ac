//! Where each configuration value comes from, and what was never applied.
//!
//! A [`Profile`] says, as data, how a family of programs finds and layers its sources. [`inspect`]
//! reads the sources below one folder and resolves them to a [`Configuration`]: each assignment with
//! its position and with what became of it. Readers are in `readers`, one a format.
//!
//! No plaintext of a secret is in a [`Configuration`]: values become [`ValueRef`]s before anything
//! else sees them. The crate prints nothing, and reads no environment and no clock.

mod compose;
mod condition;
mod configuration;
mod observation;
mod position;
mod profile;
mod provenance;
mod readers;
mod resolve;
mod rules;
mod secret;
mod sources;
mod template;
mod value;

pub use configuration::{ConfigFinding, Configuration, inspect};
pub use observation::{
    CodePlace, FileObservation, Grade, Observation, ObservedProgram, Proof, ProofGap, Seen,
    VariableProof, Watch, grade,
};
pub use position::Position;
pub use profile::{
    ActivatedBy, Case, Define, Dialect, FromEnvironment, Keys, Layer, ListStyle, Prefix, Profile,
    ProfileError, stock_profiles,
};
pub use provenance::{
    Assignment, Certainty, Condition, ConditionResult, Effective, Op, Outcome, Source, SourceKind,
    SourceState, Variable,
};
pub use readers::{
    Contents, Entry, Format, MAX_BYTES, MAX_ENTRIES, MAX_NESTING, Oddity, Segment, Unreadable,
    formats, read,
};
pub use rules::RULES;
pub use sources::{Collected, Defined, Loaded, Request, collect, detects};
pub use value::{Class, HIDDEN, Raw, Redactor, ValueRef};
