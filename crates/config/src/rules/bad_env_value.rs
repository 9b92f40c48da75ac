//! A file has a line that its reader takes in another way than it looks.
//!
//! Not reported: a blank behind several words or a sign, which may be meant.

use culprit_model::Severity;

use super::blank_interpolation;
use crate::configuration::{ConfigFinding, Configuration};
use crate::dropins::{NO_ASSIGNMENT, NO_SECTION, NO_SETTING, meant_setting};
use crate::kubernetes::ENDS_IN_BREAK;
use crate::provenance::{Source, SourceKind};
use crate::python::{NO_VARIABLE, TEXT_IS_TRUE};
use crate::readers::{
    BYTE_ORDER_MARK, CUT, IN_UTF8, KEEPS_BLANK, KEEPS_COMMENT, KEEPS_QUOTES, KEEPS_REFERENCE,
    LOSES_BACKSLASH, NO_NAME, NOT_SET_IN_PART, NOT_UTF8, Oddity, QUOTE_IN_VALUE, QUOTED_BLANK,
    STARTS_WITH_BLANK, UTF16,
};

pub(super) const ID: &str = "config-bad-env-file-value";

/// Whether a source is a list of `NAME=value`, which several readers read, each in its own way.
fn is_of_variables(source: &Source) -> bool {
    use SourceKind::{ComposeEnvFile, Dotenv, DotenvInterpolation};
    matches!(source.kind, ComposeEnvFile | Dotenv | DotenvInterpolation)
}

/// Whether another rule is about it.
fn is_of_line(oddity: &Oddity) -> bool {
    let is_of_settings = matches!(oddity.what, TEXT_IS_TRUE | NO_VARIABLE);
    !is_of_settings && !blank_interpolation::is_reference(oddity)
}

/// What to do with a line.
fn fix(source: &Source, oddity: &Oddity) -> String {
    let (name, file) = (&oddity.name, &source.name);
    match oddity.what {
        CUT => format!("Put the value in quotes: `{name}=\"...\"`."),
        NOT_SET_IN_PART => {
            format!(
                "Write `$$` for a dollar sign, or put the value in single quotes: `{name}='...'`."
            )
        }
        KEEPS_QUOTES if source.kind == SourceKind::ComposeEnvironment => {
            format!("Put the quotes around the whole item: `- \"{name}=...\"`.")
        }
        KEEPS_QUOTES => "Remove the quotes.".to_owned(),
        QUOTE_IN_VALUE => {
            "Put the closing quote at the end of the value, or remove the quotes.".to_owned()
        }
        STARTS_WITH_BLANK => "Remove the blank behind the `=`.".to_owned(),
        KEEPS_BLANK => "Remove the blank at the end of the line.".to_owned(),
        QUOTED_BLANK => "Remove the blank before the closing quote, if it is not meant.".to_owned(),
        BYTE_ORDER_MARK | UTF16 | NOT_UTF8 => {
            format!("Save `{file}` in UTF-8, without a byte order mark.")
        }
        ENDS_IN_BREAK => "Encode it without the line break: `printf %s ... | base64`.".to_owned(),
        NO_NAME if name.starts_with("export ") => "Remove `export` from the line.".to_owned(),
        KEEPS_COMMENT => "Put the comment on a line of its own.".to_owned(),
        IN_UTF8 => "Write such letters as `\\u00e4`, or use a file in YAML.".to_owned(),
        LOSES_BACKSLASH => "Write each backslash twice, or `/` in a path.".to_owned(),
        KEEPS_REFERENCE => "Write the whole value.".to_owned(),
        NO_ASSIGNMENT => format!("Put quotes around the whole: `Environment=\"{name}=...\"`."),
        NO_SECTION => {
            "Write the section as `[Unit]`, `[Install]`, or the unit's type: `[Service]`."
                .to_owned()
        }
        NO_SETTING => match meant_setting(name) {
            Some(meant) => format!("Write `{meant}=`, if it is meant."),
            None => format!("Correct line {} of `{file}`.", oddity.at.line),
        },
        _ if is_of_variables(source) => "Write the line as plain `NAME=value`.".to_owned(),
        _ => format!("Correct line {} of `{file}`.", oddity.at.line),
    }
}

/// What follows from a line.
fn effect(source: &Source, oddity: &Oddity) -> &'static str {
    match oddity.what {
        QUOTED_BLANK | STARTS_WITH_BLANK => {
            "A program that compares the text, or reads a number, meets the blank, too."
        }
        ENDS_IN_BREAK => "A program that compares the text meets the line break, too.",
        KEEPS_QUOTES if source.kind == SourceKind::ComposeEnvironment => {
            "YAML removes quotes around a whole item of a list, and no others."
        }
        _ if is_of_variables(source) => "Other readers of such files take the line in another way.",
        _ => "The program takes the line in another way than it looks.",
    }
}

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let odd = configuration.oddities.iter();
    let odd: Vec<&(usize, Oddity)> = odd.filter(|(_, oddity)| is_of_line(oddity)).collect();
    if odd.is_empty() {
        return Vec::new();
    }
    let keys = configuration.keys_by_place();
    odd.into_iter()
        .map(|(at, oddity)| {
            let source = &configuration.sources[*at];
            let file = &source.name;
            let subject = match oddity.name.as_str() {
                "" => format!("`{file}`"),
                name => format!("`{name}` in `{file}`"),
            };
            let severity =
                if oddity.what == QUOTED_BLANK { Severity::Low } else { Severity::Medium };
            ConfigFinding {
                id: ID,
                severity,
                key: oddity.name.clone(),
                concerns: keys.get(&(*at, oddity.at)).cloned().unwrap_or_default(),
                title: format!("{subject} {}.", oddity.what),
                evidence: vec![format!("{file}:{}", oddity.at.line)],
                why: effect(source, oddity).to_owned(),
                fix: vec![fix(source, oddity)],
            }
        })
        .collect()
}
