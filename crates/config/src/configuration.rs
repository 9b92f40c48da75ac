//! The answer for one profile: sources, assignments, effective values, variables, findings.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::Severity;

use crate::position::Position;
use crate::profile::{Case, Dialect, Profile};
use crate::provenance::{Assignment, Condition, Effective, Outcome, Source, SourceKind, Variable};
use crate::readers::Oddity;
use crate::sources::{Choice, Defined, Request, collect, environment_source};
use crate::value::Redactor;
use crate::{
    compose, dropins, framework, kubernetes, needs, python, resolve, rules, secret, sitecore,
    spelling, spring,
};

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
    /// The variables that the profile and the sources ask for, set or not, each with the key that it sets;
    /// an empty key where it sets none.
    pub asked: BTreeMap<String, String>,
    /// What would make a source count that a define does not choose: an index of `sources`, and the value.
    pub choices: Vec<(usize, Choice)>,
    /// What does not start with a file that is malformed, or missing and not optional; none: it starts.
    pub refused_by: Option<String>,
    /// Keys that the framework itself reads, spelled as the sources spell them.
    pub framework_keys: Vec<String>,
    /// Whether other spellings of a key of a file are the same key: Spring's relaxed binding.
    pub is_relaxed: bool,
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
    /// Other keys that it concerns.
    pub concerns: Vec<String>,
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
    let layered = |mut collected, redactor| {
        needs::add_ignored(profile, request, &mut collected);
        resolve::resolve(profile, collected, request.all_variables, redactor)
    };
    let mut configuration = match profile.dialect {
        Dialect::Layers => layered(collect(profile, request), redactor),
        Dialect::Spring => layered(spring::collect(profile, request), redactor),
        Dialect::DropIns => {
            let mut found = layered(dropins::collect(profile, request), redactor);
            found.variables = dropins::of_units(&found);
            dropins::refuse(&mut found);
            found
        }
        Dialect::PythonModule => layered(python::collect_module(profile, request), redactor),
        Dialect::PythonClasses => layered(python::collect_classes(profile, request), redactor),
        Dialect::Compose => compose::resolve(profile, compose::collect(profile, request), redactor),
        Dialect::Kubernetes => kubernetes::inspect(profile, request, redactor),
        Dialect::Framework => framework::inspect(profile, request, redactor),
        Dialect::Sitecore => sitecore::inspect(profile, request, redactor),
    };
    let nearest = rules::nearest_names(&configuration);
    for variable in &mut configuration.variables {
        variable.nearest = nearest.get(&(variable.source, variable.name.clone())).cloned();
    }
    misspelled(&mut configuration, request);
    configuration.findings = rules::find(&configuration);
    configuration
}

/// Marks the variables of the environment that set nothing, and whose name is almost one that is asked for.
fn misspelled(configuration: &mut Configuration, request: &Request) {
    let is_set = |name: &str| request.variable(name).is_some();
    let open: Vec<String> =
        configuration.asked.keys().filter(|name| !is_set(name)).cloned().collect();
    let environment = |one: &Source| one.kind == SourceKind::ProcessEnvironment;
    let known = configuration.sources.iter().position(environment);
    let mut source = known;
    for (name, _) in request.environment.iter().flatten() {
        let near = open.iter().filter_map(|asked| Some((spelling::slips(name, asked)?, asked)));
        let Some((_, asked)) = near.min() else { continue };
        if configuration.asked.contains_key(name) || configuration.sets_known(name) {
            continue;
        }
        let shown = secret::name(name);
        let own = configuration.variables.iter_mut().find(|one| one.name == shown);
        if let Some(own) = own {
            own.nearest.get_or_insert_with(|| asked.clone());
            continue;
        }
        let source = *source.get_or_insert_with(|| {
            configuration.sources.push(environment_source("environment", &[]).0);
            configuration.sources.len() - 1
        });
        configuration.other_variables = configuration.other_variables.saturating_sub(1);
        configuration.variables.push(Variable {
            name: shown,
            source,
            key: None,
            outcome: Outcome::NeverApplied,
            reason: "nothing asks for a variable of this name".to_owned(),
            nearest: Some(asked.clone()),
        });
    }
}

