//! Where each configuration value comes from, and what was never applied.
//!
//! A [`Profile`] says, as data, how a family of programs finds and layers its sources. [`inspect`]
//! reads the sources below one folder and resolves them to a [`Configuration`]: each assignment with
//! its position and with what became of it. Readers are in `readers`, one a format.
//!
//! No plaintext of a secret is in a [`Configuration`]: values become [`ValueRef`]s before anything
//! else sees them. The crate prints nothing, and reads no environment and no clock.

mod arguments;
mod asks;
mod compose;
mod condition;
mod configuration;
mod difference;
mod drift;
mod dropins;
mod expand;
mod exposure;
mod files;
mod folder;
mod framework;
mod include;
mod inspected;
mod kubernetes;
mod launch;
mod ledger;
mod memory;
mod needs;
mod observation;
mod place_profile;
mod position;
mod profile;
mod provenance;
mod python;
mod readers;
mod replace;
mod repository;
mod resolve;
mod reveal;
mod roles;
mod rules;
mod secret;
mod sitecore;
mod snapshot;
mod sources;
mod spelling;
mod spring;
mod switch;
mod template;
mod value;
mod variable;
mod variables;
mod wildcard;

pub use configuration::{ConfigFinding, Configuration, inspect};
pub use difference::{KeyChange, KeyDifference, PlacedValue, SnapshotDifference, difference};
pub use drift::{
    CONFIG_HASH_LABEL, CellState, Drift, DriftCell, DriftColumn, DriftRequest, DriftRow, HashState,
    drift,
};
pub use exposure::{
    newer_files, secrets_of_arguments, secrets_of_files, secrets_of_image, shown_arguments,
};
pub use files::{Files, ImageFile, ImageFiles, ProcessFiles};
pub use inspected::{Inspected, NotInspected, read_inspected};
pub use launch::unknown_launch;
pub use memory::{NotInMemory, environment_in_memory};
pub use observation::{
    CodePlace, FileObservation, Grade, Observation, ObservedProgram, Proof, ProofGap, Seen,
    VariableProof, Watch, grade,
};
pub use place_profile::{
    OptionSource, PROCESS_PROFILE, option_configuration, process_configuration,
};
pub use position::Position;
pub use profile::{
    ActivatedBy, Asks, BuilderClass, Builders, Cascade, Case, Counted, Define, Dialect, DropIns,
    Element, Fills, Formats, FromEnvironment, Ignored, InVariable, Includes, Keys, LaunchProfiles,
    Layer, ListStyle, Needs, OnlyFor, OnlyIf, Patches, Prefix, Profile, ProfileError,
    PythonClasses, PythonModule, Replaces, Repository, RuleDefault, TreeLayer, stock_profiles,
};
pub use provenance::{
    Assignment, Certainty, Condition, ConditionResult, Effective, Op, Outcome, Source, SourceKind,
    SourceState, Variable,
};
pub use readers::{
    Clear, Cleared, Contents, Entry, Format, KeyGroup, MAX_BYTES, MAX_ENTRIES, MAX_NESTING, Oddity,
    Segment, Unreadable, formats, read,
};
pub use reveal::Revealed;
pub use roles::{Combination, RoleCondition, RoleMatrix, Verdict, roles};
pub use rules::{ConfigRuleDoc, PAGES, RULES};
pub use snapshot::{MOST_SNAPSHOT_BYTES, NotASnapshot, SNAPSHOT_VERSION, Snapshot};
pub use sources::{
    Choice, Collected, Defined, FileRead, Loaded, Part, Request, ServiceImage, collect, detects,
    detects_in, falls_back_in, fitting_below,
};
pub use spelling::nearest_name;
pub use value::{Class, HIDDEN, NotAFingerprint, Raw, Redactor, ValueFingerprint, ValueRef};
pub use variables::{
    NotObserved, ObservedProcess, ProcessRole, VariableSet, created_with, image_not_read,
    image_variables, observe_process,
};
