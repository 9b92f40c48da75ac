//! `culprit-data audit`: one file a subcommand.

mod blacklist;
mod bloat;
mod clean;
mod clean_text;
mod database;
mod diff;
mod impact;
mod import;
mod orphans;
mod question;
mod refresh;
mod report;
mod robots;
mod sample;
mod text;
mod visits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use culprit_audit::visits::Zone;

pub(crate) use question::failure as question_failure;

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
        AuditAction::Import(args) => import::run(args, command.json, talk),
        AuditAction::Refresh(args) => refresh::run(args, command.json, talk),
        AuditAction::Sample(args) => sample::run(args, command.json, talk),
        AuditAction::Visits(args) => visits::run(args, command.json, talk),
        AuditAction::Robots(args) => robots::run(args, command.json, talk),
        AuditAction::Blacklist(args) => blacklist::run(args, command.json, talk),
        AuditAction::Report(args) => report::run(args, command.json, talk),
        AuditAction::Orphans(args) => orphans::run(args, command.json, talk),
        AuditAction::Bloat(args) => bloat::run(args, command.json, talk),
        AuditAction::Cap(args) => bloat::cap(args, command.json, talk),
        AuditAction::Impact(args) => impact::run(args, command.json, talk),
        AuditAction::Diff(args) => diff::run(args, command.json, talk),
        AuditAction::Clean(args) => clean::run(args, command.json, talk),
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

/// The zone that `--tz` names.
///
/// # Errors
/// When there is no such zone.
fn time_zone(text: &str) -> Result<Zone, Failure> {
    Zone::parse(text).ok_or_else(|| {
        let failure = Failure::bad_input(format!("`--tz {text}` is no time zone"));
        let near = Zone::names_like(text);
        if near.is_empty() {
            return failure.hint("give a name such as Europe/Kyiv, or a shift such as +02:00");
        }
        failure.hint(format!("did you mean `{}`?", near.join("`, `")))
    })
}

/// An error of a store as a failure.
fn failure(error: &culprit_audit::Error) -> Failure {
    let stopped = matches!(error, culprit_audit::Error::Stopped { .. });
    let what = error.to_string();
    let failure = match (stopped, error.is_refusal()) {
        (true, _) => Failure::interrupted(what),
        (_, true) => Failure::refused(what),
        _ => Failure::bad_input(what),
    };
    error.hints().into_iter().fold(failure, Failure::hint)
}