/// The file of a place, which is `FILE`, `FILE:LINE` or `FILE:LINE:COLUMN`.
fn file_of(place: &str) -> &str {
    let without_number = |place: &'_ str| match place.rsplit_once(':') {
        Some((file, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => file.len(),
        _ => place.len(),
    };
    let line = &place[..without_number(place)];
    &line[..without_number(line)]
}

impl Configuration {
    /// Whether a variable sets a key that another source has, too.
    fn sets_known(&self, name: &str) -> bool {
        self.effective.iter().any(|effective| {
            let mut chain = effective.chain.iter().map(|at| &self.assignments[*at]);
            let own = chain.clone().find(|one| one.written == *name);
            own.is_some_and(|own| chain.any(|other| other.source != own.source))
        })
    }

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
            asked: BTreeMap::new(),
            choices: Vec::new(),
            refused_by: None,
            framework_keys: Vec::new(),
            is_relaxed: false,
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
            refused_by: profile.refused_by.clone(),
            is_relaxed: profile.keys.case == Case::Relaxed,
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

    /// The framework that the profile is of: its title without what follows the colon.
    pub(crate) fn framework(&self) -> &str {
        self.title.split(':').next().unwrap_or_default()
    }

    /// The keys that are meant by a name: that key in any case, or one that a variable of this name sets;
    /// for services of a compose file also the variable alone; else those that end in the name; else those
    /// below it.
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
        let of_variable = self.asked.iter().filter(|(asked, _)| same(asked));
        let of_variable: BTreeSet<&str> = of_variable.map(|(_, key)| key.as_str()).collect();
        if !exact.is_empty() {
            // A file that is not read may have the variable; the key that it sets is of interest, too.
            let is_open = exact.iter().all(|one| one.winner.is_none());
            let is_new = |one: &Effective| exact.iter().all(|known| known.key != one.key);
            let more =
                by_key(&|one| is_open && of_variable.contains(one.key.as_str()) && is_new(one));
            return exact.into_iter().chain(more).collect();
        }
        let found = by_key(&|effective| {
            let key = effective.key.as_str();
            // A variable may be a part of a group of settings.
            let is_below = |group: &&str| {
                let rest = key.strip_prefix(*group).unwrap_or_default();
                !group.is_empty() && (rest.starts_with(&self.separator) || rest.starts_with('['))
            };
            of_variable.contains(key) || of_variable.iter().any(is_below)
        });
        if !found.is_empty() {
            return found;
        }
        let (name, separator) = (name.to_lowercase(), self.separator.as_str());
        let found = by_key(&|effective| {
            let key = effective.key.to_lowercase();
            key.strip_suffix(&name).is_some_and(|start| start.ends_with(separator))
        });
        if !found.is_empty() {
            return found;
        }
        // A group or a list: all that is below it.
        by_key(&|effective| {
            let key = effective.key.to_lowercase();
            let starts = |rest: &str| rest.starts_with(separator) || rest.starts_with('[');
            let mut places = key.match_indices(&name);
            places.any(|(at, _)| {
                (at == 0 || key[..at].ends_with(separator)) && starts(&key[at + name.len()..])
            })
        })
    }

    /// The findings that concern a key: those about it, about a name that sets it in the place that they name,
    /// about a variable that is almost the name of one that sets it, and about a file that sets it.
    #[must_use]
    pub fn findings_of(&self, effective: &Effective) -> Vec<&ConfigFinding> {
        let chain: Vec<&Assignment> =
            effective.chain.iter().filter_map(|at| self.assignments.get(*at)).collect();
        let is_key =
            |name: &str| name == effective.key.as_str() || chain.iter().any(|one| one.key == *name);
        // Services and files use the same names for variables, each for its own.
        let sets_it = |finding: &ConfigFinding| {
            let mut own = chain.iter().filter(|one| one.written == *finding.key);
            own.any(|one| finding.evidence.contains(&self.place(one)))
        };
        let is_own = |name: &str| is_key(name) || chain.iter().any(|one| one.written == *name);
        let files = self.files_of(effective);
        let is_of_file = |finding: &ConfigFinding| {
            let file = |place: &String| match finding.key.as_str() {
                "" => files.contains(file_of(place)),
                _ => files.contains(place.as_str()),
            };
            finding.evidence.iter().any(file)
        };
        // A variable that is not set has no assignment, and may be the one that is meant.
        let asked = |name: &str| self.asked.get(name).is_some_and(|key| *key == *effective.key);
        let is_meant = |finding: &&ConfigFinding| {
            let mut variables = self.variables.iter().filter(|one| one.name == finding.key);
            variables
                .any(|one| one.nearest.as_ref().is_some_and(|near| is_own(near) || asked(near)))
        };
        let findings = self.findings.iter();
        let concerns = |finding: &&ConfigFinding| {
            is_key(&finding.key)
                || sets_it(finding)
                || finding.concerns.iter().any(|name| is_key(name))
                || is_of_file(finding)
                || is_meant(finding)
        };
        findings.filter(concerns).collect()
    }

    /// The keys that are set at each place of the sources.
    pub(crate) fn keys_by_place(&self) -> BTreeMap<(usize, Position), Vec<String>> {
        let mut keys: BTreeMap<(usize, Position), Vec<String>> = BTreeMap::new();
        for one in &self.assignments {
            if let Some(at) = one.at {
                keys.entry((one.source, at)).or_default().push(one.key.to_string());
            }
        }
        keys
    }

    /// The files that set a key, and the one that may and was not read.
    fn files_of(&self, effective: &Effective) -> BTreeSet<&str> {
        let chain = effective.chain.iter().filter_map(|at| self.assignments.get(*at));
        let sources = chain.map(|one| one.source).chain(effective.gap);
        let sources = sources.filter_map(|at| self.sources.get(at));
        let is_file =
            |kind| !matches!(kind, SourceKind::ProcessEnvironment | SourceKind::Arguments);
        sources.filter(|source| is_file(source.kind)).map(|source| source.name.as_str()).collect()
    }

    /// What makes the files count that set a key and do not: `FILE` and `NAME=VALUE`, once each.
    #[must_use]
    pub fn choices_of(&self, effective: &Effective) -> Vec<(&str, String)> {
        let chain = effective.chain.iter().filter_map(|at| self.assignments.get(*at));
        let sources: BTreeSet<usize> = chain.map(|one| one.source).collect();
        let chosen = self.choices.iter().filter(|(source, _)| sources.contains(source));
        chosen
            .map(|(source, choice)| {
                let name = self.sources[*source].name.as_str();
                (name, format!("{}={}", choice.variable, choice.value))
            })
            .collect()
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
