//! What every probe is: arms, a workload, metrics, and one round of one arm.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use culprit_place::PlaceSpec;
use serde_json::Value;

use crate::arm::{Arm, Location, Role, candidate_arms};
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What the user asked to compare.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The places, in their order; the first is the baseline.
    pub places: Vec<PlaceSpec>,
    /// The locations in containers and sandboxes; none for the usual ones.
    pub at: Vec<Location>,
    /// The folder on the host in which work without a folder of its own is done.
    pub host_dir: PathBuf,
    /// Whether the baseline runs twice a round.
    pub control: bool,
}

/// A small standard workload that measures one property of a place.
///
/// One file under [`crate::probes`] has both halves: this one, and the [`crate::inside::Task`] that
/// it asks workers for.
pub trait Probe: fmt::Debug + Send + Sync {
    /// Its name: `disk`.
    fn id(&self) -> &'static str;

    /// What is measured, the headline first.
    fn metrics(&self) -> Vec<Metric>;

    /// What is done, as documents have it: every number that matters.
    fn workload(&self) -> Value;

    /// What is done, in sentences for people.
    fn words(&self) -> Vec<String>;

    /// What is compared, the baseline first.
    ///
    /// # Errors
    /// When what was asked makes no sense for this probe.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let arms = standard_arms(asked);
        let has_none = |place: &&PlaceSpec| arms.iter().all(|arm| arm.asked != **place);
        let mut existing = asked.places.iter().filter(|p| matches!(p, PlaceSpec::Container { .. }));
        match existing.find(has_none) {
            Some(place) => Err(without_location(place)),
            None => Ok(arms),
        }
    }

    /// So many rounds are run at least, unless the user says otherwise.
    fn least_rounds(&self) -> u32 {
        9
    }

    /// What a round of an arm takes at least, where that was asked for: so that the first can say how long
    /// all will take.
    fn round_time(&self) -> Option<Duration> {
        None
    }

    /// Whether the work is with files in the arm's folder, so that its storage matters.
    fn works_with_files(&self) -> bool {
        false
    }

    /// Before the first round of an arm: what must be there, and what is to be said about it.
    ///
    /// # Errors
    /// When the arm cannot be measured.
    fn prepare(&self, _stand: &mut Stand<'_>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// One round of an arm.
    ///
    /// # Errors
    /// When it cannot be measured (any more).
    fn measure(&self, stand: &mut Stand<'_>, round: ProbeRound) -> Result<Sample>;

    /// Whether there is a second pass over the rounds.
    fn has_second_pass(&self) -> bool {
        false
    }

    /// Once more over every round of every arm, after the last first pass: for work that would
    /// disturb other arms' work, such as removing what the first pass has made. What it gives is
    /// added to the round's sample.
    ///
    /// # Errors
    /// When it cannot be measured; what the first passes gave stays.
    fn measure_again(&self, _stand: &mut Stand<'_>, _round: ProbeRound) -> Result<Sample> {
        Ok(Sample::default())
    }

    /// After the last round of an arm; what stands in the worker's own folder goes away by itself.
    ///
    /// # Errors
    /// When something could not be undone.
    fn finish(&self, _stand: &mut Stand<'_>) -> Result<()> {
        Ok(())
    }
}

fn without_location(place: &PlaceSpec) -> Error {
    Error::Asked {
        what: format!("cannot add a folder to {place}: the container already exists"),
        hint: Some("use an existing folder of the container with `--at folder:/PATH`".to_owned()),
    }
}

/// The arms of a probe whose work lies in a folder: the first place is the baseline, which runs
/// twice where a control is wanted, and on the host once more in a cgroup of its own; then every
/// location of every other place.
#[must_use]
pub fn standard_arms(asked: &Asked) -> Vec<Arm> {
    let several = asked.places.len() > 1;
    let mut arms = Vec::new();
    for (at, place) in asked.places.iter().enumerate() {
        let mut found = candidate_arms(place, &asked.at, &asked.host_dir);
        let one = found.len() == 1;
        for arm in &mut found {
            arm.label = if one { bare(place) } else { format!("{} {}", bare(place), arm.location) };
        }
        if at == 0
            && let Some(first) = found.first_mut()
        {
            first.role = Role::Baseline;
            if asked.control && (several || found.len() > 1) {
                let controls = controls(&found[0]);
                found.splice(1..1, controls);
            }
        }
        arms.append(&mut found);
    }
    tell_apart(&mut arms);
    arms
}

/// The arms that only show what else than the place makes a difference.
fn controls(baseline: &Arm) -> Vec<Arm> {
    let again =
        Arm { label: format!("{} again", baseline.label), role: Role::Again, ..baseline.clone() };
    let in_cgroup = Arm {
        label: format!("{} in a cgroup", baseline.label),
        role: Role::HostInCgroup,
        ..baseline.clone()
    };
    match baseline.spec {
        PlaceSpec::Host { .. } => vec![again, in_cgroup],
        _ => vec![again],
    }
}

/// A place's name without its options.
#[must_use]
pub fn bare(place: &PlaceSpec) -> String {
    let name = place.to_string();
    name.split(',').next().unwrap_or(&name).to_owned()
}

/// Arms of places that differ in options alone get their full names.
fn tell_apart(arms: &mut [Arm]) {
    for at in 0..arms.len() {
        let same = |other: &Arm| other.label == arms[at].label && other.asked != arms[at].asked;
        if arms.iter().any(same) {
            let label =
                arms[at].label.replacen(&bare(&arms[at].asked), &arms[at].asked.to_string(), 1);
            arms[at].label = label;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_the_baseline_with_its_controls() {
        let asked = Asked {
            places: ["host", "docker:@host", "docker:@host,cpus=1"]
                .map(|text| text.parse().unwrap())
                .to_vec(),
            at: Vec::new(),
            host_dir: "/data".into(),
            control: true,
        };
        let arms = standard_arms(&asked);
        let told: Vec<(&str, Role)> = arms.iter().map(|a| (a.label.as_str(), a.role)).collect();
        assert_eq!(
            told,
            [
                ("host", Role::Baseline),
                ("host again", Role::Again),
                ("host in a cgroup", Role::HostInCgroup),
                ("docker:@host layer", Role::Candidate),
                ("docker:@host volume", Role::Candidate),
                ("docker:@host,cpus=1 layer", Role::Candidate),
                ("docker:@host,cpus=1 volume", Role::Candidate),
            ]
        );
        let alone = Asked { places: asked.places[..1].to_vec(), ..asked };
        assert_eq!(standard_arms(&alone).len(), 1, "nothing to compare needs no control");
    }

    #[test]
    fn no_volume_is_bound_into_a_container_that_exists() {
        let asked = Asked {
            places: ["host", "container:web"].map(|text| text.parse().unwrap()).to_vec(),
            at: vec!["volume:/data".parse().unwrap()],
            host_dir: "/data".into(),
            control: false,
        };
        let error = crate::probes::files::Files::default().arms(&asked).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot add a folder to container:web: the container already exists"
        );
        assert!(error.hints()[0].contains("--at folder:/PATH"), "{error:?}");
    }
}
