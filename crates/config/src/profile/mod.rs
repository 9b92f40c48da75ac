//! Profiles: how a family of programs finds and layers its configuration, as data.
//!
//! A profile is a TOML file. Those of the program are in `profiles/`; users write their own in the same
//! form. Nothing here reads a source: `sources` finds files by a profile, `resolve` applies them.

mod check;
mod markup;
mod mechanism;
mod stock;

use serde::Deserialize;

use crate::readers::Format;

pub use markup::{BuilderClass, Builders, Patches, RuleDefault, TreeLayer};
pub use mechanism::{
    Asks, Cascade, Counted, DropIns, Element, Fills, Formats, Ignored, InVariable, Includes,
    LaunchProfiles, Needs, OnlyFor, OnlyIf, PythonClasses, PythonModule, Replaces, Repository,
};
pub use stock::stock_profiles;

/// What kind of rules a profile follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Layers of key and value: a later layer wins.
    #[default]
    Layers,
    /// Layers of key and value, whose files are found as Spring Boot finds them.
    Spring,
    /// A compose file: each service has variables of its own.
    Compose,
    /// .NET Framework: sections of an XML file that configuration builders fill.
    Framework,
    /// .NET Framework, and a tree of XML that files patch layer by layer, under conditions.
    Sitecore,
    /// Manifests of Kubernetes: each container has variables of its own.
    Kubernetes,
    /// Files that folders of a search path replace, extend and mask.
    DropIns,
    /// A module of Python whose names are the keys.
    PythonModule,
    /// Classes of Python whose fields are the keys.
    PythonClasses,
}

/// Whether keys that differ only in case are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// They are two keys.
    #[default]
    Sensitive,
    /// They are one key.
    Insensitive,
    /// They are one key, also with other dashes and underscores: Spring's relaxed binding.
    Relaxed,
}

/// How the place in a list is written in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListStyle {
    /// As a name: `a.0`.
    #[default]
    Name,
    /// In brackets: `a[0]`.
    Brackets,
}

/// How keys are written and compared.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keys {
    /// Between two names of a key.
    #[serde(default = "dot")]
    pub separator: String,
    /// Whether case matters.
    #[serde(default)]
    pub case: Case,
    /// How places in lists are written.
    #[serde(default)]
    pub lists: ListStyle,
    /// Whether programs read numbers and times by .NET's invariant culture.
    #[serde(default)]
    pub invariant_culture: bool,
    /// What a stronger value takes away besides weaker values of its own key.
    #[serde(default)]
    pub replaces: Replaces,
    /// First parts of keys that programs know without a file.
    #[serde(default)]
    pub first: Vec<String>,
    /// Keys that the framework itself reads, those that are written most often.
    #[serde(default)]
    pub known: Vec<String>,
    /// Variables that the framework itself reads, and that set no key which files name.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            separator: dot(),
            case: Case::default(),
            lists: ListStyle::default(),
            invariant_culture: false,
            replaces: Replaces::default(),
            first: Vec::new(),
            known: Vec::new(),
            variables: Vec::new(),
        }
    }
}

fn dot() -> String {
    ".".to_owned()
}

/// A name that decides which files and conditions count, such as the environment of .NET.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Define {
    /// The name in `{...}` of file names, and of `--define NAME=VALUE`.
    pub name: String,
    /// Variables that set it, the first that is set wins.
    #[serde(default)]
    pub variables: Vec<String>,
    /// A key of files without a condition that sets it, where no variable does.
    pub key: Option<String>,
    /// An element of a file in XML that sets it, where no variable does.
    pub element: Option<Element>,
    /// The folder of git's repository that it is, where no variable sets it.
    pub repository: Option<Repository>,
    /// What it is where nothing sets it; none: files that need it are not looked for.
    pub default: Option<String>,
    /// The only values that programs know; empty: any.
    #[serde(default)]
    pub values: Vec<String>,
    /// Whether it is a list, separated by commas.
    #[serde(default)]
    pub list: bool,
    /// A text at which its values end: they are what stands before it.
    pub until: Option<String>,
    /// Whether it is left out of output where nothing sets it.
    #[serde(default)]
    pub quiet: bool,
    /// Whether it is a path, which may lead out of the root: `~/` is the home folder, and a relative
    /// one is below the root.
    #[serde(default)]
    pub path: bool,
}

