//! `culprit casebook`: the worked cases.

use std::path::PathBuf;

use culprit_experiment::casebook::{self, Case, CaseOutcome, Effort, Shelf};
use culprit_report::experiment::{
    CaseDocument, CaseJson, CaseRunDocument, CasesDocument, case_outcome_text, case_text,
    cases_text,
};

use crate::args::{CasebookAction, CasebookArgs, RunArgs};
use crate::failure::{Failure, Outcome};
use crate::interrupt::interruptible;
use crate::output::Output;
use crate::session::Settings;
use crate::settings::{has_program, of_places};
use crate::workbench::{SessionRecorder, workbench};

/// Runs it.
///
/// # Errors
/// When there is no such case, one is described wrongly, or one could not be built or measured; what
/// the others told is shown before.
pub(crate) fn run(args: &CasebookArgs, output: &mut Output) -> Result<Outcome, Failure> {
    match &args.action {
        None => list(None, output),
        Some(CasebookAction::List(args)) => list(args.dir.as_ref(), output),
        Some(CasebookAction::Show(args)) => {
            let case = shelf(args.dir.as_ref()).case(&args.name)?;
            let missing = missing(&case);
            let document = || CaseDocument::new(&case, &missing);
            output.show(document, |layout| case_text(&case, &missing, layout))?;
            Ok(Outcome::Done)
        }
        Some(CasebookAction::Run(args)) => run_cases(args, output),
    }
}

fn shelf(folder: Option<&PathBuf>) -> Shelf {
    folder.map_or(Shelf::Carried, |folder| Shelf::Folder(folder.clone()))
}

fn list(folder: Option<&PathBuf>, output: &mut Output) -> Result<Outcome, Failure> {
    let shelf = shelf(folder);
    let names = shelf.names()?;
    let cases: Vec<(Case, Vec<String>)> = names
        .iter()
        .map(|name| {
            let case = shelf.case(name)?;
            let missing = missing(&case);
            Ok((case, missing))
        })
        .collect::<Result<_, Failure>>()?;
    output.show(|| CasesDocument::new(&cases), |layout| cases_text(&cases, layout))?;
    Ok(Outcome::Done)
}

/// What this machine lacks for a case.
fn missing(case: &Case) -> Vec<String> {
    casebook::missing(case, &has_program, &of_places())
}

fn run_cases(args: &RunArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let shelf = shelf(args.dir.as_ref());
    let names = if args.all { shelf.names()? } else { args.name.clone() };
    // All are read before anything runs.
    let cases: Vec<Case> = names.iter().map(|name| shelf.case(name)).collect::<Result<_, _>>()?;
    let effort = if args.short { Effort::Short } else { Effort::Full };
    let progress = output.progress();
    let settings = Settings::default();
    let recorder = SessionRecorder { settings: &settings };
    let (mut results, mut interrupted): (Vec<(&Case, CaseOutcome)>, bool) = (Vec::new(), false);
    interruptible(|control| {
        let bench = workbench(control, &progress, &recorder);
        for case in &cases {
            let missing = missing(case);
            let outcome = if missing.is_empty() {
                match casebook::run(case, (&shelf, effort, args.keep.as_deref()), &bench) {
                    Ok(Some(result)) => CaseOutcome::Measured(Box::new(result)),
                    Ok(None) => {
                        interrupted = true;
                        break;
                    }
                    Err(error) => CaseOutcome::Failed(error),
                }
            } else {
                CaseOutcome::Skipped(missing)
            };
            // Results come as they are there: the next case may take long, or be cut.
            progress.clear_for(|| show(case, &outcome, output))?;
            results.push((case, outcome));
        }
        progress.clear();
        Ok::<_, Failure>(())
    })??;
    if output.wants_json() {
        let rows = results.iter().map(|(case, outcome)| CaseJson::new(case, outcome)).collect();
        output.document(&CaseRunDocument::new(rows, interrupted))?;
    }
    if interrupted {
        return Ok(Outcome::Interrupted);
    }
    ended(results, args.all)
}

fn show(case: &Case, outcome: &CaseOutcome, output: &mut Output) -> Result<(), Failure> {
    if output.wants_json() {
        return Ok(());
    }
    let text = case_outcome_text(case, outcome, output.layout());
    output.print(&text)
}

/// A case that could not be measured leaves the question open, whatever the others told; so does one
/// that was asked for by its name and lacks something here.
fn ended(results: Vec<(&Case, CaseOutcome)>, all: bool) -> Result<Outcome, Failure> {
    let none_ran = results.iter().all(|(_, outcome)| matches!(outcome, CaseOutcome::Skipped(_)));
    let as_expected = |outcome: &CaseOutcome| match outcome {
        CaseOutcome::Measured(result) => result.as_expected(),
        CaseOutcome::Skipped(_) | CaseOutcome::Failed(_) => true,
    };
    let all_expected = results.iter().all(|(_, outcome)| as_expected(outcome));
    let outcome = if all_expected { Outcome::Done } else { Outcome::Found };
    for (case, became) in results {
        match became {
            CaseOutcome::Failed(error) => {
                return Err(Failure::from(error).into_refused().of(&case.name));
            }
            CaseOutcome::Skipped(missing) if !all || none_ran => {
                let lacks = missing.join(", ");
                return Err(Failure::refused(format!(
                    "cannot run the case `{}`: this machine lacks {lacks}",
                    case.name
                ))
                .hint("`culprit casebook list` shows which cases this machine can run"));
            }
            _ => {}
        }
    }
    Ok(outcome)
}
