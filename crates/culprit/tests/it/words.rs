//! Pages and help in words that are understood at the first reading.

use std::path::{Path, PathBuf};

use culprit_testkit::words::faults_of_page;

use crate::help::{SUBCOMMANDS, help};
use crate::support::{Lab, stdout};

/// Pages that people read.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let mut pages: Vec<PathBuf> = named.iter().map(|name| root.join(name)).collect();
    pages.extend(["casebook/README.md", "corpus/README.md"].map(|name| root.join(name)));
    let docs = std::fs::read_dir(root.join("docs")).expect("docs/");
    let docs = docs.map(|entry| entry.expect("an entry").path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    pages
}

#[test]
fn pages_have_no_riddles_and_no_long_sentences() {
    let faults: Vec<String> = pages()
        .iter()
        .flat_map(|path| {
            let page = std::fs::read_to_string(path).expect("a page");
            let faults = faults_of_page(&page).into_iter();
            faults.map(|fault| format!("{}: {fault}", path.display())).collect::<Vec<_>>()
        })
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn help_has_no_riddles_and_no_long_sentences() {
    let lab = Lab::new();
    let of_command = |subcommand: &&str| {
        // Each subcommand and example of a list is an item.
        let help = stdout(&help(&lab, subcommand));
        let is_item = |line: &str| line.starts_with("  ") && !line.starts_with("   ");
        let line = |line: &str| format!("{}{line}\n", if is_item(line) { "\n" } else { "" });
        // What an option takes, its default and its variable stand in lines of their own.
        let prose = help.lines().filter(|line| !line.trim_start().starts_with('['));
        let text: String = prose.map(line).collect();
        let faults = faults_of_page(&text).into_iter();
        faults.map(|fault| format!("{subcommand}: {fault}")).collect::<Vec<_>>()
    };
    let faults: Vec<String> = SUBCOMMANDS.iter().flat_map(of_command).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
