//! What a report says of the configuration that a recording has kept.

use std::path::Path;

use culprit_config::Snapshot;
use culprit_model::Meta;

use super::config::{findings_of, sources};
use crate::output::{Output, clean, wrap};
use crate::running::{by_origin, kept_by, start_variables};

const INDENT: &str = "  ";

/// The section without its heading; none if the recording has kept nothing.
pub(super) fn configuration_text(meta: &Meta, path: &Path, output: &Output) -> Option<String> {
    Some(match kept_by(meta)? {
        Ok(snapshot) => snapshot_text(&snapshot, path, output),
        Err(why) => wrap(&clean(&format!("left out: {why}")), output.width(), INDENT),
    })
}

fn snapshot_text(snapshot: &Snapshot, path: &Path, output: &Output) -> String {
    let found = &snapshot.configurations;
    let keys: usize = found.iter().map(|one| one.effective.len()).sum();
    let subject = format!(
        "Of the {}. {keys} keys: `culprit config show --snapshot {}`.",
        snapshot.subject,
        path.display()
    );
    let mut text = wrap(&clean(&subject), output.width(), INDENT);
    for one in found {
        text.push_str(&format!("{INDENT}{} ({})\n", clean(&one.title), one.profile));
        text.extend(sources(one, output).lines().map(|line| format!("{INDENT}{line}\n")));
    }
    for (origin, names) in by_origin(&start_variables(snapshot)) {
        let line = format!("Variables, {origin}: {}.", names.join(", "));
        text.push_str(&wrap(&clean(&line), output.width(), INDENT));
    }
    for one in found.iter().filter(|one| !one.findings.is_empty()) {
        text.push_str(&findings_of(&one.findings, output));
    }
    text
}
