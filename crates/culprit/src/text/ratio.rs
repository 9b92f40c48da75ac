//! A comparison of two sides in one sentence, as `why`, `bench` and `verify` say it.

use culprit_engine::stats::{Ratio, Verdict};

use crate::output::number;

/// Two sides and what is told of them.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    /// What the candidate is called.
    pub(crate) here: &'a str,
    /// What the baseline is called.
    pub(crate) there: &'a str,
    /// The median run of the candidate and of the baseline.
    pub(crate) told: (String, String),
    /// The option that asks for more rounds.
    pub(crate) option: &'a str,
    /// True when CPU time is compared instead of wall time.
    pub(crate) cpu_time: bool,
}

/// The verdict in one or two sentences.
pub(crate) fn compared(sides: &Sides<'_>, ratio: &Ratio) -> String {
    let Sides { here, there, told: (after, before), option, cpu_time } = sides;
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
            let more = ratio.more_rounds.map_or_else(String::new, |more| {
                let all = ratio.rounds + more;
                format!(" About {more} more rounds (`{option} {all}`) would tell.")
            });
            format!(
                "Whether {here} is slower than {there} is unclear (ratio {range}): {times}.{more}"
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
        compared(&Sides { here: "new", there: "old", told, option: "--rounds", cpu_time }, &ratio)
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
        let unclear = told(1.2, 3, false);
        assert!(
            unclear.contains("unclear") && unclear.contains("more rounds (`--rounds 6`)"),
            "{unclear}"
        );
    }
}
