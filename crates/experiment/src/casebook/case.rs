//! A case as its `case.toml` says it; `casebook/README.md` documents the keys.

use culprit_findings::{Specificity, catalogue};
use culprit_place::{EngineKind, PlaceSpec, SpecError};
use serde::Deserialize;

use super::question::Question;
use crate::error::{Context as _, Error, Result};

/// A case.
#[derive(Debug, Clone)]
pub struct Case {
    /// What `run` and `show` call it: the name of its folder.
    pub name: String,
    /// What is slow, in one sentence.
    pub title: String,
    /// What was seen, and why it is so.
    pub story: String,
    /// What changes it.
    pub fix: String,
    /// Programs that must be here: looked up in `PATH`.
    pub needs: Vec<String>,
    /// The engines that must answer.
    pub engines: Vec<EngineKind>,
    /// Run before everything else, one after the other, in the case's folder.
    pub build: Vec<Vec<String>>,
    /// Run after everything else, whatever became of it.
    pub clean: Vec<Vec<String>>,
    /// How it is told.
    pub course: Course,
}

/// How a case is told.
#[derive(Debug, Clone)]
pub enum Course {
    /// By a slow variant and one with the fix, which are timed and recorded.
    Pair(Box<Pair>),
    /// By questions to the program, one after the other.
    Questions(Vec<Question>),
}

/// A slow variant and one with the fix.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Where it runs. The last one is where the guilty variant is slow; one before it is what that
    /// place is compared with.
    pub places: Vec<String>,
    /// Timed rounds.
    pub rounds: u32,
    /// The slow variant, and what must be found in it.
    pub guilty: Guilty,
    /// The variant with the fix.
    pub fixed: Fixed,
}

/// A case as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    story: String,
    fix: String,
    #[serde(default)]
    needs: Vec<String>,
    engine: Option<String>,
    places: Option<Vec<String>>,
    rounds: Option<u32>,
    #[serde(default)]
    build: Vec<Vec<String>>,
    #[serde(default)]
    clean: Vec<Vec<String>>,
    guilty: Option<Guilty>,
    fixed: Option<Fixed>,
    #[serde(default, rename = "question")]
    questions: Vec<Question>,
}

/// The slow variant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guilty {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The same with less to do, for `--short`.
    pub short: Option<Vec<String>>,
    /// The finding that must cost the most, or, where it explains no time, must be there.
    pub finding: String,
    /// A part of the name of one of the first three functions that it points at.
    pub function: Option<String>,
    /// How many times as long it takes in the last place as in the first, at least.
    pub slower_at_least: Option<f64>,
}

/// The variant with the fix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The same with less to do, for `--short`.
    pub short: Option<Vec<String>>,
    /// How many times as fast as the guilty one it is, at least.
    #[serde(default = "faster")]
    pub faster_at_least: f64,
    /// The places' medians differ by no more than this factor.
    pub same_within: Option<f64>,
}

/// Five rounds carry a verdict; what a case shows is large.
const ROUNDS: u32 = 5;

/// Few rounds tell a smaller effect only sometimes (docs/statistics.md).
const fn faster() -> f64 {
    1.5
}

impl Case {
    /// The case that a text describes.
    ///
    /// # Errors
    /// When it is no TOML, a key is unknown or missing, or a value makes no sense.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let what = || format!("cannot read the case `{name}`");
        let hinted =
            |error: Error| error.hint("casebook/README.md describes the keys of a case.toml");
        let written: Written = toml::from_str(text).or_input(what).map_err(hinted)?;
        let wrong = |wrong| hinted(Error::input(format!("{}: {wrong}", what())));
        written.case(name).map_err(wrong)
    }

    /// What must be told, in a few words: the finding's id, or what is asked.
    pub fn expects(&self) -> String {
        match &self.course {
            Course::Pair(pair) => pair.guilty.finding.clone(),
            Course::Questions(questions) => {
                let mut asked: Vec<String> = questions.iter().map(Question::subject).collect();
                asked.dedup();
                asked.join(", ")
            }
        }
    }
}

impl Written {
    fn case(self, name: &str) -> std::result::Result<Case, String> {
        let mut engines = Vec::new();
        if let Some(engine) = &self.engine {
            engines.push(match engine.as_str() {
                "docker" => EngineKind::Docker,
                "podman" => EngineKind::Podman,
                other => return Err(format!("unknown engine `{other}`; use docker or podman")),
            });
        }
        let mut lines: Vec<&Vec<String>> = self.build.iter().chain(&self.clean).collect();
        for question in &self.questions {
            lines.extend(question.before.iter().chain([&question.command]).chain(&question.short));
        }
        if lines.into_iter().any(Vec::is_empty) {
            return Err(NO_WORDS.to_owned());
        }
        let course = match (self.guilty, self.fixed, self.questions) {
            (Some(guilty), Some(fixed), none) if none.is_empty() => {
                let places = self.places.unwrap_or_else(|| vec!["host".to_owned()]);
                let rounds = self.rounds.unwrap_or(ROUNDS);
                let pair = Pair { places, rounds, guilty, fixed };
                engines.extend(pair.checked()?);
                Course::Pair(Box::new(pair))
            }
            (None, None, questions) if !questions.is_empty() => {
                if self.places.is_some() || self.rounds.is_some() {
                    return Err(
                        "remove `places` and `rounds`: the command of a question contains them"
                            .to_owned(),
                    );
                }
                questions.iter().try_for_each(Question::check)?;
                Course::Questions(questions)
            }
            _ => return Err("it needs `guilty` and `fixed`, or `questions`".to_owned()),
        };
        engines.dedup();
        Ok(Case {
            name: name.to_owned(),
            title: self.title,
            story: self.story,
            fix: self.fix,
            needs: self.needs,
            engines,
            build: self.build,
            clean: self.clean,
            course,
        })
    }
}

