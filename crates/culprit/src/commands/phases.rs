//! `culprit phases REC`: what a run did one after the other, by where what it does changes.

use culprit_engine::phases::Phases;
use culprit_engine::wakers::Scope;
use culprit_model::{Nanos, Recording, Time};
use culprit_report::json::{OfRecording, PhasesDocument};
use culprit_report::views::{PhasesView, first_findings, phases_text};

use super::critical_path;
use crate::args::PathArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::{Layout, Output};

/// Places of a phase unless the user says otherwise.
const PLACES: usize = 5;

/// Runs it.
///
/// # Errors
/// When the recording cannot be read, or nothing of the range that is asked for was recorded.
pub(crate) fn run(args: &PathArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let recording = load::recording(&args.recording.recording, output)?;
    let (phases, counted, thread) = if args.thread.is_some() {
        let (thread, range) = critical_path::whose(args, &recording)?;
        let name = recording.thread_name(thread);
        let counted =
            format!("the run time of thread {name}: each moment given to what it was waiting for");
        (Phases::of_thread(&recording, thread, range), counted, Some(thread))
    } else {
        let range = selected_range(args, &recording)?;
        let counted = match Scope::of(&recording) {
            Scope::Command { .. } => {
                "the run time: each moment given to what the run was waiting for"
            }
            Scope::Service => "the busy time of all threads: all of it but idle waits",
        };
        (Phases::of_range(&recording, range), counted.to_owned(), None)
    };
    if phases.too_short {
        output.say("too short to find phases: at least 80 ms are needed (8 windows of 10 ms)");
    }
    let findings = first_findings(&recording, &phases.phases, thread);
    let view = PhasesView { phases: &phases, findings: &findings, counted: &counted };
    let document = || PhasesDocument::new(&view, args.limit.unwrap_or(0));
    let text = |layout: &Layout| phases_text(&view, args.limit.unwrap_or(PLACES), layout);
    output.show(|| OfRecording::new(&recording, document()), text)?;
    Ok(Outcome::Done)
}

/// The part of the recording's time that is asked for.
fn selected_range(args: &PathArgs, recording: &Recording) -> Result<(Time, Time), Failure> {
    let end = Time(recording.meta.wall.0);
    let range = (args.from.unwrap_or(Time::START), args.to.unwrap_or(end).min(end));
    if range.0 >= range.1 {
        return Err(Failure::bad_input(format!(
            "cannot find phases: the recording ends at {}; `--from` and `--to` select no part \
             of it",
            Nanos(end.0)
        )));
    }
    Ok(range)
}
