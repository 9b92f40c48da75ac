//! A file has a line that its reader takes in another way than it looks.
//!
//! Not reported: a blank behind several words or a sign, which may be meant.

use culprit_model::Severity;

use super::blank_interpolation;
use crate::configuration::{ConfigFinding, Configuration};
use crate::readers::{CUT, KEEPS_BLANK, KEEPS_QUOTES, NOT_SET_IN_PART, Oddity, QUOTED_BLANK};

pub(super) const ID: &str = "config-bad-env-file-value";

/// What to do with a line.
fn fix(oddity: &Oddity) -> String {
    let name = &oddity.name;
    match oddity.what {
        CUT => format!("Put the value in quotes: `{name}=\"...\"`."),
        NOT_SET_IN_PART => {
            format!(
                "Write `$$` for a dollar sign, or put the value in single quotes: `{name}='...'`."
            )
        }
        KEEPS_QUOTES => {
            "Remove the quotes; in a list of YAML, put them around the whole item.".to_owned()
        }
        KEEPS_BLANK => "Remove the blank at the end of the line.".to_owned(),
        QUOTED_BLANK => "Remove the blank before the closing quote, if it is not meant.".to_owned(),
        _ => "Write the line as plain `NAME=value`, in UTF-8 without a byte order mark.".to_owned(),
    }
}

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let odd = configuration.oddities.iter();
    let odd = odd.filter(|(_, oddity)| !blank_interpolation::is_reference(oddity));
    odd.map(|(source, oddity)| {
        let file = &configuration.sources[*source].name;
        let subject = match oddity.name.as_str() {
            "" => format!("`{file}`"),
            name => format!("`{name}` in `{file}`"),
        };
        let (severity, why) = match oddity.what {
            QUOTED_BLANK => (
                Severity::Low,
                "A program that compares the text, or reads a number, meets the blank, too.",
            ),
            _ => (Severity::Medium, "Other readers of such files take the line in another way."),
        };
        ConfigFinding {
            id: ID,
            severity,
            key: oddity.name.clone(),
            title: format!("{subject} {}.", oddity.what),
            evidence: vec![format!("{file}:{}", oddity.at.line)],
            why: why.to_owned(),
            fix: vec![fix(oddity)],
        }
    })
    .collect()
}
