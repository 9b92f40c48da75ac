//! Simulated sessions of known differences and known noise: how often the rules of
//! `culprit_engine::stats` find what is there, and what is not.
//!
//! A session is what `culprit bench` does: a baseline, the same once more, and a candidate in every
//! round, in the order of the schedule, until the stopping rule ends it. The example `statistics`
//! prints the table of docs/statistics.md; a test holds the document to it.

use std::fmt::Write as _;

use culprit_engine::stats::{Random, Stopping, Verdict, judge, order};

/// Sessions of each kind.
pub(crate) const SESSIONS: u64 = 200;
/// Rounds at most, as the program has it.
const MOST: u32 = Stopping::MOST;
/// The slow-downs that are planted; 1 is the same thing again.
pub(crate) const FACTORS: [f64; 5] = [1.0, 1.05, 1.1, 1.5, 2.0];
/// The bands that are asked for.
pub(crate) const BANDS: [f64; 2] = [0.05, 0.01];

/// What disturbs runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// A machine of one's own: lognormal, sigma 1 %.
    Quiet,
    /// A shared one: lognormal, sigma 5 %.
    Shared,
    /// A busy one: lognormal, sigma 15 %.
    Busy,
    /// Two ways to run: three in ten runs take 1.3 times as long; sigma 2 %.
    Bimodal,
    /// Every run takes 0.3 % longer than the one before; sigma 2 %.
    Drift,
    /// One run in twenty takes two to five times as long; sigma 2 %.
    Outliers,
}

impl Noise {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Quiet, Self::Shared, Self::Busy, Self::Bimodal, Self::Drift, Self::Outliers];

    fn words(self) -> &'static str {
        match self {
            Self::Quiet => "lognormal, sigma 1 %",
            Self::Shared => "lognormal, sigma 5 %",
            Self::Busy => "lognormal, sigma 15 %",
            Self::Bimodal => "bimodal: 3 of 10 runs x 1.3, sigma 2 %",
            Self::Drift => "drift: 0.3 % longer each run, sigma 2 %",
            Self::Outliers => "outliers: 1 of 20 runs x 2 to 5, sigma 2 %",
        }
    }

    /// How many times as long as it should the n-th run of a session takes.
    fn of_run(self, n: u32, random: &mut Random) -> f64 {
        let (sigma, factor) = match self {
            Self::Quiet => (0.01, 1.0),
            Self::Shared => (0.05, 1.0),
            Self::Busy => (0.15, 1.0),
            Self::Bimodal => (0.02, if random.share() < 0.3 { 1.3 } else { 1.0 }),
            Self::Drift => (0.02, 1.003_f64.powi(n.try_into().unwrap_or(i32::MAX))),
            Self::Outliers => {
                let hit = random.share() < 0.05;
                (0.02, if hit { 2.0 + 3.0 * random.share() } else { 1.0 })
            }
        };
        factor * (sigma * normal(random)).exp()
    }
}

/// A number of the standard normal distribution (G. E. P. Box, M. E. Muller, 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.share()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.share()).cos()
}

/// The verdict on the candidate, and after how many rounds.
fn session(noise: Noise, factor: f64, band: f64, seed: u64) -> (Verdict, u32) {
    let mut random = Random::new(seed);
    let rule = Stopping::for_band(band, MOST);
    let (mut arms, mut run) = ([Vec::new(), Vec::new(), Vec::new()], 0);
    for round in 0..MOST {
        for arm in order(arms.len(), round) {
            let own = if arm == 2 { factor } else { 1.0 };
            arms[arm].push(0.1 * own * noise.of_run(run, &mut random));
            run += 1;
        }
        let [baseline, again, candidate] = &arms;
        let judged = || judge(baseline, Some(again), std::slice::from_ref(candidate), band);
        if rule.decide(round + 1, false, || judged().all_ratios()).is_some() {
            let verdict = judged().ratios[0].as_ref().map(|ratio| ratio.verdict);
            return (verdict.unwrap_or(Verdict::Unclear), round + 1);
        }
    }
    (Verdict::Unclear, MOST)
}

/// What sessions of one kind came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rates {
    /// Sessions that said slower.
    pub(crate) slower: u64,
    /// Sessions that said faster.
    pub(crate) faster: u64,
    /// Sessions that said the same.
    pub(crate) same: u64,
    /// Sessions that said unclear.
    pub(crate) unclear: u64,
    /// Rounds of all sessions.
    rounds: u64,
}

impl Rates {
    /// Simulates sessions; the same ones every time.
    pub(crate) fn of(noise: Noise, factor: f64, band: f64) -> Self {
        let mut rates = Self::default();
        for seed in 0..SESSIONS {
            let (verdict, rounds) = session(noise, factor, band, seed);
            rates.rounds += u64::from(rounds);
            match verdict {
                Verdict::Slower => rates.slower += 1,
                Verdict::Faster => rates.faster += 1,
                Verdict::Same => rates.same += 1,
                Verdict::Unclear => rates.unclear += 1,
            }
        }
        rates
    }
}

/// The tables, in Markdown.
pub(crate) fn tables() -> String {
    let mut text = String::new();
    let percent = |count: u64| format!("{} %", 100 * count / SESSIONS);
    for band in BANDS {
        let _ = writeln!(text, "\nBand {:.0} %:\n", band * 100.0);
        text.push_str("| noise | same thing twice: slower or faster / same |");
        for factor in &FACTORS[1..] {
            let _ = write!(text, " x {factor}: slower / same |");
        }
        text.push_str(" rounds, mean |\n|---|---|---|---|---|---|---|\n");
        for noise in Noise::ALL {
            let all = FACTORS.map(|factor| Rates::of(noise, factor, band));
            let alarms = percent(all[0].slower + all[0].faster);
            let _ = write!(text, "| {} | {alarms} / {} |", noise.words(), percent(all[0].same));
            for rates in &all[1..] {
                let _ = write!(text, " {} / {} |", percent(rates.slower), percent(rates.same));
            }
            let rounds: u64 = all.iter().map(|rates| rates.rounds).sum();
            let _ = writeln!(text, " {} |", rounds / (SESSIONS * all.len() as u64));
        }
    }
    text
}
