//! One metric of a session, judged: the noise floor, the band that follows from it, and each
//! candidate against the baseline.

use super::noise::{NoiseFloor, noise_floor};
use super::ratio::{Bands, Ratio, compare_paired, settle_family};

/// What one metric says.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The noise floor, where an arm ran twice.
    pub floor: Option<NoiseFloor>,
    /// The bands of the verdicts: things are the same within the one asked for, and differ outside of
    /// that or of the noise.
    pub bands: Bands,
    /// Each candidate against the baseline, in their order; none without a round of both.
    pub ratios: Vec<Option<Ratio>>,
    /// The p-values of the candidates as they count in their family, in the same order.
    pub p_in_family: Vec<Option<f64>>,
}

impl Judged {
    /// All comparisons whose precision counts when it is asked whether to run more rounds.
    #[must_use]
    pub fn all_ratios(&self) -> Vec<Ratio> {
        let floor = self.floor.iter().map(|floor| floor.ratio.clone());
        floor.chain(self.ratios.iter().flatten().cloned()).collect()
    }
}

/// Judges the values of one metric, each list one value a round: the baseline, the same thing once
/// more where it was run, and the candidates. Candidates form a family.
#[must_use]
pub fn judge(
    baseline: &[f64],
    again: Option<&[f64]>,
    candidates: &[Vec<f64>],
    asked_band: f64,
) -> Judged {
    let floor = again.and_then(|again| noise_floor(baseline, again));
    let different = floor.as_ref().map_or(asked_band, |floor| floor.band(asked_band));
    let bands = Bands { same: asked_band, different };
    let mut ratios: Vec<Option<Ratio>> =
        candidates.iter().map(|candidate| compare_paired(baseline, candidate, bands)).collect();
    let mut family: Vec<&mut Ratio> = ratios.iter_mut().flatten().collect();
    let mut raised = settle_family(&mut family).into_iter();
    let p_in_family = ratios.iter().map(|ratio| ratio.as_ref().and_then(|_| raised.next()));
    let p_in_family = p_in_family.collect();
    Judged { floor, bands, ratios, p_in_family }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn noise_widens_the_band_that_candidates_are_judged_by() {
        let baseline = [1.0; 9];
        let noisy = [1.0, 1.2, 0.8, 1.1, 0.9, 1.15, 0.85, 1.0, 1.3];
        let candidate = vec![1.2; 9];
        let quiet = judge(&baseline, Some(&baseline), std::slice::from_ref(&candidate), 0.05);
        let verdict = |judged: &Judged| judged.ratios[0].as_ref().map(|ratio| ratio.verdict);
        assert_eq!(verdict(&quiet), Some(Verdict::Slower));
        let loud = judge(&baseline, Some(&noisy), &[candidate], 0.05);
        assert!(loud.bands.different > 0.2, "{loud:?}");
        assert_ne!(verdict(&loud), Some(Verdict::Slower));
        assert_eq!(loud.all_ratios().len(), 2);
    }

    #[test]
    fn a_candidate_without_rounds_leaves_the_others_alone() {
        let judged = judge(&[1.0; 9], None, &[vec![], vec![2.0; 9]], 0.05);
        assert_eq!((judged.ratios[0].is_none(), judged.p_in_family[0]), (true, None));
        assert!(judged.ratios[1].is_some() && judged.p_in_family[1].is_some());
    }
}
