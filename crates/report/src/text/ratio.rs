//! A comparison of two sides in one sentence, as `why`, `bench` and `verify` say it.

use culprit_engine::stats::{Ratio, Verdict};
use culprit_findings::{MOST_MORE_ROUNDS, leaning};

use crate::units::number;

/// Two sides and what is told of them.
#[derive(Debug)]
pub struct ComparedSides<'a> {
    /// What the candidate is called.
    pub here: &'a str,
    /// What the baseline is called.
    pub there: &'a str,
    /// The median run of the candidate and of the baseline.
    pub told: (String, String),
    /// The option that asks for more rounds.
    pub option: &'a str,
    /// True when CPU time is compared instead of wall time.
    pub cpu_time: bool,
}

/// The verdict in one or two sentences.
#[must_use]
pub fn compared(sides: &ComparedSides<'_>, ratio: &Ratio) -> String {
    let ComparedSides { here, there, told: (after, before), option, cpu_time } = sides;
    let range = format!("{} to {}", number(ratio.interval.low), number(ratio.interval.high));
    let times = format!("{after} against {before}");
    match (ratio.verdict, cpu_time) {
        (Verdict::Slower, false) => format!(
            "{here} takes {} times as long as {there} ({range}): {times}.",
            number(ratio.value)
        ),
        (Verdict::Slower, true) => format!(
            "{here} takes {} times the CPU time of {there} ({range}): {times}.",
            number(ratio.value)
        ),
        (Verdict::Faster, false) => format!(
            "{here} is {} times as fast as {there} ({} to {}): {times}.",
            number(1.0 / ratio.value),
            number(1.0 / ratio.interval.high),
            number(1.0 / ratio.interval.low)
        ),
        (Verdict::Faster, true) => format!(
            "{here} takes {} of the CPU time of {there} ({range}): {times}.",
            number(ratio.value)
        ),
        (Verdict::Same, cpu_time) => {
            let what = if *cpu_time { "CPU time" } else { "time" };
            format!("{here} and {there} take the same {what} (ratio {range}): {times}.")
        }
        (Verdict::Unclear, _) => {
            let more = match ratio.more_rounds {
                None => String::new(),
                Some(more) if more <= MOST_MORE_ROUNDS => {
                    let all = ratio.rounds + more;
                    let rounds = if more == 1 { "round" } else { "rounds" };
                    format!(" Measure about {more} more {rounds} (`{option} {all}`).")
                }
                Some(_) => " Do not add rounds: noise would hide the difference anyway.".to_owned(),
            };
            let Some((side, why)) = leaning(ratio) else {
                return format!(
                    "It is unclear whether {here} is slower than {there} (ratio {range}): \
                     {times}.{more}"
                );
            };
            let side = match (cpu_time, side) {
                (true, Verdict::Faster) => "seems to take less CPU time than".to_owned(),
                (true, _) => "seems to take more CPU time than".to_owned(),
                (false, side) => format!("seems {side} than"),
            };
            format!(
                "{here} {side} {there} (ratio {range}): {times}. This is not certain: {why}.{more}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_engine::stats::{Bands, compare_paired};

    fn told(factor: f64, rounds: usize, cpu_time: bool) -> String {
        let ratio =
            compare_paired(&vec![1.0; rounds], &vec![factor; rounds], Bands::one(0.05)).unwrap();
        let told = ("2 s".to_owned(), "1 s".to_owned());
        compared(
            &ComparedSides { here: "new", there: "old", told, option: "--rounds", cpu_time },
            &ratio,
        )
    }

    #[test]
    fn each_verdict_has_its_words() {
        assert_eq!(
            told(2.0, 9, false),
            "new takes 2 times as long as old (2 to 2): 2 s against 1 s."
        );
        assert_eq!(told(0.5, 9, false), "new is 2 times as fast as old (2 to 2): 2 s against 1 s.");
        assert!(told(0.5, 9, true).starts_with("new takes 0.50 of the CPU time of old"));
        assert!(told(1.0, 9, true).contains("take the same CPU time"));
        let few = told(1.2, 3, false);
        assert!(few.starts_with("new seems slower than old (ratio 1.20 to 1.20)"), "{few}");
        assert!(few.contains("3 rounds are too few for a 95 % interval"), "{few}");
        assert!(few.contains("more rounds (`--rounds 6`)"), "{few}");
        assert!(told(0.8, 3, true).starts_with("new seems to take less CPU time than old (ratio"));
    }

    #[test]
    fn what_lies_on_both_sides_is_unclear_and_hundreds_of_rounds_are_no_advice() {
        let mut ratio = compare_paired(&[1.0; 3], &[0.5, 1.1, 30.0], Bands::one(0.05)).unwrap();
        ratio.more_rounds = Some(MOST_MORE_ROUNDS + 1);
        let told = ("2 s".to_owned(), "1 s".to_owned());
        let sides =
            ComparedSides { here: "new", there: "old", told, option: "--rounds", cpu_time: false };
        let unclear = compared(&sides, &ratio);
        assert!(unclear.starts_with("It is unclear whether new is slower than old"), "{unclear}");
        assert!(unclear.ends_with("noise would hide the difference anyway."), "{unclear}");
    }
}
