//! `culprit critical-path REC`: what a thread's time was really spent on, followed through wakers.

use culprit_engine::causes::Causes;
use culprit_engine::wakers::{Lives, Scope, selected_path};
use culprit_model::{Recording, ThreadId, Time};
use culprit_report::json::{OfRecording, PathDocument};
use culprit_report::views::{PathView, path_text};

use crate::args::PathArgs;
use crate::failure::{Context as _, Failure, Outcome};
use crate::load;
use crate::output::{Layout, Output};

/// Links unless the user says otherwise: what a screen holds.
const LINKS: usize = 40;

/// Runs it.
///
/// # Errors
/// When the recording cannot be read, or it does not tell whose path is meant.
pub(crate) fn run(args: &PathArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let recording = load::recording(&args.recording.recording, output)?;
    let (thread, range) = whose(args, &recording)?;
    let lives = Lives::of(&recording);
    let path = selected_path(&recording, &lives, thread, range);
    let causes = Causes::of(&recording);
    let view = PathView::new(&recording, &causes, thread, range, &path);
    let document = || PathDocument::new(&view, args.limit.unwrap_or(0));
    let text = |layout: &Layout| path_text(&view, args.limit.unwrap_or(LINKS), layout);
    output.show(|| OfRecording::new(&recording, document()), text)?;
    Ok(Outcome::Done)
}

/// The thread whose path is meant, and from when to when.
///
/// # Errors
/// When no thread matches, or it did not live in the range that is asked for.
pub(super) fn whose(
    args: &PathArgs,
    recording: &Recording,
) -> Result<(ThreadId, (Time, Time)), Failure> {
    let command = match Scope::of(recording) {
        Scope::Command { thread, from, to } => Some((thread, (from, to))),
        Scope::Service => None,
    };
    let Some(wanted) = &args.thread else {
        let (thread, whole) = command.ok_or_else(|| {
            Failure::bad_input("cannot follow the critical path: no command ends in this recording")
                .hint("name a thread with `--thread NAME`; limit the time with `--from` and `--to`")
        })?;
        return Ok((thread, cut(args, whole)?));
    };
    let patterns = culprit_engine::calls::Patterns::parse(wanted)
        .or_bad_input(|| format!("cannot read the thread `{wanted}`"))?;
    let ids = (0..recording.threads.len()).map(ThreadId::from_index);
    let fits =
        |id: &ThreadId| recording.thread(*id).recorded && patterns.any(&recording.thread_name(*id));
    let length = |id: &ThreadId| recording.thread_end(*id).since(recording.thread(*id).start);
    let found = ids.filter(fits).max_by_key(|id| (length(id), std::cmp::Reverse(*id)));
    let thread = found.ok_or_else(|| {
        Failure::bad_input(format!("cannot follow the critical path: no thread matches `{wanted}`"))
            .hint("`culprit report REC` lists the threads")
    })?;
    let whole = (recording.thread(thread).start, recording.thread_end(thread));
    Ok((thread, cut(args, whole)?))
}

fn cut(args: &PathArgs, (from, to): (Time, Time)) -> Result<(Time, Time), Failure> {
    let range = (args.from.unwrap_or(from).max(from), args.to.unwrap_or(to).min(to));
    if range.0 >= range.1 {
        return Err(Failure::bad_input(format!(
            "cannot follow the critical path: the thread runs from {} to {}; `--from` and `--to` \
             select no part of that",
            culprit_model::Nanos(from.0),
            culprit_model::Nanos(to.0)
        ))
        .hint("give a `--from` and a `--to` within that time"));
    }
    Ok(range)
}
