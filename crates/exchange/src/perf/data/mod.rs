//! perf.data, as `perf record` writes it to a file or into a pipe, zstd-compressed or not.
//!
//! ```text
//! header, features --> what the events are, where code comes from        header, features, events
//! stream           --> records one by one                                stream
//! collect          --> perf's own read, the kernel's until their turn    collect
//! apply            --> round by round in the order of time: rows         apply, samples, tasks, code, kernel, switches
//! finish           --> what was lost; thread time or samples             finish
//! ```
//!
//! What the kernel's records mean, and their order, is known by `culprit_kernel`. A sample is an amount of its
//! event's metric at its stack. One pass: a record is kept until its turn; a chain is named once for each state of
//! its process's mappings. Switches become thread time where none is missing, else they are counted
//! and a loss says why.

mod apply;
mod chains;
mod code;
mod collect;
mod events;
mod features;
mod finish;
mod header;
mod kernel;
mod samples;
mod stream;
mod switches;
mod tasks;
mod tracing;

use culprit_kernel::{Order, Words};
use culprit_model::LossKind;

use crate::builder::Builder;
use crate::format::Refusal;
use crate::input::Input;
use collect::Collector;
use header::Around;
use stream::Records;

/// The size that the header of a pipe states: its own.
const PIPE_HEADER: usize = 16;

pub(super) fn detect(head: &[u8]) -> bool {
    head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP")
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let head = input.head();
    let order = if head.starts_with(b"PERFILE2") { Order::Little } else { Order::Big };
    let size = head.get(8..).and_then(|size| Words::new(size, order).u64());
    let mut around = Around { order, records: u64::MAX, ..Around::default() };
    if size == Some(PIPE_HEADER as u64) {
        let mut header = [0; PIPE_HEADER];
        std::io::Read::read_exact(input, &mut header).map_err(|error| error.to_string())?;
    } else {
        around = Around::read(input, order)?;
    }
    for what in &around.damage {
        builder.lose(LossKind::FileDamaged, 1, what);
    }
    let mut records = Records::new(input, order, around.records);
    let mut collector = Collector::new(around, builder);
    if let Err(why) = collector.read(&mut records) {
        let what = format!("the rest of the records is unreadable: {why}");
        collector.apply.builder.lose(LossKind::FileDamaged, 1, &what);
    }
    collector.finish()
}
