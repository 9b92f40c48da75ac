//! What the machine did during the rounds, as the noise gate asks for it.
//!
//! Counters differ in how soon they tell: waiting for CPUs is exact at once, time stolen is counted in
//! clock ticks, pressure is brought up to date every two seconds. Each is asked over the shortest
//! stretch of rounds that ends with the round in question and is long enough for it.

use std::collections::BTreeMap;

use culprit_engine::stats::{Conditions, Disturbance, disturbances};
use culprit_place::procfs::{self, Machine};

/// Fifty clock ticks a CPU: one tick more or less is then 2 %.
const FOR_TICKS: u64 = 500_000_000;
/// What is told in ticks or averages is looked at so often: a fifth of the shortest stretch that it is
/// asked over. Its own look costs 0.1 ms, which short rounds would spend more of than they take.
const BETWEEN_TICKS: u64 = 100_000_000;
/// Two updates of pressure.
const FOR_PRESSURE: u64 = 4_000_000_000;

/// Looks at the machine, one before each round and one after the last.
#[derive(Debug, Default)]
pub struct Watch {
    /// When, ns of the monotonic clock, and what was seen.
    looks: Vec<(u64, Machine)>,
    /// When all of it was looked at last.
    whole: Option<u64>,
    /// CPU time of what we ran in each round, ns.
    own_cpu_ns: Vec<u64>,
}

/// What the noise gate says of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gate {
    /// The rounds that were contended, counted from 0.
    pub contended: Vec<u32>,
    /// What disturbed: in how many rounds (0 for what was there before the first), and the largest
    /// share that was seen.
    pub disturbances: Vec<(Disturbance, usize, f64)>,
}

impl Watch {
    /// A round begins, or the last has ended; `now` is the monotonic clock, ns.
    pub fn look(&mut self, now: u64) {
        let recent = self.whole.is_some_and(|at| now.saturating_sub(at) < BETWEEN_TICKS);
        let seen = match self.looks.last().filter(|_| recent) {
            Some((_, last)) => procfs::queues(last),
            None => {
                self.whole = Some(now);
                procfs::machine()
            }
        };
        self.looks.push((now, seen));
    }

    /// What was run in the round that has just ended used so much CPU time.
    pub fn ran(&mut self, cpu_ns: u64) {
        self.own_cpu_ns.push(cpu_ns);
    }

    /// The gate's word on the rounds that count.
    #[must_use]
    pub fn gate(&self, counts: &dyn Fn(u32) -> bool) -> Gate {
        let mut gate = Gate::default();
        let mut seen: BTreeMap<Disturbance, (usize, f64)> = BTreeMap::new();
        let mut note = |kind: Disturbance, rounds: usize, share: f64| {
            let (count, most) = seen.entry(kind).or_default();
            *count += rounds;
            *most = most.max(share);
        };
        if let Some((_, first)) = self.looks.first() {
            for (kind, share) in disturbances(&before(first)) {
                note(kind, 0, share);
            }
        }
        let seen_to_end = self.own_cpu_ns.len().min(self.looks.len().saturating_sub(1));
        for (number, round) in (0..).zip(0..seen_to_end).filter(|(number, _)| counts(*number)) {
            let found = self.of_round(round);
            if !found.is_empty() {
                gate.contended.push(number);
            }
            for (kind, share) in found {
                note(kind, 1, share);
            }
        }
        gate.disturbances =
            seen.into_iter().map(|(kind, (rounds, share))| (kind, rounds, share)).collect();
        gate
    }

    fn of_round(&self, round: usize) -> Vec<(Disturbance, f64)> {
        let mut found = disturbances(&self.queues(round));
        found.extend(self.long_enough(round, FOR_TICKS).iter().flat_map(Stretch::stolen));
        found.extend(self.long_enough(round, FOR_PRESSURE).iter().flat_map(Stretch::pressed));
        found
    }

    fn queues(&self, round: usize) -> Conditions {
        let stretch = self.stretch(round, round);
        let own_cpu_ns = stretch.own_cpu_ns;
        Conditions {
            own_cpu_ns,
            foreign_cpu_ns: stretch
                .grown(|machine| machine.ran_ns)
                .map(|ran| ran.saturating_sub(own_cpu_ns)),
            run_queue_ns: stretch.grown(|machine| machine.waited_ns),
            ..Conditions::default()
        }
    }

    fn stretch(&self, from: usize, round: usize) -> Stretch<'_> {
        let ((begun, before), (ended, after)) = (&self.looks[from], &self.looks[round + 1]);
        Stretch {
            length: ended.saturating_sub(*begun),
            before,
            after,
            own_cpu_ns: self.own_cpu_ns[from..=round].iter().sum(),
        }
    }

    /// The shortest stretch that ends with this round and is so long.
    fn long_enough(&self, round: usize, length: u64) -> Option<Stretch<'_>> {
        let (ended, _) = self.looks[round + 1];
        let begins = |from: &usize| ended.saturating_sub(self.looks[*from].0) >= length;
        (0..=round).rev().find(begins).map(|from| self.stretch(from, round))
    }
}

