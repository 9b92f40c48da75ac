//! `culprit phases REC`: start-up, steady state and end of a run, by where what it does changes.

use culprit_engine::phases::Phases;
use culprit_engine::wakers::Scope;
use culprit_model::{Nanos, Time};

use super::critical_path;
use crate::args::PathArgs;
use crate::failure::{Failure, Outcome};
use crate::json::{OfRecording, PhasesDocument};
use crate::load;
use crate::output::Output;
use crate::views::phases_text;

/// Places of a phase unless the user says otherwise.
const PLACES: usize = 5;

/// Runs it.
///
/// # Errors
/// When the recording cannot be read, or nothing of the range that is asked for was recorded.
pub(crate) fn run(args: &PathArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let recording = load::recording(&args.recording.recording, output)?;
    let (phases, counted) = if args.thread.is_some() {
        let (thread, range) = critical_path::whose(args, &recording)?;
        let name = recording.thread_name(thread);
        let counted =
            format!("the run time of thread {name}: each moment given to what it was waiting for");
        (Phases::of_thread(&recording, thread, range), counted)
    } else {
        let end = Time(recording.meta.wall.0);
        let range = (args.from.unwrap_or(Time::START), args.to.unwrap_or(end).min(end));
        if range.0 >= range.1 {
            return Err(Failure::bad_input(format!(
                "cannot find phases: the recording ends at {}; `--from` and `--to` select no part \
                 of it",
                Nanos(end.0)
            )));
        }
        let counted = match Scope::of(&recording) {
            Scope::Command { .. } => {
                "the run time: each moment given to what the run was waiting for"
            }
            Scope::Service => "the busy time of all threads: all of it but idle waits",
        };
        (Phases::of_range(&recording, range), counted.to_owned())
    };
    if phases.too_short {
        output.say("too short to find phases: at least 80 ms are needed (8 windows of 10 ms)");
    }
    if output.wants_json() {
        let document = PhasesDocument::new(&phases, args.limit.unwrap_or(0));
        output.document(&OfRecording::new(&recording, document))?;
    } else {
        let text = phases_text(&phases, &counted, args.limit.unwrap_or(PLACES), output);
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}
