//! `culprit casebook`: the worked cases.

use std::path::PathBuf;

use crate::args::{CasebookAction, CasebookArgs, RunArgs};
use crate::casebook::{self, Case, Effort, Ran, Shelf, Told};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupts;
use crate::json::{CaseDocument, CaseJson, CaseRunDocument, CasesDocument};
use crate::output::Output;
use crate::session::Control;
use crate::text::{case_text, list_text, told_text};

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
            let missing = casebook::missing(&case);
            if output.wants_json() {
                output.document(&CaseDocument::new(&case, &missing))?;
            } else {
                let text = case_text(&case, &missing, output);
                output.print(&text)?;
            }
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
            let missing = casebook::missing(&case);
            Ok((case, missing))
        })
        .collect::<Result<_, Failure>>()?;
    if output.wants_json() {
        output.document(&CasesDocument::new(&cases))?;
    } else {
        let text = list_text(&cases, output);
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}

/// What became of a case.
#[derive(Debug)]
pub(crate) enum Became {
    /// It was measured.
    Told(Box<Told>),
    /// This machine lacks these things.
    Skipped(Vec<String>),
    /// It could not be built or measured.
    Failed(Failure),
}

fn run_cases(args: &RunArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let shelf = shelf(args.dir.as_ref());
    let names = if args.all { shelf.names()? } else { args.name.clone() };
    // All are read before anything runs.
    let cases: Vec<Case> = names.iter().map(|name| shelf.case(name)).collect::<Result<_, _>>()?;
    let effort = if args.short { Effort::Short } else { Effort::Full };
    let control = Control::new();
    let signalled = control.clone();
    let interrupts = Interrupts::watch(move |interrupt| signalled.interrupt(interrupt))?;
    let progress = output.progress();
    let (mut results, mut interrupted): (Vec<(&Case, Became)>, bool) = (Vec::new(), false);
    for case in &cases {
        let missing = casebook::missing(case);
        let became = if missing.is_empty() {
            let how = (&shelf, effort, args.keep.as_deref());
            match casebook::run(case, how, (&control, &progress), output) {
                Ok(Ran::Told(told)) => Became::Told(told),
                Ok(Ran::Interrupted) => {
                    interrupted = true;
                    break;
                }
                Err(failure) => Became::Failed(failure),
            }
        } else {
            Became::Skipped(missing)
        };
        // Results come as they are there: the next case may take long, or be cut.
        progress.clear_for(|| tell(case, &became, output))?;
        results.push((case, became));
    }
    progress.clear();
    drop(interrupts);
    if output.wants_json() {
        let rows = results.iter().map(|(case, became)| CaseJson::new(case, became)).collect();
        output.document(&CaseRunDocument::new(rows, interrupted))?;
    }
    if interrupted {
        return Ok(Outcome::Interrupted);
    }
    ended(results, args.all)
}

fn tell(case: &Case, became: &Became, output: &mut Output) -> Result<(), Failure> {
    if output.wants_json() {
        return Ok(());
    }
    let text = told_text(case, became, output);
    output.print(&text)
}

/// A case that could not be measured leaves the question open, whatever the others told; so does one
/// that was asked for by its name and lacks something here.
fn ended(results: Vec<(&Case, Became)>, all: bool) -> Result<Outcome, Failure> {
    let none_ran = results.iter().all(|(_, became)| matches!(became, Became::Skipped(_)));
    let as_expected = |became: &Became| match became {
        Became::Told(told) => told.as_expected(),
        Became::Skipped(_) | Became::Failed(_) => true,
    };
    let outcome = if results.iter().all(|(_, became)| as_expected(became)) {
        Outcome::Done
    } else {
        Outcome::Found
    };
    for (case, became) in results {
        match became {
            Became::Failed(failure) => return Err(failure.into_refused().of(&case.name)),
            Became::Skipped(missing) if !all || none_ran => {
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