const NO_WORDS: &str = "a command is empty";

impl Pair {
    /// Whether its finding is a statement: one that explains no time, so that nothing can be faster
    /// without it.
    pub fn states(&self) -> bool {
        let own = |doc: &&culprit_findings::RuleDoc| doc.id == self.guilty.finding;
        catalogue().iter().find(own).is_some_and(|doc| doc.specificity == Specificity::Statement)
    }

    /// The engines of its places; what makes no sense in it otherwise.
    fn checked(&self) -> std::result::Result<Vec<EngineKind>, String> {
        let finding = &self.guilty.finding;
        let commands = [Some(&self.guilty.command), Some(&self.fixed.command)];
        let shorter = [self.guilty.short.as_ref(), self.fixed.short.as_ref()];
        if commands.into_iter().chain(shorter).flatten().any(Vec::is_empty) {
            return Err(NO_WORDS.to_owned());
        }
        if catalogue().iter().all(|doc| doc.id != finding) {
            return Err(format!("unknown finding `{finding}`"));
        }
        if !(1..=2).contains(&self.places.len()) {
            return Err(format!("it has {} places instead of one or two", self.places.len()));
        }
        let mut engines = Vec::new();
        for place in &self.places {
            match place.parse().map_err(|error: SpecError| Error::from(error).to_string())? {
                PlaceSpec::Engine { engine, .. } => engines.push(engine),
                PlaceSpec::Container { .. } => {
                    return Err(format!("a case cannot create the place `{place}`"));
                }
                PlaceSpec::Host { .. } | PlaceSpec::Sandbox { .. } => {}
            }
        }
        if self.rounds < 3 {
            return Err("`rounds` must be at least 3: fewer give no verdict".to_owned());
        }
        Ok(engines)
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
        let Course::Pair(pair) = &case.course else { panic!("no pair") };
        assert_eq!((case.name.as_str(), pair.rounds, pair.places.len()), ("x", 5, 1));
        assert!(case.engines.is_empty() && !pair.states());
        let stating = GOOD.replace("fsync-storm", "mapped-not-leaked");
        let Course::Pair(pair) = Case::parse("x", &stating).unwrap().course else {
            panic!("no pair")
        };
        assert!(pair.states());
    }

    #[test]
    fn what_is_wrong_with_a_case_is_named() {
        for (change, to, says) in [
            ("fsync-storm", "fsync-breeze", "fsync-breeze"),
            ("['a']", "[]", "a command is empty"),
            ("fix = 'f'", "fix = 'f'\nplaces = ['moon']", "moon"),
            ("fix = 'f'", "fix = 'f'\nplaces = ['container:x']", "container:x"),
            ("fix = 'f'", "fix = 'f'\nengine = 'steam'", "steam"),
            ("fix = 'f'", "fix = 'f'\n[[question]]\ncommand = ['top']", "questions"),
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

    #[test]
    fn a_case_of_questions_says_what_each_must_tell() {
        const ASKED: &str = "title = 't'\nstory = 's'\nfix = 'f'\nengine = 'docker'\n\
            [[question]]\ncommand = ['bench', 'net']\n[[question.expect]]\nsays = 'the way'\n\
            at = '/compare'\nwith = { b = 'x' }\nkey = 'low'\nat_least = 1.2\n";
        let case = Case::parse("x", ASKED).unwrap();
        assert_eq!(case.engines, [EngineKind::Docker]);
        assert_eq!(case.expects(), "bench net");
        for (change, to, says) in [
            ("at_least = 1.2", "", "the way"),
            ("at = '/compare'", "at = 'compare'", "JSON pointer"),
            ("key = 'low'\n", "", "key"),
            ("['bench', 'net']", "[]", "a command is empty"),
            ("engine", "rounds = 3\nengine", "rounds"),
        ] {
            let error = Case::parse("x", &ASKED.replace(change, to)).unwrap_err();
            assert!(error.to_string().contains(says), "{change}: {error}");
        }
    }

    #[test]
    fn a_place_of_an_engine_needs_that_engine() {
        let text = GOOD.replace("fix = 'f'", "fix = 'f'\nplaces = ['host', 'docker:@host']");
        assert_eq!(Case::parse("x", &text).unwrap().engines, [EngineKind::Docker]);
    }
}
