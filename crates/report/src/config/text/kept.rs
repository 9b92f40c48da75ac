//! What a report says of the configuration that a recording has kept.

use std::path::Path;

use culprit_config::Snapshot;
use culprit_model::{Meta, clean};

use super::show::{findings_of, sources};
use crate::config::{by_origin, kept_by, start_variables};
use crate::layout::{Layout, wrap};

const INDENT: &str = "  ";

/// Names of variables that a report lists of one origin: a shell's environment has dozens that say nothing of
/// the program.
const MOST_NAMES: usize = 6;

/// The first names, and how many others there are. `config show` and JSON have all.
fn first_names(names: &[&str]) -> String {
    // To count one would take the room of its name.
    let most = if names.len() == MOST_NAMES + 1 { names.len() } else { MOST_NAMES };
    let listed = names.iter().take(most).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => listed,
        more => format!("{} in all, as {listed} and {more} more", names.len()),
    }
}

/// The section without its heading; none if the recording has kept nothing.
pub fn kept(meta: &Meta, path: &Path, layout: &Layout) -> Option<String> {
    Some(match kept_by(meta)? {
        Ok(snapshot) => snapshot_text(&snapshot, path, layout),
        Err(why) => wrap(&clean(&format!("left out: {why}")), layout.width(), INDENT),
    })
}

fn snapshot_text(snapshot: &Snapshot, path: &Path, layout: &Layout) -> String {
    let found = &snapshot.configurations;
    let keys: usize = found.iter().map(|one| one.effective.len()).sum();
    let subject = format!(
        "Of the {}. {keys} keys: `culprit config show --snapshot {}`.",
        snapshot.subject,
        path.display()
    );
    let mut text = wrap(&clean(&subject), layout.width(), INDENT);
    for one in found {
        text.push_str(&format!("{INDENT}{} ({})\n", clean(&one.title), one.profile));
        text.extend(sources(one, layout).lines().map(|line| format!("{INDENT}{line}\n")));
    }
    for (origin, names) in by_origin(&start_variables(snapshot)) {
        let line = format!("Variables, {origin}: {}.", first_names(&names));
        text.push_str(&wrap(&clean(&line), layout.width(), INDENT));
    }
    for one in found.iter().filter(|one| !one.findings.is_empty()) {
        text.push_str(&findings_of(&one.findings, layout));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted_after_the_first_ones() {
        let names: Vec<String> = (0..30).map(|nth| format!("NAME_{nth}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(first_names(&names[..2]), "NAME_0, NAME_1");
        assert_eq!(first_names(&names[..7]).matches(", ").count(), 6);
        let many = first_names(&names);
        assert!(
            many.starts_with("30 in all, as NAME_0, ") && many.ends_with("NAME_5 and 24 more"),
            "{many}"
        );
    }
}
