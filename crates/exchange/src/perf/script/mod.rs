//! What `perf script` prints: a line for each sample, and the frames below it, leaf first.
//!
//! ```text
//! my server  1200/1203  [001]  4103.250101:   250000 cpu-clock:pppH:
//!         ffffffff8104f45a native_write_msr+0x6 ([kernel.kallsyms])
//!             7f2a3c10 parse(char const*)+0x1a (/opt/app/server)
//! ```
//!
//! Which fields there are is the reader's choice (`-F`), so lines are read by the layout that the
//! first ones agree on. Without call chains the one frame stands behind the event. Thread time is
//! not computed from text: switches in it are events like others.

mod beginning;
mod frame;
mod head;
mod read;

pub(super) use beginning::detect;
pub(super) use read::read;
