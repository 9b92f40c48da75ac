//! `config prove`: runs or joins a program, and says which variables it read.
//!
//! ```text
//! plan     which variables are watched in which round                    rounds
//! run      the command with the decoy, observed by the recorder crate    run
//! hooks    what language runtimes load to report names                   hooks, python, report
//! wait     holds the command of a container until it is observed           wait
//! gather   facts of all rounds to observations with grades               gather
//! flip     runs with another value, whose output is compared             flip
//! ```

mod flip;
mod gather;
mod hooks;
mod python;
mod report;
mod rounds;
mod run;
mod wait;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use culprit_config::Proof;
use culprit_place::Pid;

pub(crate) use rounds::rounds;
pub(crate) use wait::become_command;

use crate::failure::Failure;
use crate::session::Control;

/// What is to be proved.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Whom it is about.
    pub(crate) subject: Subject,
    /// The variables of each round, at least one round.
    pub(crate) rounds: Vec<Vec<String>>,
    /// Variables that are set and watched in no round.
    pub(crate) not_armed: Vec<String>,
    /// The variables of which a finding says that nobody reads them; none: all that are watched.
    pub(crate) concerned: Option<BTreeSet<String>>,
    /// Whether a decoy is added.
    pub(crate) decoy: bool,
    /// Whether runtimes are asked by their own means.
    pub(crate) runtimes: bool,
    /// Values to compare with.
    pub(crate) flips: Vec<(String, String)>,
    /// When to stop observing.
    pub(crate) limit: Option<Duration>,
    /// Where the command's output goes, if not to our stderr.
    pub(crate) log: Option<PathBuf>,
}

impl Plan {
    /// A command in a place, with the variables of each round. Its output goes to a file.
    pub(crate) fn of_command(
        command: &[String],
        place: Box<dyn culprit_place::Place>,
        rounds: Vec<Vec<String>>,
        (log, limit): (PathBuf, Option<Duration>),
    ) -> Self {
        Self {
            subject: Subject::Command(command.to_vec(), place),
            rounds,
            not_armed: Vec::new(),
            concerned: None,
            decoy: true,
            runtimes: true,
            flips: Vec::new(),
            limit,
            log: Some(log),
        }
    }
}

/// Whom a proof is about.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A command, in a place.
    Command(Vec<String>, Box<dyn culprit_place::Place>),
    /// Processes that run, as the user named them.
    Running(Vec<Pid>, String),
}

/// Runs the plan.
///
/// # Errors
/// When the command cannot be started, or no process can be observed.
pub(crate) fn prove(plan: &Plan, control: &Control) -> Result<Proof, Failure> {
    let mut gathered = gather::Gathered::new(plan);
    for watched in &plan.rounds {
        let control = control.next();
        let round = run::round(plan, watched, &control)?;
        gathered.add(&round);
        if control.interrupted() {
            break;
        }
    }
    if let Subject::Command(words, place) = &plan.subject {
        for flipped in &plan.flips {
            let verdict = flip::compare(place.as_ref(), words, flipped, control)?;
            gathered.add_flip(&flipped.0, verdict);
        }
    }
    Ok(gathered.conclude())
}
