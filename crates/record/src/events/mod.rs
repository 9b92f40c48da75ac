//! Records into rows: what each record says of tasks, stacks, switches and costs.
//!
//! ```text
//! sets, attr, tracefs   which events there are, and how their records are laid out
//! decode                records from the words of a ring
//! worker, handle        one record after the other, in order of time
//! tracker, space        processes and threads, and what code they have mapped
//! switching, accounts   switches, wakeups and the kernel's own accounts
//! stacks, chains, ...   stacks as raw addresses
//! tables                rows on their way to the file
//! ledger                what is lost
//! ```

pub(crate) mod accounts;
pub(crate) mod attr;
pub(crate) mod calls;
pub(crate) mod chains;
pub(crate) mod costs;
pub(crate) mod decode;
pub(crate) mod extras;
pub(crate) mod fault_files;
pub(crate) mod handle;
pub(crate) mod learned;
pub(crate) mod ledger;
pub(crate) mod outermost;
pub(crate) mod probed;
pub(crate) mod sampled;
pub(crate) mod sets;
pub(crate) mod sizes;
pub(crate) mod sockets;
pub(crate) mod space;
pub(crate) mod stacks;
pub(crate) mod switching;
pub(crate) mod tables;
pub(crate) mod tracefs;
pub(crate) mod tracker;
pub(crate) mod waiting;
pub(crate) mod wakers;
pub(crate) mod weighed;
pub(crate) mod worker;
