//! Documents that must stay true.

use crate::arrows::{crates, workspace};

fn read(path: &str) -> String {
    std::fs::read_to_string(workspace().join(path)).expect("a document of the workspace")
}

#[test]
fn the_architecture_page_names_every_crate_and_no_other() {
    let page = read("ARCHITECTURE.md");
    let mut named: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .map(str::to_owned)
        .collect();
    named.sort();
    assert_eq!(named, crates(), "the code map of ARCHITECTURE.md and crates/ differ");
}

#[test]
fn the_changelog_starts_with_an_unreleased_part() {
    let changelog = read("CHANGELOG.md");
    let first = changelog.lines().find(|line| line.starts_with("## "));
    assert_eq!(first, Some("## Unreleased"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        for target in read(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !target.contains("://") && !file.is_empty() && !workspace().join(file).exists() {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
