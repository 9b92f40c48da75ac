//! `culprit activities REC`: how long requests and operations took, and how that time passed.

use culprit_engine::activities::Survey;
use culprit_engine::calls::Patterns;
use culprit_model::{Activity, ActivityId, LossKind, Recording};
use culprit_report::json::{ActivitiesDocument, OfRecording};
use culprit_report::views::{ActivitiesView, activities_text};

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
    let chosen = Chosen::new(args)?;
    let recording = load::recording(&args.recording.recording, output)?;
    let survey = Survey::of(&recording);
    let holds = |_, activity: &Activity| chosen.holds(&recording, activity);
    let rows = match args.by {
        Some(ActivitiesBy::Process) => survey.by_process(holds),
        None => survey.by_name(holds),
    };
    if rows.is_empty() {
        output.say(&format!("nothing to show: {}", why_empty(&recording)));
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

fn why_empty(recording: &Recording) -> String {
    let refused = recording.losses.iter().find(|loss| loss.kind == LossKind::ProbesRefused);
    match refused {
        _ if !recording.activities.is_empty() => {
            "no activity of the recording matches the filter".to_owned()
        }
        Some(loss) => format!("the recording has no activities: {}", loss.detail),
        None => "the recording has no activities; record them with `culprit record --activity \
                 NAME=serve:PORT` or `--activity NAME=FUNCTION`"
            .to_owned(),
    }
}

/// The activities that the options choose.
struct Chosen<'a> {
    args: &'a ActivitiesArgs,
    name: Patterns,
    process: Patterns,
    thread: Patterns,
}

impl<'a> Chosen<'a> {
    fn new(args: &'a ActivitiesArgs) -> Result<Self, Failure> {
        let patterns = |option: &str, text: &str| {
            Patterns::parse(text).or_bad_input(|| format!("cannot read `--{option} {text}`"))
        };
        if let (Some(from), Some(to)) = (args.from, args.to)
            && from > to
        {
            return Err(Failure::bad_input(
                "cannot show activities: `--from` is later than `--to`",
            )
            .hint(
                "both times count from the start of the recording, such as `--from 2s --to 3.5s`",
            ));
        }
        Ok(Self {
            args,
            name: patterns("name", &args.name)?,
            process: patterns("process", &args.process)?,
            thread: patterns("thread", &args.thread)?,
        })
    }

    fn holds(&self, recording: &Recording, activity: &Activity) -> bool {
        let fits = |patterns: &Patterns, name: &str| patterns.is_empty() || patterns.any(name);
        let process = || recording.process_name(recording.thread(activity.thread).process);
        fits(&self.name, &activity.name)
            && self.args.from.is_none_or(|from| activity.start >= from)
            && self.args.to.is_none_or(|to| activity.start <= to)
            && (self.process.is_empty() || fits(&self.process, &process()))
            && (self.thread.is_empty()
                || fits(&self.thread, &recording.thread_name(activity.thread)))
    }
}
