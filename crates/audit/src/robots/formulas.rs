//! The statistics of the signals, as pure functions over counts.
//!
//! `q` is always the share of single-page interactions in groups that are trusted because somebody
//! in them read more than one page. All results are numbers without a unit.

/// How surprising it is that `visitors` independent visitors all stay on one page: the negative
/// decimal logarithm of the chance, so 6 is one in a million.
///
/// ```text
/// q          0.5  0.7  0.8  0.9  0.95  0.97  0.973
/// visitors    20   39   62  132   270   454    505     for 6
/// ```
///
/// Nothing when `q` cannot tell: 0 makes one such visit impossible, 1 makes it certain.
#[must_use]
pub fn single_page_evidence(visitors: u64, q: f64) -> Option<f64> {
    is_rate(q).then(|| -float(visitors) * q.log10())
}

/// The smallest number of independent visitors whose evidence reaches `evidence`.
#[must_use]
pub fn visitors_for(evidence: f64, q: f64) -> Option<u64> {
    if !is_rate(q) {
        return None;
    }
    let visitors = (evidence / -q.log10()).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates at both ends"
    )]
    Some(visitors as u64)
}

/// By how many standard deviations a group's single-page interactions exceed what `q` predicts.
#[must_use]
pub fn single_page_excess(single: u64, interactions: u64, q: f64) -> Option<f64> {
    let n = float(interactions);
    (is_rate(q) && interactions > 0).then(|| (float(single) - n * q) / (n * q * (1.0 - q)).sqrt())
}

/// The share of robots in a mixed group, 0 to 1: robots always stay on one page, people do so at
/// rate `q`.
#[must_use]
pub fn robot_share(single: u64, interactions: u64, q: f64) -> Option<f64> {
    if !is_rate(q) || interactions == 0 {
        return None;
    }
    Some(((float(single) / float(interactions) - q) / (1.0 - q)).clamp(0.0, 1.0))
}

/// How many of `groups` pass a threshold of evidence by chance alone.
#[must_use]
pub fn chance_hits(groups: u64, evidence: f64) -> f64 {
    float(groups) * 10f64.powf(-evidence)
}

/// The coefficient of variation of gaps from their count, sum and sum of squares: 0 for a clock,
/// about 1 for independent visitors. Nothing below two gaps.
#[must_use]
pub fn gap_variation(gaps: u64, sum: f64, squares: f64) -> Option<f64> {
    let mean = sum / float(gaps);
    // A sum of squares loses digits; what is below zero by that is zero.
    (gaps >= 2 && mean > 0.0).then(|| (squares / float(gaps) - mean * mean).max(0.0).sqrt() / mean)
}

/// The entropy of the hours of the day, as a share of the greatest: 1 when each hour has equally
/// many. `c_ln_c` is the sum of `c ln c` over the hours that occur, `n` the sum of all `c`.
#[must_use]
pub fn hour_entropy(n: u64, c_ln_c: f64) -> Option<f64> {
    let entropy = float(n).ln() - c_ln_c / float(n);
    (n > 0).then(|| (entropy / 24f64.ln()).clamp(0.0, 1.0))
}

/// `part` of `whole`, 0 where there is no whole.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(part) / float(whole) }
}

/// A count as a fraction; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts of rows stay far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

fn is_rate(q: f64) -> bool {
    q > 0.0 && q < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64, within: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() <= within, "{found} is not {expected}");
    }

    /// Independent visitors needed for one in a million, by single-page rate.
    #[test]
    fn the_needed_visitors_follow_from_the_rate() {
        let table =
            [(0.5, 20), (0.7, 39), (0.8, 62), (0.9, 132), (0.95, 270), (0.97, 454), (0.973, 505)];
        for (q, visitors) in table {
            assert_eq!(visitors_for(6.0, q), Some(visitors), "q = {q}");
            assert!(single_page_evidence(visitors, q).unwrap() >= 6.0);
            assert!(single_page_evidence(visitors - 1, q).unwrap() < 6.0);
        }
    }

    /// Six user agents of a real log with q = 0.697: evidence by distinct addresses.
    #[test]
    fn fleets_stand_out_by_distinct_addresses_and_pollers_do_not() {
        for (addresses, evidence) in [(74, 11.6), (45, 7.1), (10, 1.6), (1, 0.2), (18, 2.8)] {
            near(single_page_evidence(addresses, 0.697), evidence, 0.05);
        }
        // The same by visits: Feedbin's 50 visits from 10 addresses pass, so both are printed.
        assert!(single_page_evidence(50, 0.697).unwrap() >= 6.0);
    }

    #[test]
    fn a_rate_of_none_or_all_has_no_evidence() {
        for q in [0.0, 1.0, f64::NAN] {
            assert_eq!(single_page_evidence(100, q), None);
            assert_eq!(visitors_for(6.0, q), None);
            assert_eq!(single_page_excess(1, 2, q), None);
            assert_eq!(robot_share(1, 2, q), None);
        }
    }

    #[test]
    fn a_mixed_group_s_share_is_recovered() {
        // 1,000 interactions, 40 % robots, q = 0.7: 400 + 0.7 * 600 single pages.
        near(robot_share(820, 1000, 0.7), 0.4, 1e-12);
        near(single_page_excess(820, 1000, 0.7), 8.2808, 1e-4);
        assert_eq!(robot_share(600, 1000, 0.7), Some(0.0), "fewer than people leave");
        assert_eq!(robot_share(1000, 1000, 0.7), Some(1.0));
    }

    #[test]
    fn clocks_have_no_variation_and_chance_has_one() {
        near(gap_variation(10, 3000.0, 10.0 * 90_000.0), 0.0, 1e-6);
        // Exponential gaps: mean 1, mean square 2.
        near(gap_variation(1000, 1000.0, 2000.0), 1.0, 1e-12);
        assert_eq!(gap_variation(1, 5.0, 25.0), None);
        assert_eq!(gap_variation(5, 0.0, 0.0), None);
    }

    #[test]
    fn round_the_clock_is_full_entropy() {
        let even = 24.0 * 100.0 * 100f64.ln();
        near(hour_entropy(2400, even), 1.0, 1e-12);
        near(hour_entropy(100, 100.0 * 100f64.ln()), 0.0, 1e-12);
    }

    #[test]
    fn chance_hits_are_groups_times_the_chance() {
        near(Some(chance_hits(558, 6.0)), 0.000_558, 1e-12);
        near(Some(chance_hits(558, 3.0)), 0.558, 1e-9);
    }
}
