//! A setting that is a truth value takes the text of a variable that means false, and Python takes it for true.
//!
//! Not reported: settings whose default is no truth value, and those that turn the text into another value.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::Effective;
use crate::python::TEXT_IS_TRUE;

pub(super) const ID: &str = "config-text-is-true";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let odd = configuration.oddities.iter().filter(|(_, oddity)| oddity.what == TEXT_IS_TRUE);
    odd.filter_map(|(at, oddity)| {
        let place = format!("{}:{}", configuration.sources[*at].name, oddity.at.line);
        // Another line may set the setting again.
        let counts = |one: &&Effective| {
            let winner = one.winner.map(|winner| &configuration.assignments[winner]);
            winner.is_some_and(|winner| winner.source == *at && winner.at == Some(oddity.at))
        };
        let key = configuration.effective.iter().find(counts)?.key.to_string();
        let variable = &oddity.name;
        Some(ConfigFinding {
            id: ID,
            severity: Severity::High,
            title: format!("`{key}` is true, although `{variable}` means false: it is a text."),
            concerns: Vec::new(),
            key,
            evidence: vec![place.clone()],
            why: "`os.environ` has texts alone, and Python takes every text for true that is not empty."
                .to_owned(),
            fix: vec![
                format!(
                    "Compare the text in `{place}`: `os.environ.get(\"{variable}\", \"\").lower() in (\"1\", \"true\")`."
                ),
                format!("Or set `{variable}` to the empty text."),
            ],
        })
    })
    .collect()
}
