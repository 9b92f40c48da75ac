//! `culprit activities REC`: how long requests and operations took, and how that time passed.

use culprit_engine::activities::Survey;
use culprit_engine::calls::Patterns;
use culprit_model::{Activity, ActivityId};
use culprit_report::json::{ActivitiesDocument, OfRecording};
use culprit_report::views::{ActivitiesView, ActivityChoice, activities_text, why_no_activities};

use crate::args::{ActivitiesArgs, ActivitiesBy};
use crate::failure::{Context as _, Failure, Outcome};
use crate::load;
use crate::output::Output;

/// Names unless the user says otherwise.
const NAMES: usize = 20;
/// How many of the slowest are listed.
const SLOWEST: usize = 10;

/// Runs it.
///
/// # Errors
/// When the recording or a pattern cannot be read.
pub(crate) fn run(args: &ActivitiesArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let chosen = chosen(args)?;
    let recording = load::recording(&args.recording.recording, output)?;
    let survey = Survey::of(&recording);
    let holds = |_, activity: &Activity| chosen.holds(&recording, activity);
    let rows = match args.by {
        Some(ActivitiesBy::Process) => survey.by_process(holds),
        None => survey.by_name(holds),
    };
    if rows.is_empty() {
        output.say(&format!("nothing to show: {}", why_no_activities(&recording)));
    }
    let ended: Vec<ActivityId> = rows.iter().flat_map(|row| row.ended.iter().copied()).collect();
    let slowest = survey.slowest(ended, SLOWEST);
    let json = output.wants_json();
    let limit = args.limit.unwrap_or(if json { 0 } else { NAMES });
    let shown = if limit == 0 { rows.len() } else { limit.min(rows.len()) };
    let view = ActivitiesView {
        recording: &recording,
        survey: &survey,
        rows: &rows[..shown],
        rows_left_out: rows.len() - shown,
        slowest: &slowest,
    };
    if json {
        output.document(&OfRecording::new(&recording, ActivitiesDocument::new(&view)))?;
    } else if !rows.is_empty() {
        let text = activities_text(&view, !args.name.is_empty(), output.layout());
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}

/// The activities that the options choose.
fn chosen(args: &ActivitiesArgs) -> Result<ActivityChoice, Failure> {
    let patterns = |option: &str, text: &str| {
        Patterns::parse(text).or_bad_input(|| format!("cannot read `--{option} {text}`"))
    };
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        return Err(Failure::bad_input("cannot show activities: `--from` is later than `--to`")
            .hint(
                "both times count from the start of the recording, such as `--from 2s --to 3.5s`",
            ));
    }
    Ok(ActivityChoice {
        name: patterns("name", &args.name)?,
        process: patterns("process", &args.process)?,
        thread: patterns("thread", &args.thread)?,
        from: args.from,
        to: args.to,
    })
}
