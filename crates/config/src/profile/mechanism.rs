//! Ways of profiles to find and to merge sources, beyond files and variables in layers.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::format;
use crate::readers::Format;

/// What a stronger value takes away besides weaker values of its own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replaces {
    /// Nothing: each key is on its own.
    #[default]
    Nothing,
    /// A list replaces the weaker list as a whole.
    Lists,
    /// A list replaces a list, and a value all keys below it. Groups of keys are merged.
    Trees,
}

/// Code that asks for keys or variables by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Asks {
    /// The ends of the names of files with code, without a dot.
    pub ends: Vec<String>,
    /// Folders that are not looked into, besides hidden ones.
    pub skip: Vec<String>,
    /// What stands right before a name, such as `process.env.`. `*` is any text of the same line.
    pub words: Vec<String>,
    /// The words of these behind which a key must have a value, so that the program starts.
    #[serde(default)]
    pub required: Vec<String>,
    /// How keys start whose other part stands behind a word, by the word.
    #[serde(default)]
    pub below: BTreeMap<String, String>,
    /// What stands right before the name of a variable that code takes from the environment alone, and not as a key.
    #[serde(default)]
    pub variables: Vec<String>,
    /// What stands right before the name of a group of keys.
    #[serde(default)]
    pub groups: Vec<String>,
    /// What stands right behind a group where one key of it is taken: `["`.
    #[serde(default)]
    pub members: Vec<String>,
    /// How groups end whose methods ask for keys below them: a variable with `section` in its name.
    #[serde(default)]
    pub groups_end: Vec<String>,
    /// Calls with the named arguments `prefix` and `name`, which make keys.
    #[serde(default)]
    pub named_arguments: Vec<String>,
    /// What stands between a group and a key in it.
    #[serde(default)]
    pub separator: String,
    /// The object that has the variables: `const { NAME } = OBJECT` asks for NAME.
    pub object: Option<String>,
    /// What a name may have besides letters, digits and `_`.
    #[serde(default)]
    pub letters: String,
    /// What stands between a name and its default, such as `||`.
    #[serde(default)]
    pub defaults: Vec<String>,
    /// The signs of these behind which the default also stands for an empty text.
    #[serde(default)]
    pub empty_defaults: Vec<String>,
    /// What ends a default; none: a default is a literal.
    pub default_end: Option<String>,
    /// How names must start: code gets no value for others.
    #[serde(default)]
    pub start: String,
    /// The option of the code that names other starts; where it is used, they are not known.
    pub start_option: Option<String>,
    /// The directive at the start of a file whose names alone must start so; none: those of all files.
    pub start_directive: Option<String>,
    /// Names that are no variables.
    #[serde(default)]
    pub except: Vec<String>,
    /// Whether names have no lower-case letters.
    #[serde(default)]
    pub upper_case: bool,
}

impl Asks {
    /// Whether the names of a file must start as `start` says.
    pub(crate) fn start_counts(&self, text: &str) -> bool {
        let Some(directive) = &self.start_directive else { return true };
        let text = text.trim_start();
        let rest =
            text.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_prefix(directive.as_str()));
        rest.is_some_and(|rest| rest.starts_with(['"', '\'']))
    }
}

/// A variable that holds a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InVariable {
    /// Its name.
    pub variable: String,
    /// The format of its value.
    #[serde(deserialize_with = "known_format")]
    pub format: Format,
}

fn known_format<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
    let missing = || serde::de::Error::custom("a format is missing");
    format(deserializer)?.ok_or_else(missing)
}

/// Numbered variables: one says how many there are, and two of each number are a key and its value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The variable with the number of pairs.
    pub count: String,
    /// How the variables with keys start; a number from 0 follows.
    pub key: String,
    /// How the variables with values start.
    pub value: String,
}

/// A key that must have one of these values.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlyIf {
    /// The key.
    pub key: String,
    /// The values, compared without case; empty stands for a key without a value.
    pub values: Vec<String>,
}

/// Values of a define for which alone the program reads a layer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlyFor {
    /// The define.
    pub define: String,
    /// The values, compared without case.
    pub values: Vec<String>,
}

/// A folder of the repository of git that a folder belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repository {
    /// That of the work tree.
    Own,
    /// The one that all work trees share.
    Shared,
}

/// An element of a file in XML.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// The files; the first that has the element counts.
    pub files: Vec<String>,
    /// The name of the element, below any other.
    pub name: String,
}

/// A file with variables that a development tool sets when it starts the program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchProfiles {
    /// The file.
    pub file: String,
    /// Its format; none: by its name.
    #[serde(default, deserialize_with = "format")]
    pub format: Option<Format>,
    /// The group that has a group for each launch profile.
    pub group: String,
    /// The group in it that has the variables; none: the launch profile is a command of a shell, which sets them
    /// before the program's name.
    pub variables: Option<String>,
    /// The define that chooses a launch profile.
    pub define: String,
    /// Why they do not count without it, in words.
    pub why: String,
}

