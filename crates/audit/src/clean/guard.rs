//! Guards: conditions that stop a clean-up until somebody overrides each by its name.

use culprit_model::Label as _;
use serde::{Deserialize, Serialize};

culprit_model::labels! {
    /// A condition that must hold before rows leave the store or the source.
    Guard ("guard") {
        /// No selected row is of a contact that the source knows by name.
        KnownContact = "known-contact",
        /// No selected interaction has a goal or an outcome, such as an order.
        Conversion = "conversion",
        /// No selected row is younger than the retention time.
        Retention = "retention",
        /// At most 30 % of all interactions are selected.
        ShareOfAll = "share-of-all",
        /// At most 50 % of the interactions of any day are selected.
        ShareOfDay = "share-of-day",
        /// The store has rows of every shard.
        MissingShard = "missing-shard",
        /// The plan is at most 7 days old.
        PlanAge = "plan-age",
        /// Somebody says where the backup is.
        Backup = "backup",
        /// The database is the one that the plan was made for.
        OtherTarget = "other-target",
        /// Deleting rows there changes no other rows: no triggers, no foreign keys of other tables.
        SideEffects = "side-effects",
    }
}

/// Share of all interactions that may be selected, in percent.
pub(crate) const SHARE_OF_ALL: u64 = 30;
/// Share of the interactions of a day that may be selected, in percent.
pub(crate) const SHARE_OF_DAY: u64 = 50;
/// Days for which a plan can be used.
pub(crate) const PLAN_DAYS: u64 = 7;

/// What a guard found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardResult {
    /// The guard.
    pub guard: Guard,
    /// True when the condition holds.
    pub passed: bool,
    /// What was found, in words.
    pub why: String,
}

impl GuardResult {
    pub(crate) fn new(guard: Guard, passed: bool, why: String) -> Self {
        Self { guard, passed, why }
    }

    /// The way out.
    pub(crate) fn hint(&self) -> String {
        let word = self.guard.word();
        match self.guard {
            Guard::KnownContact | Guard::Conversion | Guard::Retention => format!(
                "make the plan with `--spare {word}` to leave these rows out, or override the \
                 guard with `--allow {word}`"
            ),
            Guard::PlanAge => {
                format!("make a new plan, or override the guard with `--allow {word}`")
            }
            Guard::Backup => format!(
                "name the backup with `--backup TEXT`, or override the guard with `--allow {word}`"
            ),
            _ => format!("override the guard with `--allow {word}` if this is intended"),
        }
    }
}

/// As `plan.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stored {
    guard: String,
    passed: bool,
    why: String,
}

impl Serialize for GuardResult {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let guard = self.guard.word().to_owned();
        Stored { guard, passed: self.passed, why: self.why.clone() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for GuardResult {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Stored { guard, passed, why } = Stored::deserialize(from)?;
        let guard = guard.parse().map_err(serde::de::Error::custom)?;
        Ok(Self { guard, passed, why })
    }
}
