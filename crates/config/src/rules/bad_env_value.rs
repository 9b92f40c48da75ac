//! A file of variables has a line that its reader takes in another way than it looks.

use culprit_model::Severity;

use super::blank_interpolation;
use crate::configuration::{ConfigFinding, Configuration};

pub(super) const ID: &str = "config-bad-env-file-value";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let odd = configuration.oddities.iter();
    let odd = odd.filter(|(_, oddity)| !blank_interpolation::is_reference(oddity));
    odd.map(|(source, oddity)| {
        let file = &configuration.sources[*source].name;
        let subject = match oddity.name.as_str() {
            "" => format!("`{file}`"),
            name => format!("`{name}` in `{file}`"),
        };
        ConfigFinding {
            id: ID,
            severity: Severity::Medium,
            key: oddity.name.clone(),
            title: format!("{subject} {}.", oddity.what),
            evidence: vec![format!("{file}:{}", oddity.at.line)],
            why: "Other readers of such files take the line in another way.".to_owned(),
            fix: vec![
                "Write the line as plain `NAME=value`, in UTF-8 without a byte order mark."
                    .to_owned(),
            ],
        }
    })
    .collect()
}