fn before(first: &Machine) -> Conditions {
    Conditions {
        memory_pressure: first.memory_pressure,
        io_pressure: first.io_pressure,
        ..Conditions::default()
    }
}

/// Rounds one after the other.
#[derive(Debug)]
struct Stretch<'a> {
    /// ns.
    length: u64,
    before: &'a Machine,
    after: &'a Machine,
    own_cpu_ns: u64,
}

impl Stretch<'_> {
    fn grown(&self, counter: impl Fn(&Machine) -> Option<u64>) -> Option<u64> {
        counter(self.after)?.checked_sub(counter(self.before)?)
    }

    fn stolen(&self) -> Vec<(Disturbance, f64)> {
        let stolen = self.grown(|machine| machine.stolen_ns);
        let total = self.grown(|machine| machine.total_ns).filter(|total| *total > 0);
        let share = stolen.zip(total).map(|(stolen, total)| stolen as f64 / total as f64);
        disturbances(&Conditions { steal_share: share, ..Conditions::default() })
    }

    fn pressed(&self) -> Vec<(Disturbance, f64)> {
        let window_ns = self.length;
        let waited = self.grown(|machine| machine.cpu_pressure_ns);
        disturbances(&Conditions {
            own_cpu_ns: self.own_cpu_ns,
            foreign_cpu_ns: self
                .grown(|machine| machine.busy_ns)
                .map(|busy| busy.saturating_sub(self.own_cpu_ns)),
            cpu_pressure: waited.map(|waited| waited as f64 / window_ns.max(1) as f64),
            window_ns,
            ..Conditions::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round a second: what is stolen and waited for in each, of two CPUs.
    fn watch(rounds: &[(u64, u64)]) -> Watch {
        let start = 0;
        let mut now = Machine {
            busy_ns: Some(0),
            total_ns: Some(0),
            stolen_ns: Some(0),
            ran_ns: Some(0),
            waited_ns: Some(0),
            cpu_pressure_ns: Some(0),
            ..Machine::default()
        };
        let mut watch = Watch { looks: vec![(start, now)], ..Watch::default() };
        let add = |to: &mut Option<u64>, ms: u64| *to = to.map(|ns| ns + ms * 1_000_000);
        for (at, (stolen, foreign)) in (1..).zip(rounds) {
            add(&mut now.busy_ns, 900 + foreign);
            add(&mut now.total_ns, 2000);
            add(&mut now.stolen_ns, *stolen);
            add(&mut now.ran_ns, 900 + foreign);
            add(&mut now.waited_ns, *foreign);
            add(&mut now.cpu_pressure_ns, *foreign);
            watch.looks.push((start + at * 1_000_000_000, now));
            watch.ran(900_000_000);
        }
        watch
    }

    #[test]
    fn only_the_rounds_that_were_disturbed_are_contended() {
        let quiet = watch(&[(0, 10); 8]).gate(&|_| true);
        assert_eq!(quiet, Gate::default());
        let stolen = watch(&[(0, 10), (200, 10), (0, 10), (0, 10)]).gate(&|_| true);
        assert_eq!(stolen.contended, [1]);
        assert_eq!(stolen.disturbances, [(Disturbance::Steal, 1, 0.1)]);
        let waited = watch(&[(0, 0), (0, 0), (0, 0), (0, 600)]).gate(&|_| true);
        assert_eq!(waited.contended, [3]);
        assert_eq!(waited.disturbances[0].0, Disturbance::RunQueue);
    }

    #[test]
    fn pressure_is_asked_over_several_rounds() {
        let mut busy = watch(&[(0, 500); 6]);
        for (_, machine) in &mut busy.looks {
            (machine.ran_ns, machine.waited_ns) = (None, None);
        }
        let gate = busy.gate(&|_| true);
        assert_eq!(gate.contended, [3, 4, 5], "four seconds are over after the fourth round");
        assert_eq!(gate.disturbances[0].0, Disturbance::CpuPressure);
    }

    #[test]
    fn a_session_cut_short_is_judged_as_far_as_it_went() {
        let mut cut = watch(&[(200, 0); 3]);
        cut.own_cpu_ns.pop();
        assert_eq!(cut.gate(&|_| true).contended, [0, 1]);
        let kept = cut.gate(&|round| round == 0);
        assert_eq!(
            (kept.contended, kept.disturbances),
            (vec![0], vec![(Disturbance::Steal, 1, 0.1)])
        );
        assert_eq!(Watch::default().gate(&|_| true), Gate::default());
    }
}
