//! Laws that statistics keep on any rounds.

use proptest::prelude::*;

use super::*;

fn rounds() -> impl Strategy<Value = Vec<(f64, f64)>> {
    proptest::collection::vec((0.001..1000.0_f64, 0.001..1000.0_f64), 1..40)
}

fn sides(rounds: &[(f64, f64)]) -> (Vec<f64>, Vec<f64>) {
    rounds.iter().copied().unzip()
}

const fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Slower => Verdict::Faster,
        Verdict::Faster => Verdict::Slower,
        same => same,
    }
}

proptest! {
    #[test]
    fn an_interval_encloses_its_point_and_does_not_care_for_order(rounds in rounds(), at in 0..40_usize) {
        let (a, b) = sides(&rounds);
        let ratio = compare_paired(&a, &b, Bands::one(0.05)).unwrap();
        prop_assert!(ratio.interval.low <= ratio.value * (1.0 + 1e-9));
        prop_assert!(ratio.value <= ratio.interval.high * (1.0 + 1e-9));
        prop_assert!((0.0..=1.0).contains(&ratio.interval.coverage));
        let mut moved = rounds.clone();
        moved.rotate_left(at % rounds.len());
        let (a, b) = sides(&moved);
        prop_assert_eq!(compare_paired(&a, &b, Bands::one(0.05)).unwrap(), ratio);
    }

    #[test]
    fn swapping_the_sides_turns_the_verdict_around(rounds in rounds()) {
        let (a, b) = sides(&rounds);
        let (there, back) = (compare_paired(&a, &b, Bands::one(0.05)).unwrap(), compare_paired(&b, &a, Bands::one(0.05)).unwrap());
        prop_assert_eq!(turned(there.verdict), back.verdict);
        prop_assert!((there.value * back.value - 1.0).abs() < 1e-9);
        prop_assert!((there.interval.low * back.interval.high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_unit_of_time_changes_nothing(rounds in rounds(), unit in 0.001..1000.0_f64) {
        let (a, b) = sides(&rounds);
        let scaled = |values: &[f64]| values.iter().map(|v| v * unit).collect::<Vec<_>>();
        let (one, other) = (
            compare_paired(&a, &b, Bands::one(0.05)).unwrap(),
            compare_paired(&scaled(&a), &scaled(&b), Bands::one(0.05)).unwrap(),
        );
        prop_assert!((one.value / other.value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_wider_band_never_makes_a_difference_of_what_was_none(rounds in rounds(), band in 0.0..0.5_f64) {
        let (a, b) = sides(&rounds);
        let differs = |band| {
            matches!(compare_paired(&a, &b, Bands::one(band)).unwrap().verdict, Verdict::Slower | Verdict::Faster)
        };
        prop_assert!(differs(band) || !differs(band + 0.1));
    }

    #[test]
    fn a_band_over_the_noise_calls_the_identical_arms_no_different(rounds in rounds()) {
        let (a, b) = sides(&rounds);
        let band = noise_floor(&a, &b).unwrap().band(0.05);
        let verdict = compare_paired(&a, &b, Bands::one(band)).unwrap().verdict;
        prop_assert!(matches!(verdict, Verdict::Same | Verdict::Unclear), "{:?}", verdict);
    }

    #[test]
    fn p_values_are_shares_and_families_only_raise_them(rounds in rounds()) {
        let (a, b) = sides(&rounds);
        let ratio = compare_paired(&a, &b, Bands::one(0.05)).unwrap();
        prop_assert!((0.0..=1.0).contains(&ratio.p));
        let differences: Vec<f64> = rounds.iter().map(|(a, b)| b - a).collect();
        let ranks = signed_ranks(&differences);
        prop_assert!(ranks.is_none_or(|p| (0.0..=1.0).contains(&p)));
        let family = [ratio.p, ranks.unwrap_or(1.0), 0.5];
        for (raised, p) in holm(&family).iter().zip(family) {
            prop_assert!(*raised >= p && *raised <= 1.0);
        }
    }

    #[test]
    fn a_verdict_of_difference_is_surprising_under_the_sign_test(rounds in rounds()) {
        let (a, b) = sides(&rounds);
        let ratio = compare_paired(&a, &b, Bands::one(0.05)).unwrap();
        if matches!(ratio.verdict, Verdict::Slower | Verdict::Faster) && ratio.interval.coverage >= 0.95 {
            prop_assert!(ratio.p <= 0.05 + 1e-9, "{ratio:?}");
        }
    }

    #[test]
    fn outliers_percentiles_and_summaries_keep_within_their_values(values in proptest::collection::vec(0.0..1e6_f64, 1..200)) {
        let outliers = Outliers::of(&values);
        prop_assert!(outliers.count() <= values.len() / 2);
        let summary = Summary::of(&values).unwrap();
        prop_assert!(summary.least <= summary.median && summary.median <= summary.most);
        prop_assert!(summary.least <= summary.mean + 1e-6 && summary.mean <= summary.most + 1e-6);
        let p90 = percentile(&values, 0.9);
        prop_assert_eq!(p90.is_some(), values.len() >= 100);
        prop_assert!(p90.is_none_or(|p90| p90 >= summary.median && p90 <= summary.most));
    }

    #[test]
    fn every_round_runs_every_arm_once(arms in 1..9_usize, round in 0..1000_u32) {
        let mut all = order(arms, round);
        all.sort_unstable();
        prop_assert_eq!(all, (0..arms).collect::<Vec<_>>());
    }
}
