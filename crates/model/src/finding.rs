//! A finding as data: a named problem with its cost, evidence, reason, fix and check.

use crate::label::labels;
use crate::text::Text;
use crate::time::Nanos;

labels! {
    /// How much a finding matters, in rising order.
    Severity ("severity") {
        /// Worth knowing; nothing is wrong.
        Info = "info",
        /// A small part of the time.
        Low = "low",
        /// A visible part of the time.
        Medium = "medium",
        /// Dominates the time.
        High = "high",
    }
}

/// Where a finding's cost arises.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Where {
    /// `NAME (PID)`.
    pub process: Text,
    /// `NAME (TID)`, or a name alone when several threads of that name share it.
    pub thread: Text,
    /// The function to look at.
    pub function: Text,
    /// Its module.
    pub module: Text,
    /// What views call it: `module!function`, with its arguments where a runtime names them. Empty where no
    /// function is known.
    pub name: Text,
    /// Its source file, if known.
    pub file: Option<Text>,
    /// Its line, if known.
    pub line: Option<u32>,
    /// One typical stack, root first, `module!function` a frame, the cause last.
    pub stack: Vec<Text>,
}

/// One measured fact that a finding rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What was measured.
    pub what: Text,
    /// The number.
    pub value: f64,
    /// Its unit: `ns`, `bytes`, `count`, `1/s`, `share`, ...
    pub unit: Text,
}

/// A named problem with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rule's stable identifier.
    pub id: &'static str,
    /// One sentence that names what was found here, with its main number.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure the rule is, 0 to 1; falls with losses and guesses.
    pub confidence: f64,
    /// Wall-clock time of the threads that matter that this explains; no interval counts twice.
    pub cost: Nanos,
    /// The cost as a share, 0 to 1, of the measured thing's wall time; where several threads' time
    /// counts and is more than that (a service's), of that time.
    pub share: f64,
    /// Where it arises, the costliest first.
    pub at: Vec<Where>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// Why this costs time.
    pub why: String,
    /// What to do about it: actions, the most likely first.
    pub fix: Vec<String>,
    /// A command that checks it.
    pub check: String,
}