impl Define {
    /// Whether a value counts: a program that knows some values alone takes another one for none.
    pub(crate) fn knows(&self, value: &str) -> bool {
        let is_known =
            self.values.is_empty() || self.values.iter().any(|known| known == value.trim());
        is_known && !value.is_empty()
    }
}

/// A start of variable names, and what stands in its place in the key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Prefix {
    /// How the names start.
    pub from: String,
    /// What it becomes.
    #[serde(default)]
    pub to: String,
}

/// Variables of the environment as a layer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FromEnvironment {
    /// What stands for the key's separator in a name; none: names are keys.
    pub separator: Option<String>,
    /// Starts of names that become others.
    #[serde(default)]
    pub prefixes: Vec<Prefix>,
    /// Whether names without one of the prefixes set nothing in this layer.
    #[serde(default)]
    pub only_prefixes: bool,
}

/// A layer of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Layer {
    /// What it is called in output.
    pub name: String,
    /// Files below the root, the weakest first. `{NAME}` is the value of a define, `*` any part of a
    /// name.
    #[serde(default)]
    pub files: Vec<String>,
    /// Ends of file names: each of `files` is looked for with each of them, in this order.
    #[serde(default)]
    pub endings: Vec<String>,
    /// Those of `endings` whose files the program reads and Culprit cannot.
    #[serde(default)]
    pub opaque_endings: Vec<String>,
    /// The format of its files; none: by their names.
    #[serde(default, deserialize_with = "format")]
    pub format: Option<Format>,
    /// Files that look as if they belonged to the layer and are not read by the program.
    #[serde(default)]
    pub not_read: Vec<String>,
    /// The key in each document of a file that says for which values of a define it counts.
    pub activated_by: Option<ActivatedBy>,
    /// The environment instead of files.
    pub environment: Option<FromEnvironment>,
    /// A variable that holds a whole document, instead of files.
    pub document: Option<InVariable>,
    /// Numbered variables that hold keys and values, instead of files.
    pub counted: Option<Counted>,
    /// Whether the values of its files are names of variables, whose values the keys take.
    #[serde(default)]
    pub names_variables: bool,
    /// A key of weaker layers that must have one of these values; else the layer is not read.
    pub only_if: Option<OnlyIf>,
    /// Whether its keys are given as arguments.
    #[serde(default)]
    pub arguments: bool,
    /// Values of a define for which alone the program reads the layer.
    pub only_for: Option<OnlyFor>,
    /// Values of a define for which the program does not read the layer.
    pub except_for: Option<OnlyFor>,
    /// A variable that turns the layer off.
    pub off_by: Option<String>,
    /// What a project must use so that its files are read.
    pub needs: Option<Needs>,
    /// Whether `$NAME` in its values stands for a variable, or for a value of these layers.
    #[serde(default)]
    pub expands: bool,
    /// Packages with which it does so, where package.json names one.
    #[serde(default)]
    pub expands_with: Vec<String>,
    /// Packages with which an option of the code decides that.
    #[serde(default)]
    pub may_expand_with: Vec<String>,
    /// Code of the project that asks for variables, instead of files.
    pub asks: Option<Asks>,
}

impl Layer {
    fn with_endings(&mut self) {
        if !self.endings.is_empty() {
            let names = std::mem::take(&mut self.files).into_iter();
            let with = |name: String| self.endings.iter().map(move |end| format!("{name}{end}"));
            self.files = names.flat_map(with).collect();
        }
    }

    /// Whether the program reads a file and Culprit cannot.
    pub(crate) fn is_opaque(&self, file: &str) -> bool {
        self.opaque_endings.iter().any(|end| file.ends_with(end.as_str()))
    }
}

/// The condition of a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ActivatedBy {
    /// Keys whose value is the condition.
    pub keys: Vec<String>,
    /// The define that it is about.
    pub define: String,
}

fn format<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Format>, D::Error> {
    let word = String::deserialize(deserializer)?;
    word.parse().map(Some).map_err(serde::de::Error::custom)
}

