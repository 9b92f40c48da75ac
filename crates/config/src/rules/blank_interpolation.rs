//! A `${...}` stands for a variable that is not set.

use culprit_model::Severity;

use crate::compose::{BLANK, REFUSED};
use crate::configuration::{ConfigFinding, Configuration};
use crate::kubernetes::{NO_REFERENCE, NOT_BEFORE};
use crate::readers::{KEPT, Oddity};
use crate::spring::NO_VALUE;

pub(super) const ID: &str = "config-blank-interpolation";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let odd: Vec<&(usize, Oddity)> =
        configuration.oddities.iter().filter(|(_, oddity)| is_reference(oddity)).collect();
    if odd.is_empty() {
        return Vec::new();
    }
    let keys = configuration.keys_by_place();
    let of = |(source, oddity): &(usize, Oddity)| {
        let (severity, why, fix) = said(oddity)?;
        let file = &configuration.sources[*source].name;
        Some(ConfigFinding {
            id: ID,
            severity,
            key: oddity.name.clone(),
            concerns: keys.get(&(*source, oddity.at)).cloned().unwrap_or_default(),
            title: format!("`{}` {}.", oddity.name, oddity.what),
            evidence: vec![format!("{file}:{}", oddity.at.line)],
            why: why.to_owned(),
            fix,
        })
    };
    odd.into_iter().filter_map(of).collect()
}

/// Whether an oddity is about a reference to nothing.
pub(super) fn is_reference(oddity: &Oddity) -> bool {
    said(oddity).is_some()
}

/// What follows from a reference to nothing, and what to do; none of another oddity.
fn said(oddity: &Oddity) -> Option<(Severity, &'static str, Vec<String>)> {
    let name = &oddity.name;
    let of_compose = || {
        vec![
            format!("Set `{name}` in `.env`, or in the shell that starts Compose."),
            format!("Or give it a default: `${{{name}:-...}}`."),
        ]
    };
    match oddity.what {
        REFUSED => Some((Severity::High, "Compose refuses to start then.", of_compose())),
        BLANK => Some((
            Severity::Medium,
            "Compose puts an empty text in its place and warns.",
            of_compose()
                .into_iter()
                .chain(["If the `$` is meant as a character: `$$`.".to_owned()])
                .collect(),
        )),
        NO_REFERENCE => Some((
            Severity::Medium,
            "Kubernetes leaves the text as it is. A shell or a framework in the container may \
             replace it.",
            vec![format!("Write `$({name})`, and set `{name}` above the line.")],
        )),
        KEPT => Some((
            Severity::Medium,
            "The program meets the text of the reference.",
            vec![
                "Write the whole value.".to_owned(),
                "Or replace references by the package dotenv-expand.".to_owned(),
            ],
        )),
        NOT_BEFORE => Some((
            Severity::Medium,
            "Kubernetes leaves the text of the reference as it is, and does not warn.",
            vec![
                format!("Move `{name}` above the line, or correct the name."),
                format!("If the text is meant: `$$({name})`."),
            ],
        )),
        NO_VALUE => Some((
            Severity::Medium,
            "Spring does not start if a component uses the value.",
            vec![
                format!("Set `{name}`, or correct the name."),
                format!("Or give it a default: `${{{name}:...}}`."),
            ],
        )),
        _ => None,
    }
}
