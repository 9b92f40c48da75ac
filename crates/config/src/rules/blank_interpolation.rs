//! A `${...}` stands for a variable that is not set.

use culprit_model::Severity;

use crate::compose::{BLANK, REFUSED};
use crate::configuration::{ConfigFinding, Configuration};

pub(super) const ID: &str = "config-blank-interpolation";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let blank = configuration.oddities.iter();
    let blank = blank.filter(|(_, oddity)| oddity.what == BLANK || oddity.what == REFUSED);
    blank
        .map(|(source, oddity)| {
            let (file, name) = (&configuration.sources[*source].name, &oddity.name);
            let refused = oddity.what == REFUSED;
            ConfigFinding {
                id: ID,
                severity: if refused { Severity::High } else { Severity::Medium },
                key: name.clone(),
                title: format!("`{name}` {}.", oddity.what),
                evidence: vec![format!("{file}:{}", oddity.at.line)],
                why: if refused {
                    "Compose refuses to start then.".to_owned()
                } else {
                    "Compose puts an empty text in its place and warns.".to_owned()
                },
                fix: vec![
                    format!("Set `{name}` in `.env`, or in the shell that starts Compose."),
                    format!("Or give it a default: `${{{name}:-...}}`."),
                ],
            }
        })
        .collect()
}
