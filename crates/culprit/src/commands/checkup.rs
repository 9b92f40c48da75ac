//! What `doctor --place` measures: the cheap probes, each a few rounds, within seconds.

use std::time::Duration;

use culprit_engine::stats::Stopping;
use culprit_experiment::measured_findings;
use culprit_model::Finding;
use culprit_place::PlaceSpec;
use culprit_probe::inside::Clock;
use culprit_probe::probes::copy_up::{CopyUp, Size};
use culprit_probe::probes::files::Files;
use culprit_probe::probes::notify::{Notify, Reader};
use culprit_probe::probes::start::Start;
use culprit_probe::probes::syscall::Syscall;
use culprit_probe::{Answer, Asked, Plan, Probe, Role, Stopped};

use super::probe::{Measured, failure, measure};
use crate::failure::{Context as _, Failure};
use crate::output::Output;

/// No probe is begun after this time; the longest takes a few seconds.
const ENOUGH: Duration = Duration::from_secs(14);
/// Rounds of each: the fewest whose range holds the median with 94 %.
const ROUNDS: u32 = 5;
/// A small look does not tell small differences.
const BAND: f64 = 0.10;

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Checkup {
    /// What makes the place dearer than the host.
    pub(super) causes: Vec<Finding>,
    /// Whether it is, by each probe.
    pub(super) places: Vec<Finding>,
    /// What is to be known about the place.
    pub(super) facts: Vec<String>,
    /// Probes that were run.
    pub(super) probes: Vec<&'static str>,
    /// Probes that could not be run, or not in time, and why.
    pub(super) left_out: Vec<String>,
    /// How long that took.
    pub(super) took: Duration,
}

fn probes() -> Vec<Box<dyn Probe>> {
    vec![
        Box::new(Syscall { calls: 20_000, batches: 5 }),
        Box::new(Files { count: 300, records: 200, ..Files::default() }),
        Box::new(CopyUp { sizes: vec![Size::M1], tree: 0 }),
        Box::new(Start { spawns: 20, forks: 50, runtime: false, cold: false }),
        Box::new(Notify {
            readers: vec![Reader::Inotify],
            think: Duration::from_millis(5),
            duration: Duration::from_millis(50),
        }),
    ]
}

/// Measures a place against the host; nothing where the place is the host.
///
/// # Errors
/// When nothing could be measured at all.
pub(super) fn checkup(place: &PlaceSpec, output: &mut Output) -> Result<Checkup, Failure> {
    let mut told = Checkup::default();
    if matches!(place, PlaceSpec::Host { .. }) {
        return Ok(told);
    }
    let begun = Clock::now();
    let passed = || Duration::from_nanos(Clock::now() - begun);
    for probe in probes() {
        let id = probe.id();
        if passed() > ENOUGH {
            told.left_out.push(format!(
                "{id}: not measured, the time was over; run: culprit bench {id} --place host \
                 --place {place}"
            ));
            continue;
        }
        match one(probe, place, output) {
            Ok(answer) if answer.stopped == Stopped::Interrupted => {
                return Err(Failure::interrupted(format!("cannot measure {place}: interrupted")));
            }
            Ok(answer) => told.take(id, &answer),
            Err(failure) => told.left_out.push(format!("{id}: {failure}")),
        }
    }
    told.took = passed();
    Ok(told)
}

impl Checkup {
    fn take(&mut self, id: &'static str, answer: &Answer) {
        let mut found = measured_findings(answer);
        self.causes.append(&mut found.causes);
        self.places.append(&mut found.places);
        let facts = answer.arms.iter().flat_map(|arm| &arm.facts);
        self.facts.extend(facts.cloned());
        let mut candidates = answer.arms.iter().filter(|arm| arm.arm.role == Role::Candidate);
        if candidates.any(|arm| arm.samples.iter().any(Option::is_some)) {
            self.probes.push(id);
        }
        let problems = answer.arms.iter().filter_map(|arm| arm.problem.as_ref());
        self.left_out.extend(problems.map(|problem| format!("{id}: {problem}")));
    }
}

fn one(probe: Box<dyn Probe>, place: &PlaceSpec, output: &mut Output) -> Result<Answer, Failure> {
    let host_dir =
        std::env::current_dir().or_refused(|| "cannot find the current folder".to_owned())?;
    let asked = Asked {
        places: vec![PlaceSpec::HOST, place.clone()],
        at: Vec::new(),
        host_dir,
        control: false,
    };
    let arms = probe.arms(&asked).map_err(|error| failure(&error))?;
    let stopping = Stopping { least: ROUNDS, ..Stopping::for_band(BAND, ROUNDS) };
    let plan = Plan { probe, arms, warmup: 1, stopping, budget_ns: 0, band: BAND };
    let Measured { session, left, .. } = measure(&plan, output, |_, _| ())?;
    match left.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(Answer::new(&plan, &session)),
    }
}