/// How a family of programs layers its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Profile {
    /// What `--profile` takes.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Where its rules are documented.
    #[serde(default)]
    pub source: String,
    /// What its rules leave out, one sentence each.
    #[serde(default)]
    pub leaves_out: Vec<String>,
    /// The kind of rules.
    #[serde(default)]
    pub dialect: Dialect,
    /// What does not start with a file that is malformed, or missing and not optional; none: it starts.
    pub refused_by: Option<String>,
    /// Whether the order of layers is a guess, because no program says it.
    #[serde(default)]
    pub assumed: bool,
    /// Files that show that a folder is of this kind: one of them is enough. `a+b` means both.
    #[serde(default)]
    pub detect: Vec<String>,
    /// Files that show that a folder is of this kind where no other profile fits, in the same form.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// Files that show that another profile fits the folder better, in the same form.
    #[serde(default)]
    pub unless: Vec<String>,
    /// How keys are written and compared.
    #[serde(default)]
    pub keys: Keys,
    /// Names that decide what counts.
    #[serde(default, rename = "define")]
    pub defines: Vec<Define>,
    /// The layers, the weakest first.
    #[serde(default, rename = "layer")]
    pub layers: Vec<Layer>,
    /// The rules of the dialects `framework` and `sitecore` for builders.
    pub builders: Option<Builders>,
    /// The rules of the dialect `sitecore` for patches.
    pub patches: Option<Patches>,
    /// Formats of files by the ends of their names, where they are others than usual.
    #[serde(default)]
    pub formats: Formats,
    /// A file of variables that a development tool sets.
    pub launch: Option<LaunchProfiles>,
    /// Keys that name further files.
    #[serde(rename = "include")]
    pub includes: Option<Includes>,
    /// The search path, for the dialect `drop-ins`.
    pub drop_ins: Option<DropIns>,
    /// The module, for the dialect `python-module`.
    pub python_module: Option<PythonModule>,
    /// The classes, for the dialect `python-classes`.
    pub python_classes: Option<PythonClasses>,
    /// A text that one of the files of `detect` must hold.
    pub detect_text: Option<String>,
    /// Texts in the files of `detect` that show that another profile fits better.
    #[serde(default)]
    pub unless_text: Vec<String>,
    /// A file of variables that is read before all others, where the project uses what reads it.
    pub fills: Option<Fills>,
    /// Files that look as if the program read them.
    #[serde(default)]
    pub ignored: Vec<Ignored>,
}

/// Why a profile cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// It is no TOML, or not of the form of a profile.
    #[error("not a profile: {0}")]
    Form(String),
    /// Its parts do not fit together.
    #[error("profile `{name}`: {what}")]
    Rule {
        /// The profile's name.
        name: String,
        /// What is wrong.
        what: String,
    },
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// When the text is not of the form of a profile, or its parts contradict each other.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let mut profile: Self =
            toml::from_str(text).map_err(|error| ProfileError::Form(error.message().to_owned()))?;
        profile.layers.iter_mut().for_each(Layer::with_endings);
        profile.check().map_err(|what| ProfileError::Rule { name: profile.name.clone(), what })?;
        Ok(profile)
    }

    /// The define of this name.
    #[must_use]
    pub fn define(&self, name: &str) -> Option<&Define> {
        self.defines.iter().find(|define| define.name == name)
    }

    /// The names that `--define` takes.
    #[must_use]
    pub fn define_names(&self) -> Vec<&str> {
        let launch = self.launch.iter().map(|launch| launch.define.as_str());
        let module = self.python_module.iter().map(|_| "module");
        let container = (self.dialect == Dialect::Kubernetes).then_some("container");
        let named = self.defines.iter().map(|define| define.name.as_str());
        let mut names: Vec<&str> = Vec::new();
        for name in named.chain(launch).chain(module).chain(container) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether `--define` takes a name. Spring takes keys, and Sitecore the rules of its files.
    #[must_use]
    pub fn takes_define(&self, name: &str) -> bool {
        match self.dialect {
            Dialect::Spring if name.contains('.') => true,
            Dialect::Sitecore => true,
            _ => self.define_names().contains(&name),
        }
    }
}

/// The names in `{...}` of a file name.
pub(crate) fn placeholders(file: &str) -> impl Iterator<Item = &str> {
    file.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

#[cfg(test)]
mod tests;
