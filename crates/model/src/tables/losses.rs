//! The loss ledger.

use crate::column::table;
use crate::loss::LossKind;
use crate::text::Text;
use crate::time::Time;

table! {
    /// Something was dropped, cut, unreadable or guessed. The kind fixes severity, origin and
    /// advice.
    Loss in "losses" {
        /// What kind.
        kind: LossKind,
        /// How many records, stacks, modules, ...
        count: u64,
        /// From when; none when it concerns the whole recording.
        from: Option<Time>,
        /// Until when.
        to: Option<Time>,
        /// What exactly: the module's path, the CPU, the sysctl's value.
        detail: Text,
    }
}
