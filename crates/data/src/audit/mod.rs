//! `culprit-data audit`: one file a subcommand.

mod sample;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::args::AuditCommand;
use crate::audit_args::AuditAction;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Talk;

/// Runs a subcommand.
///
/// # Errors
/// When it could not do what was asked.
pub(crate) fn run(command: &AuditCommand, talk: &Talk) -> Result<(), Failure> {
    match &command.args.action {
        AuditAction::Sample(args) => sample::run(args, command.json, talk),
    }
}

/// A flag that Ctrl-C sets.
///
/// # Errors
/// When signals cannot be watched.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = stop.clone();
    interrupt::watch(move || set.store(true, Ordering::Relaxed))?;
    Ok(stop)
}
