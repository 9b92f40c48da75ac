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
mod dropins;
mod folder;
mod framework;
mod include;
mod ledger;
mod position;
mod profile;
mod provenance;
mod python;
mod readers;
mod replace;
mod resolve;
mod roles;
mod rules;
mod secret;
mod sitecore;
mod sources;
mod switch;
mod template;
mod value;
mod variable;
mod wildcard;

pub use configuration::{ConfigFinding, Configuration, inspect};
pub use position::Position;
pub use profile::{
    ActivatedBy, BuilderClass, Builders, Case, Counted, Define, Dialect, DropIns, Formats,
    FromEnvironment, InVariable, Includes, Keys, Layer, ListStyle, OnlyIf, Patches, Prefix,
    Profile, ProfileError, PythonClasses, PythonModule, Replaces, RuleDefault, TreeLayer,
    stock_profiles,
};
pub use provenance::{
    Assignment, Certainty, Condition, ConditionResult, Effective, Op, Outcome, Source, SourceKind,
    SourceState, Variable,
};
pub use readers::{
    Contents, Entry, Format, MAX_BYTES, MAX_ENTRIES, MAX_NESTING, Oddity, Segment, Unreadable,
    formats, read,
};
pub use roles::{Combination, RoleCondition, RoleMatrix, Verdict, roles};
pub use rules::{ConfigRuleDoc, PAGES, RULES};
pub use sources::{Collected, Defined, Loaded, Part, Request, collect, detects};
pub use value::{Class, HIDDEN, Raw, Redactor, ValueRef};
