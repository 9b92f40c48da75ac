//! Carrying a probe out: prepare every arm, warm up, rounds until they tell enough, finish.

use culprit_engine::stats::{Stop, Stopping, order};

use crate::answer::ratios_that_count;
use crate::arm::{Arm, Role};
use crate::environment::{self, Environment};
use crate::error::{Error, Result};
use crate::inside::Clock;
use crate::machine::{Gate, Watch};
use crate::probe::Probe;
use crate::probes::storage::Storage;
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand, Workers, folder_name};

/// What is to be run.
#[derive(Debug)]
pub struct Plan {
    /// What is measured.
    pub probe: Box<dyn Probe>,
    /// What is compared, the baseline first.
    pub arms: Vec<Arm>,
    /// Rounds that are not counted.
    pub warmup: u32,
    /// When rounds end.
    pub stopping: Stopping,
    /// No round beyond the least number is begun that would end after this time, warm-up and all, ns.
    pub budget_ns: u64,
    /// What differs by less is the same.
    pub band: f64,
}

impl Plan {
    /// What a round of all arms takes at least, ns, where the probe tells.
    #[must_use]
    pub fn round_ns(&self) -> Option<u64> {
        let one = u64::try_from(self.probe.round_time()?.as_nanos()).ok()?;
        one.checked_mul(self.arms.len() as u64)
    }

    /// How many rounds there is time to warm up in, so that one that counts still fits; all that were asked
    /// for where a least number of rounds goes before the time.
    fn warmup(&self) -> u32 {
        match self.round_ns() {
            Some(round) if self.stopping.least <= 1 => {
                let fit = (self.budget_ns / round.max(1)).saturating_sub(1);
                self.warmup.min(u32::try_from(fit).unwrap_or(u32::MAX))
            }
            _ => self.warmup,
        }
    }
}

/// What the caller is asked and told meanwhile.
pub struct Hooks<'a> {
    /// Whether the user has asked to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// What is being done.
    pub doing: &'a dyn Fn(&str),
}

impl std::fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// Why rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// By the stopping rule.
    By(Stop),
    /// By the user.
    Interrupted,
    /// The baseline failed, or nothing was left to compare it with.
    Failed,
}

impl Stopped {
    /// Its id in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::By(Stop::Precise) => "precise",
            Self::By(Stop::Rounds) => "rounds",
            Self::By(Stop::Time) => "time",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Session {
    /// By arm, by round; none where the arm had failed.
    pub samples: Vec<Vec<Option<Sample>>>,
    /// What preparing each arm told.
    pub facts: Vec<Vec<String>>,
    /// Why an arm failed, by arm.
    pub problems: Vec<(usize, Error)>,
    /// Rounds that were finished.
    pub rounds: u32,
    /// Why they ended.
    pub stopped: Stopped,
    /// What the machine did meanwhile.
    pub gate: Gate,
    /// What it was measured on.
    pub environment: Environment,
    /// The file system that each arm's folder lies on, of probes that work with files.
    pub storage: Vec<Option<String>>,
}

impl Session {
    fn failed(&self, arm: usize) -> bool {
        self.problems.iter().any(|(other, _)| *other == arm)
    }
}

/// Does everything that is planned, with workers that the caller ends afterwards. What fails is kept
/// beside what was measured before and elsewhere.
#[must_use]
pub fn conduct(plan: &Plan, workers: &mut Workers, hooks: &Hooks<'_>) -> Session {
    let count = plan.arms.len();
    let mut session = Session {
        samples: vec![Vec::new(); count],
        facts: vec![Vec::new(); count],
        problems: Vec::new(),
        rounds: 0,
        stopped: Stopped::Failed,
        gate: Gate::default(),
        environment: environment::of_machine(),
        storage: vec![None; count],
    };
    let names: Vec<String> = match (0..count).map(|_| folder_name()).collect::<Result<_>>() {
        Ok(names) => names,
        Err(error) => {
            session.problems.push((0, error));
            return session;
        }
    };
    for (arm, name) in plan.arms.iter().zip(&names) {
        if let Some(folder) = &arm.host_dir {
            workers.remove_later(folder.join(name));
        }
    }
    let (round_ns, started_ns) = (plan.round_ns(), Clock::now());
    let mut conductor = Conductor { plan, names, workers, hooks, round_ns, started_ns };
    if conductor.prepare(&mut session) {
        conductor.rounds(&mut session);
        if plan.probe.has_second_pass() {
            conductor.second_pass(&mut session);
        }
    }
    conductor.finish(&mut session);
    session
}

struct Conductor<'a> {
    plan: &'a Plan,
    names: Vec<String>,
    workers: &'a mut Workers,
    hooks: &'a Hooks<'a>,
    /// What a round takes, as far as is known: what the probe says, then what the last one took.
    round_ns: Option<u64>,
    /// When all began, preparing and warming up too.
    started_ns: u64,
}

