//! Clean-ups: a plan of what leaves the reports, the store or the source; its execution; the way back.
//!
//! ```text
//! select     the store's rows that a selection names, what is left without them
//! guard      what must hold before a row leaves
//! plan       plan.json and the key files, all below one digest
//! label      level `label`: rows of the table `labels`, which reports leave out
//! rebuild    level `store`: a store without the rows, exchanged with the old one in one step
//! folders    the folders of that level, by what is in them
//! postgres   level `source`: batches in a live database, each archived before it is deleted
//! sqlserver  level `source`: the same as SQL text
//! journal    what was done, one line a step, each on the disk before the next step
//! ```
//!
//! A plan is a folder that is never changed after it was made, but for its journal and its archive.
//! What was done follows from the journal and from the target itself, so that a clean-up that was
//! killed at any moment can go on.

mod error;
mod facts;
mod folder;
mod folders;
mod guard;
mod journal;
mod keys;
mod label;
mod make;
mod plan;
mod postgres;
mod rebuild;
mod select;
mod sqlserver;
mod status;
#[cfg(test)]
mod stops;

pub use error::CleanError;
pub use facts::GuardFacts;
pub use guard::{Guard, GuardResult};
pub use keys::{ArchivedRow, PlanKey};
pub use label::{apply_labels, undo_labels};
pub use make::{PlanOptions, make_plan};
pub use plan::{CleanLevel, DayCount, Plan, PlanCounts, PlanStore, PlanSums, PlanTarget};
pub(crate) use postgres::open_all as open_databases;
pub use postgres::{
    Applied, ApplyOptions, Dsn, PlannedTarget, Undone, Verified, apply_postgres, undo_postgres,
    verify_postgres,
};
pub use rebuild::{apply_rebuild, undo_rebuild};
pub use select::{Selection, agents_of, agents_with};
pub use status::{BatchCounts, PlanState, Status, status};

/// Expected and seen sums after a clean-up of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// What the plan expects reports to say.
    pub expected: PlanSums,
    /// What a question to the store says.
    pub seen: PlanSums,
}
