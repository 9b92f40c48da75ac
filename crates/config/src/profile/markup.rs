//! What a profile says about configuration in XML: builders that fill sections, and patches of a tree.

use serde::Deserialize;

/// How configuration builders fill the sections of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Builders {
    /// The file that has the sections: the first of these that exists, in any case.
    pub files: Vec<String>,
    /// The major version of Microsoft's builders where a type names none.
    pub version: u32,
    /// Whether names of variables that differ only in case are one, as on Windows.
    #[serde(default)]
    pub environment_ignores_case: bool,
    /// Classes that take values from the environment.
    #[serde(rename = "class")]
    pub classes: Vec<BuilderClass>,
}

/// A class of builders that takes values from the environment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BuilderClass {
    /// The full name of the class; `*` at its end stands for any rest.
    pub name: String,
    /// What it replaces in names before it asks for them, as `from=to` joined by commas; none: as
    /// Microsoft's builder of that version does.
    pub char_map: Option<String>,
    /// Whether its rules are assumed, because they are not published.
    #[serde(default)]
    pub assumed: bool,
}

/// How files patch a tree of XML.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Patches {
    /// The element of the main file that can be patched.
    pub section: String,
    /// The file that says which folders are loaded in which order.
    pub layers_file: String,
    /// The layers where that file does not exist.
    #[serde(default, rename = "layer")]
    pub layers: Vec<TreeLayer>,
    /// Attributes that a patch is matched by; empty: all that have no namespace.
    #[serde(default)]
    pub match_by: Vec<String>,
    /// Whether the best of several matches is taken by its children; else the first.
    #[serde(default)]
    pub relevance: bool,
    /// Attributes that tell elements of one name apart in keys, the first that an element has.
    pub identify: Vec<String>,
    /// The rules of conditions that are always defined.
    #[serde(default, rename = "rule")]
    pub rules: Vec<RuleDefault>,
}

/// A folder of patches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TreeLayer {
    /// The layer's name.
    pub name: String,
    /// Its folder.
    pub folder: String,
}

/// A rule of conditions that is always defined.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleDefault {
    /// The rule's name: the last part of the namespace.
    pub name: String,
    /// Its value where nothing defines it.
    pub default: String,
    /// The values that are documented; empty: any.
    #[serde(default)]
    pub values: Vec<String>,
    /// Whether `name-1` means `name`, too.
    #[serde(default)]
    pub numbered: bool,
    /// Values that stand for several: `from` also means each of `to`.
    #[serde(default)]
    pub implies: Vec<(String, Vec<String>)>,
}