impl Conductor<'_> {
    fn stand(&mut self, arm: usize) -> Stand<'_> {
        let arms = self.plan.arms.as_slice();
        Stand::new((arms, arm), &self.names[arm], self.workers, self.hooks.interrupted)
    }

    /// Whether there is something to measure.
    fn prepare(&mut self, session: &mut Session) -> bool {
        for arm in 0..self.plan.arms.len() {
            if (self.hooks.interrupted)() {
                session.stopped = Stopped::Interrupted;
                return false;
            }
            (self.hooks.doing)(&format!("preparing {}", self.plan.arms[arm].label));
            match self.plan.probe.prepare(&mut self.stand(arm)) {
                Ok(facts) => session.facts[arm] = facts,
                Err(error) => note(session, arm, error),
            }
        }
        let warmup = self.plan.warmup();
        for done in 0..warmup {
            let left = self.left(0, warmup - done, 0);
            let begun = Clock::now();
            let _uncounted = self.round(session, ProbeRound::WARM_UP, &format!("warm-up{left}"));
            self.round_ns = Some(Clock::now() - begun);
        }
        self.worth_going_on(session)
    }

    fn rounds(&mut self, session: &mut Session) {
        let (started, mut watch) = (Clock::now(), Watch::default());
        loop {
            let begun = Clock::now();
            let spent_ns = begun - started;
            let left = self.left(session.rounds, 0, spent_ns);
            watch.look(Clock::now());
            let before = self.workers.cpu_ns();
            let round = ProbeRound::counted(session.rounds);
            let told = format!("round {}{left}", session.rounds + 1);
            let samples = self.round(session, round, &told);
            watch.ran(self.workers.cpu_ns() - before);
            if session.stopped == Stopped::Interrupted {
                break;
            }
            for (all, sample) in session.samples.iter_mut().zip(samples) {
                all.push(sample);
            }
            session.rounds += 1;
            if !self.worth_going_on(session) {
                break;
            }
            let now = Clock::now();
            // The next one takes about as long as this one.
            let out_of_time = now - self.started_ns + (now - begun) > self.plan.budget_ns;
            let ratios = || ratios_that_count(self.plan, session);
            if let Some(stop) = self.plan.stopping.decide(session.rounds, out_of_time, ratios) {
                session.stopped = Stopped::By(stop);
                break;
            }
        }
        watch.look(Clock::now());
        let rounds = session.rounds;
        session.gate = watch.gate(&|round| round < rounds);
    }

    /// What the probe does with every finished round after all of them, in the order of the rounds.
    fn second_pass(&mut self, session: &mut Session) {
        for number in 0..session.rounds {
            let round = ProbeRound::counted(number);
            for arm in order(self.plan.arms.len(), number) {
                if session.failed(arm) || session.stopped == Stopped::Interrupted {
                    continue;
                }
                if (self.hooks.interrupted)() {
                    session.stopped = Stopped::Interrupted;
                    return;
                }
                let label = &self.plan.arms[arm].label;
                (self.hooks.doing)(&format!("round {}, second pass: {label}", number + 1));
                match self.plan.probe.measure_again(&mut self.stand(arm), round) {
                    Ok(more) => {
                        let first = session.samples[arm].get_mut(number as usize);
                        if let Some(Some(sample)) = first {
                            sample.values.extend(more.values);
                            sample.latencies.extend(more.latencies);
                        }
                    }
                    Err(error) => note(session, arm, error),
                }
            }
        }
    }

    /// Every arm once, in an order of its own.
    fn round(
        &mut self,
        session: &mut Session,
        round: ProbeRound,
        told: &str,
    ) -> Vec<Option<Sample>> {
        let mut samples = vec![None; self.plan.arms.len()];
        for arm in order(self.plan.arms.len(), round.number) {
            if session.failed(arm) {
                continue;
            }
            if (self.hooks.interrupted)() {
                session.stopped = Stopped::Interrupted;
                break;
            }
            (self.hooks.doing)(&format!("{told}: {}", self.plan.arms[arm].label));
            match self.plan.probe.measure(&mut self.stand(arm), round) {
                Ok(sample) => samples[arm] = Some(sample),
                Err(error) => note(session, arm, error),
            }
        }
        samples
    }

    /// How long it will take at most, in words, after so many rounds that took so long, and with so many
    /// that warm up yet to come.
    fn left(&self, done: u32, warmup: u32, spent_ns: u64) -> String {
        let round_ns = if done == 0 { self.round_ns } else { Some(spent_ns / u64::from(done)) };
        let Some(each) = round_ns else { return String::new() };
        let stopping = &self.plan.stopping;
        let rounds = |number: u32| each.saturating_mul(number.saturating_sub(done).into());
        let least = rounds(stopping.least);
        let left =
            self.plan.budget_ns.saturating_sub(spent_ns).min(rounds(stopping.most)).max(least);
        let before = each.saturating_mul(warmup.into());
        let seconds = |ns: u64| ns.saturating_add(before).div_ceil(1_000_000_000);
        let (least, left) = (seconds(least), seconds(left));
        if least < left {
            format!(", {least} to {left} s left")
        } else {
            format!(", {left} s left")
        }
    }

    fn worth_going_on(&self, session: &Session) -> bool {
        if session.stopped == Stopped::Interrupted || session.failed(0) {
            return false;
        }
        let others = self.plan.arms.iter().enumerate().skip(1);
        let mut candidates = others.filter(|(_, arm)| arm.role == Role::Candidate).peekable();
        candidates.peek().is_none() || candidates.any(|(arm, _)| !session.failed(arm))
    }

    fn finish(&mut self, session: &mut Session) {
        (self.hooks.doing)("cleaning up");
        if session.rounds > 0 && session.stopped != Stopped::Interrupted {
            self.look_at_places(session);
            self.look_at_storage(session);
        }
        for arm in 0..self.plan.arms.len() {
            if !session.failed(arm)
                && let Err(error) = self.plan.probe.finish(&mut self.stand(arm))
                && !matches!(error, Error::Interrupted)
            {
                session.problems.push((arm, error));
            }
        }
    }
}

