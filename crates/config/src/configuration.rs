//! The answer for one profile: sources, assignments, effective values, variables, findings.

use culprit_model::Severity;

use crate::profile::{Dialect, Profile};
use crate::provenance::{Assignment, Condition, Effective, Source, Variable};
use crate::readers::Oddity;
use crate::sources::{Defined, Request, collect};
use crate::value::Redactor;
use crate::{compose, dropins, framework, kubernetes, python, resolve, rules, sitecore, spring};

/// What a profile says about a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The profile's name.
    pub profile: String,
    /// The profile's title.
    pub title: String,
    /// What the profile's rules leave out, one sentence each.
    pub leaves_out: Vec<String>,
    /// What separates the names of a key.
    pub separator: String,
    /// The defines of the profile.
    pub defines: Vec<Defined>,
    /// The sources, weakest first.
    pub sources: Vec<Source>,
    /// What is odd about lines of sources: an index of `sources`, and what.
    pub oddities: Vec<(usize, Oddity)>,
    /// Every assignment, in the order of sources and lines.
    pub assignments: Vec<Assignment>,
    /// The conditions of assignments.
    pub conditions: Vec<Condition>,
    /// The keys with what they are in the end, ordered by key.
    pub effective: Vec<Effective>,
    /// The variables of environments that concern the project.
    pub variables: Vec<Variable>,
    /// How many other variables the environment has.
    pub other_variables: usize,
    /// Whether programs read numbers and times without regard to the user's language.
    pub invariant_culture: bool,
    /// Conditions that no declared combination of rules makes true: indexes of `conditions`.
    pub never_true: Vec<usize>,
    /// What is wrong, the worst first.
    pub findings: Vec<ConfigFinding>,
}

/// A named problem of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFinding {
    /// The rule's stable identifier.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The key or variable that it is about; empty if it is about a whole source.
    pub key: String,
    /// One sentence that says what was found.
    pub title: String,
    /// Where, as `SOURCE:LINE`.
    pub evidence: Vec<String>,
    /// Why it matters, in one or two sentences.
    pub why: String,
    /// What to do, the most likely first.
    pub fix: Vec<String>,
}

/// Reads and resolves a folder by a profile.
#[must_use]
pub fn inspect(profile: &Profile, request: &Request, redactor: Redactor) -> Configuration {
    let layered =
        |collected, redactor| resolve::resolve(profile, collected, request.all_variables, redactor);
    let mut configuration = match profile.dialect {
        Dialect::Layers => layered(collect(profile, request), redactor),
        Dialect::Spring => layered(spring::collect(profile, request), redactor),
        Dialect::DropIns => layered(dropins::collect(profile, request), redactor),
        Dialect::PythonModule => layered(python::collect_module(profile, request), redactor),
        Dialect::PythonClasses => layered(python::collect_classes(profile, request), redactor),
        Dialect::Compose => compose::resolve(profile, compose::collect(request), redactor),
        Dialect::Kubernetes => kubernetes::inspect(profile, request, redactor),
        Dialect::Framework => framework::inspect(profile, request, redactor),
        Dialect::Sitecore => sitecore::inspect(profile, request, redactor),
    };
    let nearest = rules::nearest_keys(&configuration);
    for variable in &mut configuration.variables {
        variable.nearest = variable.key.as_ref().and_then(|key| nearest.get(key).cloned());
    }
    configuration.findings = rules::find(&configuration);
    configuration
}

impl Configuration {
    /// What was found without a profile: the profile's name and title stand for it. Nothing else is known:
    /// no defines, oddities, conditions, variables and findings.
    pub(crate) fn new(
        (profile, title): (&str, &str),
        sources: Vec<Source>,
        assignments: Vec<Assignment>,
        effective: Vec<Effective>,
    ) -> Self {
        Self {
            profile: profile.to_owned(),
            title: title.to_owned(),
            leaves_out: Vec::new(),
            separator: ".".to_owned(),
            defines: Vec::new(),
            sources,
            oddities: Vec::new(),
            assignments,
            conditions: Vec::new(),
            effective,
            variables: Vec::new(),
            other_variables: 0,
            invariant_culture: false,
            never_true: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// What was found by a profile, and nothing else yet.
    pub(crate) fn from_profile(
        profile: &Profile,
        sources: Vec<Source>,
        assignments: Vec<Assignment>,
        effective: Vec<Effective>,
    ) -> Self {
        Self {
            leaves_out: profile.leaves_out.clone(),
            separator: profile.keys.separator.clone(),
            invariant_culture: profile.keys.invariant_culture,
            ..Self::new((&profile.name, &profile.title), sources, assignments, effective)
        }
    }

    /// Whether a source that should count could not be read.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        self.sources.iter().any(|source| source.state.is_gap())
    }

    /// Where an assignment stands: `SOURCE:LINE`, or the source alone.
    #[must_use]
    pub fn place(&self, assignment: &Assignment) -> String {
        let name = self.sources.get(assignment.source).map_or("", |source| source.name.as_str());
        match assignment.at {
            Some(at) => format!("{name}:{}", at.line),
            None => name.to_owned(),
        }
    }

    /// The keys that are meant by a name: that key in any case; for services of a compose file also the
    /// variable alone; else those that end in the name.
    #[must_use]
    pub fn find(&self, name: &str) -> Vec<&Effective> {
        let same = |key: &str| key.eq_ignore_ascii_case(name);
        let by_key = |chosen: &dyn Fn(&Effective) -> bool| -> Vec<&Effective> {
            self.effective.iter().filter(|effective| chosen(effective)).collect()
        };
        let exact = by_key(&|effective| {
            let written = effective.chain.iter().filter_map(|at| self.assignments.get(*at));
            same(&effective.key)
                || written.into_iter().any(|one| same(&one.key) || same(&one.written))
        });
        if !exact.is_empty() {
            return exact;
        }
        by_key(&|effective| {
            let end = effective.key.rsplit_once(self.separator.as_str()).map(|(_, end)| end);
            end.is_some_and(same)
        })
    }

    /// The keys whose spelling is nearest to a name, at most three; the last part of a key counts as its
    /// name, too.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let name = name.to_lowercase();
        let distance = |key: &str| strsim::damerau_levenshtein(&key.to_lowercase(), &name);
        let of = |effective: &Effective| {
            let key = effective.key.as_str();
            let part = key.rsplit(self.separator.as_str()).next().unwrap_or(key);
            distance(key).min(distance(part))
        };
        let mut near: Vec<(usize, &str)> = self
            .effective
            .iter()
            .map(|effective| (of(effective), effective.key.as_str()))
            .filter(|(distance, _)| *distance <= (name.len() / 3).max(2))
            .collect();
        near.sort_unstable();
        near.into_iter().take(3).map(|(_, key)| key).collect()
    }
}
