//! `culprit bench compare`: kept results against each other.

use crate::args::{BenchCompareArgs, FailOnVerdict};
use crate::failure::{Failure, Outcome};
use crate::json::BenchCompareDocument;
use crate::output::Output;
use crate::saved::{Changes, Saved, changes};
use crate::text::bench_compare_text;

/// Runs it: every file after the first against the first.
///
/// # Errors
/// When a file cannot be read, or holds results of other work.
pub(super) fn run(args: &BenchCompareArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let first = Saved::read(&args.before)?;
    let later: Vec<Saved> =
        args.after.iter().map(|path| Saved::read(path)).collect::<Result<_, _>>()?;
    let found: Vec<(&Saved, Changes)> = later
        .iter()
        .map(|after| Ok((after, changes(&first, after, args.band)?)))
        .collect::<Result<_, Failure>>()?;
    if output.wants_json() {
        output.document(&BenchCompareDocument::new(&first, &found))?;
    } else {
        let text = bench_compare_text(&first, &found, output);
        output.print(&text)?;
    }
    let judged =
        found.iter().flat_map(|(_, changes)| &changes.rows).filter(|row| row.metric.judged);
    let fails = judged.map(|row| FailOnVerdict::from(row.verdict));
    let fails = fails.into_iter().any(|verdict| args.fail_on.contains(&verdict));
    Ok(if fails { Outcome::Found } else { Outcome::Done })
}
