//! `culprit bench compare`: kept results against each other.

use std::path::Path;

use culprit_report::saved::{BenchCompareDocument, Changes, Saved, bench_compare_text, changes};

use crate::args::{BenchCompareArgs, FailOnVerdict};
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::Output;

/// Runs it: every file after the first against the first.
///
/// # Errors
/// When a file cannot be read, or holds results of other work.
pub(super) fn run(args: &BenchCompareArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let first = read(&args.before)?;
    let later: Vec<Saved> = args.after.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let found: Vec<(&Saved, Changes)> = later
        .iter()
        .map(|after| Ok((after, changes(&first, after, args.band)?)))
        .collect::<Result<_, Failure>>()?;
    let document = || BenchCompareDocument::new(&first, &found);
    output.show(document, |layout| bench_compare_text(&first, &found, layout))?;
    let judged =
        found.iter().flat_map(|(_, changes)| &changes.rows).filter(|row| row.metric.judged);
    let fails = judged.map(|row| FailOnVerdict::from(row.verdict));
    let fails = fails.into_iter().any(|verdict| args.fail_on.contains(&verdict));
    Ok(if fails { Outcome::Found } else { Outcome::Done })
}

fn read(path: &Path) -> Result<Saved, Failure> {
    let what = || format!("cannot read the results `{}`", path.display());
    let text = std::fs::read_to_string(path).or_bad_input(what)?;
    Ok(Saved::parse(path, &text)?)
}