impl Conductor<'_> {
    /// What is to be known about each place, once for all of its arms.
    fn look_at_places(&mut self, session: &mut Session) {
        let mut seen = Vec::new();
        for (at, arm) in self.plan.arms.iter().enumerate() {
            if session.failed(at) || seen.contains(&&arm.asked) {
                continue;
            }
            seen.push(&arm.asked);
            // Facts beside the numbers: without them results are compared with less care.
            if let Ok(facts) = self.workers.place(&arm.spec).map(culprit_place::Place::facts)
                && let Ok(facts) = facts
            {
                session.environment.extend(environment::of_place(&facts));
            }
        }
    }
}

impl Conductor<'_> {
    /// What each arm's files lie on.
    fn look_at_storage(&mut self, session: &mut Session) {
        let works_with_files = self.plan.probe.works_with_files();
        let arms = (0..self.plan.arms.len()).filter(|_| works_with_files);
        let arms: Vec<usize> = arms.filter(|arm| !session.failed(*arm)).collect();
        for arm in arms {
            // A fact beside the numbers, as above.
            session.storage[arm] = self.stand(arm).ask(&Storage {}).ok().flatten();
        }
    }
}

fn note(session: &mut Session, arm: usize, error: Error) {
    match error {
        Error::Interrupted => session.stopped = Stopped::Interrupted,
        error => session.problems.push((arm, error)),
    }
}
