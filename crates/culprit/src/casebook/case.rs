//! A case as its `case.toml` says it; `casebook/README.md` documents the keys.

use culprit_findings::catalogue;
use culprit_place::PlaceSpec;
use serde::Deserialize;

use crate::failure::{Context as _, Failure};
use crate::places;

/// A case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What `run` and `show` call it: the name of its folder.
    #[serde(skip)]
    pub(crate) name: String,
    /// What is slow, in one sentence.
    pub(crate) title: String,
    /// What was seen, and why it is so.
    pub(crate) story: String,
    /// What changes it.
    pub(crate) fix: String,
    /// Programs that must be here: looked up in `PATH`.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// Where it runs. The last one is where the guilty variant is slow; one before it is what that
    /// place is compared with.
    #[serde(default = "host")]
    pub(crate) places: Vec<String>,
    /// Timed rounds.
    #[serde(default = "rounds")]
    pub(crate) rounds: u32,
    /// Run before everything else, one after the other, in the case's folder.
    #[serde(default)]
    pub(crate) build: Vec<Vec<String>>,
    /// The slow variant, and what must be found in it.
    pub(crate) guilty: Guilty,
    /// The variant with the fix.
    pub(crate) fixed: Fixed,
}

/// The slow variant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guilty {
    /// The command and its arguments.
    pub(crate) command: Vec<String>,
    /// The same with less to do, for `--short`.
    pub(crate) short: Option<Vec<String>>,
    /// The finding that must cost the most.
    pub(crate) finding: String,
    /// A part of the name of one of the first three functions that it points at.
    pub(crate) function: Option<String>,
    /// How many times as long it takes in the last place as in the first, at least.
    pub(crate) slower_at_least: Option<f64>,
}

/// The variant with the fix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixed {
    /// The command and its arguments.
    pub(crate) command: Vec<String>,
    /// The same with less to do, for `--short`.
    pub(crate) short: Option<Vec<String>>,
    /// How many times as fast as the guilty one it is, at least.
    #[serde(default = "faster")]
    pub(crate) faster_at_least: f64,
    /// The places' medians differ by no more than this factor.
    pub(crate) same_within: Option<f64>,
}

fn host() -> Vec<String> {
    vec!["host".to_owned()]
}

/// Five rounds carry a verdict; what a case shows is large.
const fn rounds() -> u32 {
    5
}

/// Few rounds tell a smaller effect only sometimes (docs/statistics.md).
const fn faster() -> f64 {
    1.5
}

impl Case {
    /// The case that a text describes.
    ///
    /// # Errors
    /// When it is no TOML, a key is unknown or missing, or a value makes no sense.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        let what = || format!("read the case `{name}`");
        let mut case: Self = toml::from_str(text)
            .or_bad_input(what)
            .map_err(|failure| failure.hint("casebook/README.md says what a case.toml holds"))?;
        name.clone_into(&mut case.name);
        match case.wrong() {
            Some(wrong) => Err(Failure::bad_input(format!("{}: {wrong}", what()))
                .hint("casebook/README.md says what a case.toml holds")),
            None => Ok(case),
        }
    }

    /// What makes no sense in it.
    fn wrong(&self) -> Option<String> {
        let finding = &self.guilty.finding;
        let commands = [Some(&self.guilty.command), Some(&self.fixed.command)];
        let shorter = [self.guilty.short.as_ref(), self.fixed.short.as_ref()];
        if commands.into_iter().chain(shorter).flatten().chain(&self.build).any(Vec::is_empty) {
            return Some("a command has no words".to_owned());
        }
        if catalogue().iter().all(|doc| doc.id != finding) {
            return Some(format!("there is no finding `{finding}`"));
        }
        if !(1..=2).contains(&self.places.len()) {
            return Some(format!("it names {} places instead of one or two", self.places.len()));
        }
        for place in &self.places {
            match places::spec(place) {
                Err(failure) => return Some(failure.to_string()),
                Ok(PlaceSpec::Host { .. } | PlaceSpec::Sandbox { .. }) => {}
                Ok(_) => return Some(format!("`{place}` is neither `host` nor `sandbox`")),
            }
        }
        if self.rounds < 3 {
            return Some("fewer than 3 rounds carry no verdict".to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "title = 't'\nstory = 's'\nfix = 'f'\n\
        [guilty]\ncommand = ['a']\nfinding = 'fsync-storm'\n[fixed]\ncommand = ['b']\n";

    #[test]
    fn a_case_needs_little() {
        let case = Case::parse("x", GOOD).unwrap();
        assert_eq!((case.name.as_str(), case.rounds, case.places.len()), ("x", 5, 1));
    }

    #[test]
    fn what_is_wrong_with_a_case_is_named() {
        for (change, to, says) in [
            ("fsync-storm", "fsync-breeze", "fsync-breeze"),
            ("['a']", "[]", "no words"),
            ("fix = 'f'", "fix = 'f'\nplaces = ['moon']", "moon"),
            ("fix = 'f'", "fix = 'f'\nplaces = ['docker:x']", "docker:x"),
            ("fix = 'f'", "fix = 'f'\nplaces = []", "0 places"),
            ("fix = 'f'", "fix = 'f'\nrounds = 1", "rounds"),
            ("fix = 'f'", "", "fix"),
            ("title", "titel", "titel"),
            ("title", "= title", "case `x`"),
        ] {
            let error = Case::parse("x", &GOOD.replace(change, to)).unwrap_err();
            assert!(error.to_string().contains(says), "{change}: {error}");
        }
    }
}
