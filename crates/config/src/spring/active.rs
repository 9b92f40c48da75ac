//! Which profiles are active, and which documents count.

use std::collections::{BTreeMap, BTreeSet};

use super::read::Reader;
use super::split;
use super::tree::Node;
use crate::condition;
use crate::provenance::ConditionResult;
use crate::sources::{Defined, Request};

/// What is known when a document is judged.
#[derive(Debug, Clone)]
pub(super) enum Context {
    /// Nothing.
    Nothing,
    /// The cloud platform.
    Platform,
    /// The platform and the profiles.
    Profiles(Vec<String>),
}

/// Variables that show a cloud platform: all of one row.
const PLATFORMS: &[(&str, &[&str])] = &[
    ("cloud-foundry", &["VCAP_APPLICATION"]),
    ("cloud-foundry", &["VCAP_SERVICES"]),
    ("heroku", &["DYNO"]),
    ("kubernetes", &["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"]),
    ("nomad", &["NOMAD_ALLOC_ID"]),
];

const ACTIVE: &str = "spring.profiles.active";
const INCLUDE: &str = "spring.profiles.include";
const DEFAULT: &str = "spring.profiles.default";
const GROUP: &str = "spring.profiles.group.";

impl Reader<'_> {
    /// The cloud platform that documents are compared with.
    pub(super) fn platform(&self) -> Option<String> {
        if let Some((name, _)) = self.value("spring.main.cloud-platform", &Context::Nothing) {
            return Some(name.to_lowercase().replace('_', "-"));
        }
        let is_set = |name: &&'static str| {
            self.environment.get(self.profile, &name.to_lowercase()).is_some()
        };
        let found = PLATFORMS.iter().find(|(_, names)| names.iter().all(is_set));
        found.map(|(platform, _)| (*platform).to_owned())
    }

    /// Whether the program runs on this cloud platform.
    pub(super) fn is_of_platform(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase().replace('_', "-");
        self.known_platform.as_ref() == Some(&wanted)
    }

    /// Whether a document counts, as far as that is known.
    pub(super) fn is_active(&self, node: &Node, context: &Context) -> bool {
        if node.on_profile.is_none() && node.on_platform.is_none() {
            return true;
        }
        let is_ours = |one: &String| self.is_of_platform(one);
        let of_platform = || node.on_platform.as_ref().is_none_or(is_ours);
        let of_profile = || match (&node.on_profile, context) {
            (None, _) => true,
            (Some(text), Context::Profiles(active)) => {
                condition::evaluate(text, active) == ConditionResult::True
            }
            (Some(_), _) => false,
        };
        !matches!(context, Context::Nothing) && of_platform() && of_profile()
    }

    /// The active profiles, with those that groups and includes add, and what sets them.
    pub(super) fn profiles(&mut self, request: &Request) -> Defined {
        let of = |values: Vec<String>, from: String| Defined {
            name: "profile".to_owned(),
            values,
            from,
        };
        let given = request.defines.iter().find(|(name, _)| name == "profile");
        let (active, from) = match given {
            Some((_, values)) => (values.clone(), "--define".to_owned()),
            None => self.profile_list(ACTIVE).unwrap_or_default(),
        };
        let mut all = self.included();
        all.extend(active);
        let groups = self.groups();
        let expanded = expand(&all, &groups);
        if !expanded.is_empty() {
            let from = if from.is_empty() { INCLUDE.to_owned() } else { from };
            return of(expanded, from);
        }
        match self.profile_list(DEFAULT) {
            Some((default, from)) => of(expand(&default, &groups), from),
            None => of(expand(&["default".to_owned()], &groups), "default".to_owned()),
        }
    }

    /// A list of profiles of the strongest source that has it. Spring Boot 3.5 also takes it from a document
    /// whose condition does not hold.
    fn profile_list(&self, key: &str) -> Option<(Vec<String>, String)> {
        if let Some((values, from)) = self.environment.list(self.profile, key) {
            let values = values.iter().flat_map(|value| split(&self.replaced(value)));
            return Some((values.collect(), from));
        }
        for at in self.tree.strongest_first() {
            let Some((values, line)) = self.list_of(at, key) else { continue };
            let values = values.iter().flat_map(|value| split(&self.replaced(value)));
            return Some((values.collect(), format!("{}:{line}", self.file_of(at))));
        }
        None
    }

    /// What `spring.profiles.include` adds: of all sources together.
    fn included(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        if let Some((values, _)) = self.environment.list(self.profile, INCLUDE) {
            all.extend(values);
        }
        for at in self.tree.strongest_first() {
            let Some((values, _)) = self.list_of(at, INCLUDE) else { continue };
            if self.is_active(&self.tree.nodes[at], &Context::Platform) {
                all.extend(values);
            } else {
                let why = format!("Spring refuses `{INCLUDE}` in a document with a condition");
                self.refuse(at, &why);
            }
        }
        all.iter().flat_map(|value| split(&self.replaced(value))).collect()
    }

    /// The groups: of each name the one of the strongest source, as a whole. Conditions do not matter, as
    /// with the active profiles.
    fn groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let of_environment = self.environment.below(GROUP);
        take_groups(&mut groups, of_environment);
        for at in self.tree.strongest_first() {
            let pairs = self.pairs_below(at, GROUP);
            take_groups(&mut groups, pairs);
        }
        let replaced = groups.into_iter().map(|(name, values)| {
            let values = values.iter().flat_map(|value| split(&self.replaced(value)));
            (name, values.collect())
        });
        replaced.collect()
    }

    /// Refuses what a document of a profile's file must not set.
    pub(super) fn check_of_profile(&mut self) {
        for at in self.tree.strongest_first() {
            if !self.tree.nodes[at].of_profile {
                continue;
            }
            let key = [ACTIVE, INCLUDE, DEFAULT].iter().find(|key| self.list_of(at, key).is_some());
            if let Some(key) = key {
                self.refuse(at, &format!("Spring refuses `{key}` in the file of a profile"));
            }
        }
    }
}

/// Adds the groups of one source whose names are new: `NAME` with commas, or `NAME[0]` and so on.
fn take_groups(groups: &mut BTreeMap<String, Vec<String>>, pairs: Vec<(String, String)>) {
    let known: BTreeSet<String> = groups.keys().cloned().collect();
    for (key, value) in pairs {
        let name = key.split('[').next().unwrap_or_default().to_owned();
        if !known.contains(&name) {
            groups.entry(name).or_default().push(value);
        }
    }
}

/// Profiles with those of their groups: a group's stand right behind its name.
fn expand(profiles: &[String], groups: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut open: Vec<&String> = profiles.iter().rev().collect();
    let mut expanded: Vec<String> = Vec::new();
    while let Some(one) = open.pop() {
        if !expanded.contains(one) {
            expanded.push(one.clone());
            open.extend(groups.get(one).into_iter().flatten().rev());
        }
    }
    expanded
}
