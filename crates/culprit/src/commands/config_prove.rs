//! `culprit config prove`: which variables a program really reads.

use std::collections::BTreeSet;
use std::time::Duration;

use culprit_config::{Configuration, Proof, SourceKind};
use culprit_place::{Pid, PlaceSpec, procfs, running_container};
use culprit_report::config::json::ProofDocument;
use culprit_report::config::text;

use super::config::inspected;
use crate::args::{ConfigProveArgs, ConfigSourceArgs, RuntimeProbes};
use crate::failure::{Context as _, Failure, Outcome};
use crate::interrupt::interruptible;
use crate::output::Output;
use crate::prove::{Plan, Subject, prove, rounds};
use crate::running::redactor_with;
use crate::{places, settings};

/// Runs it.
///
/// # Errors
/// When the command cannot be started, or no process can be observed.
pub(crate) fn run(args: &ConfigProveArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let plan = plan(args)?;
    let proof = interruptible(|control| prove(&plan, control))??;
    if let Some(path) = &args.output {
        let mut text = serde_json::to_string_pretty(&ProofDocument::new(&proof))
            .or_refused(|| "cannot write the JSON".to_owned())?;
        text.push('\n');
        std::fs::write(path, text).or_bad_input(|| format!("cannot write `{}`", path.display()))?;
    }
    if output.wants_json() {
        output.document(&ProofDocument::new(&proof))?;
    } else {
        let text = text::proof(&proof, args.all, output.layout());
        output.print(&text)?;
    }
    Ok(outcome(&proof))
}

/// A missing right makes the answer one with gaps. So do variables that were to be watched and were not.
fn outcome(proof: &Proof) -> Outcome {
    let notes = ["flip", "exit", "not_armed"];
    let gap = proof.gaps.iter().any(|gap| !notes.contains(&gap.kind.as_str()));
    if gap { Outcome::Gaps } else { Outcome::Done }
}

fn plan(args: &ConfigProveArgs) -> Result<Plan, Failure> {
    let subject = subject(args)?;
    let mut present: Vec<String> = match &subject {
        Subject::Command(_, place) => {
            let variables = place.environment().map_err(|error| places::failure(&error))?;
            variables.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
        }
        Subject::Running(pids, _) => {
            let variables = pids.first().map(|pid| procfs::environment(*pid));
            let variables = variables.transpose().map_err(|error| places::failure(&error))?;
            let names = variables.unwrap_or_default().into_iter();
            names.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
        }
    };
    present.sort();
    let runs = matches!(subject, Subject::Command(..));
    let project = if runs && args.vars.is_empty() { of_project() } else { BTreeSet::new() };
    let decoy = runs && !args.no_decoy;
    let most = if runs { usize::from(args.rounds) } else { 1 };
    let (rounds, not_armed) = rounds(&args.vars, (&present, &project), decoy, most);
    Ok(Plan {
        subject,
        rounds,
        not_armed,
        concerned: if args.vars.is_empty() { Some(project) } else { None },
        decoy,
        runtimes: args.runtime == RuntimeProbes::Auto,
        flips: args.flip.clone(),
        limit: args.duration.map(Duration::from_secs),
        log: None,
    })
}

/// The variables that the project in this folder asks for, or that set one of its keys.
fn of_project() -> BTreeSet<String> {
    let inspection = redactor_with(None, None)
        .and_then(|redactor| inspected(&ConfigSourceArgs::default(), None, redactor));
    // A folder without configuration asks for none.
    let found = inspection.map(|inspection| inspection.found).unwrap_or_default();
    let of = |one: &Configuration| {
        let is_of_shell = |at: usize| one.sources[at].kind == SourceKind::ProcessEnvironment;
        let set = one.variables.iter().filter(|variable| is_of_shell(variable.source));
        set.map(|variable| &variable.name).chain(one.asked.keys()).cloned().collect::<Vec<_>>()
    };
    found.iter().flat_map(of).collect()
}

fn subject(args: &ConfigProveArgs) -> Result<Subject, Failure> {
    if let Some(pid) = args.pid {
        let pids = procfs::tree(Pid(pid)).map_err(|error| places::failure(&error))?;
        return Ok(Subject::Running(pids, format!("process {pid}")));
    }
    if let Some(name) = &args.container {
        let container = running_container(name, &settings::of_places());
        let cgroup = container.and_then(|container| container.cgroup());
        let members = cgroup.and_then(|cgroup| cgroup.members());
        let pids = members.map_err(|error| places::failure(&error))?;
        return Ok(Subject::Running(pids, format!("container {name}")));
    }
    let spec = args.place.as_deref().map(places::spec).transpose()?.unwrap_or(PlaceSpec::HOST);
    Ok(Subject::Command(args.command.clone(), places::open(&spec)?))
}