/// Keys that name further files. What such a file holds stands in place of the key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Includes {
    /// The key whose value is the path of a file, relative to the file that has the key.
    pub key: String,
    /// A key with a `*` for a condition: the file counts where the condition holds.
    pub conditional: Option<String>,
    /// The deepest nesting; the program refuses what is deeper.
    pub depth: usize,
}

/// A search path whose stronger folders replace, extend and mask files of weaker ones.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DropIns {
    /// Folders of units, the strongest first.
    pub unit_path: Vec<String>,
    /// The ends of the names of units.
    pub unit_types: Vec<String>,
    /// Folders of other files, the strongest first.
    pub file_path: Vec<String>,
    /// Other files below these folders. `*` stands for a part of a name without a dot.
    pub files: Vec<String>,
    /// Keys that are lists: each assignment adds to it, and an empty one empties it. `*` at the end
    /// stands for any rest.
    pub lists: Vec<String>,
}

/// Formats of files by the ends of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Formats(BTreeMap<String, FormatWord>);

/// A format, written as its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct FormatWord(#[serde(deserialize_with = "known_format")] Format);

impl Formats {
    /// The format of a file.
    #[must_use]
    pub fn of(&self, file: &str) -> Option<Format> {
        let end = file.rsplit('.').next()?;
        self.0.get(end).map(|word| word.0).or_else(|| Format::of_name(file))
    }
}

/// A module of Python whose names in upper case are the keys.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PythonModule {
    /// The variable that names the module.
    pub variable: String,
    /// Files that set this variable where it is not set, by a call with its name and the module's.
    pub named_in: Vec<String>,
    /// Keys whose value must be a list or a tuple: with another one the program does not start.
    #[serde(default)]
    pub lists: Vec<String>,
}

/// Classes of Python whose fields are the keys.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PythonClasses {
    /// The base class of settings.
    pub base: String,
    /// The base class of groups of fields.
    pub group_base: String,
    /// Files that may hold such classes.
    pub files: Vec<String>,
}

/// What a project must use so that a file is read: a package, an option of a script, a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Needs {
    /// The package file, in JSON.
    pub file: String,
    /// Its groups of names of packages.
    pub groups: Vec<String>,
    /// Parts of the names of packages that read the file in their own way.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Parts of the names of packages that code must call.
    #[serde(default)]
    pub installed: Vec<String>,
    /// What is said where such a package is installed, and no code calls it.
    #[serde(default)]
    pub not_called: String,
    /// The group of scripts.
    pub commands: String,
    /// The script that starts the program.
    pub start: String,
    /// Parts of a script that read the file.
    #[serde(default)]
    pub command_words: Vec<String>,
    /// What stands in a script before the name of a file.
    #[serde(default)]
    pub file_options: Vec<String>,
    /// Files of code.
    pub code: Vec<String>,
    /// Texts of the code, one of which is enough.
    pub code_words: Vec<String>,
    /// How the calls in the code start.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Packages whose call reads several files.
    #[serde(default)]
    pub cascades: Vec<Cascade>,
    /// Why the file is not read without it.
    pub why: String,
}

/// The files that the call of a package reads.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cascade {
    /// The package.
    pub package: String,
    /// The variable whose value stands for `{}` in a file's name.
    pub variable: String,
    /// The files, the weakest first.
    pub files: Vec<String>,
    /// By value of the variable, files that are left out.
    #[serde(default)]
    pub left_out: BTreeMap<String, Vec<String>>,
    /// Options of the call that change the files.
    #[serde(default)]
    pub options: Vec<String>,
}

impl Cascade {
    /// The files for a value of the variable.
    pub(crate) fn files_for(&self, value: Option<&str>) -> Vec<String> {
        let left_out = value.and_then(|value| self.left_out.get(value));
        let counts = |file: &&String| !left_out.is_some_and(|files| files.contains(file));
        let named = |file: &String| match value {
            Some(value) => Some(file.replace("{}", value)),
            None => (!file.contains("{}")).then(|| file.clone()),
        };
        self.files.iter().filter(counts).filter_map(named).collect()
    }
}

/// A file of variables that are set before anything else is read. A variable that is set already stays.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fills {
    /// The file.
    pub file: String,
    /// Its format.
    #[serde(deserialize_with = "known_format")]
    pub format: Format,
    /// What the project must use.
    pub needs: Needs,
}

/// Files that look as if the program read them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ignored {
    /// The files.
    pub files: Vec<String>,
    /// Their format; none: by their names.
    #[serde(default, deserialize_with = "super::format")]
    pub format: Option<Format>,
    /// Why they are not read.
    pub why: String,
    /// Whether they are near enough to files that are read to be meant as such: a finding.
    #[serde(default)]
    pub near: bool,
    /// Files and a text: where one of the files has the text, the program may read them.
    #[serde(default)]
    pub unless_files: Vec<String>,
    /// That text.
    #[serde(default)]
    pub unless_text: String,
}
