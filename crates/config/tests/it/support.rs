//! Projects in folders of a test's own.

use std::path::Path;

use culprit_config::{Configuration, Profile, Raw, Redactor, Request, inspect, stock_profiles};
use tempfile::TempDir;

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text.as_bytes());
    }
    folder
}

pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A profile of the program.
pub(crate) fn profile(name: &str) -> Profile {
    stock_profiles().unwrap().into_iter().find(|profile| profile.name == name).unwrap()
}

/// A request for a folder with this environment.
pub(crate) fn request(folder: &Path, environment: &[(&str, &str)]) -> Request {
    let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), Raw::new(*value));
    Request {
        root: folder.to_owned(),
        environment: Some(environment.iter().map(variable).collect()),
        ..Request::default()
    }
}

pub(crate) fn redactor() -> Redactor {
    Redactor::new([7; 32])
}

/// What a profile of the program says about these files and this environment.
pub(crate) fn inspected(
    name: &str,
    files: &[(&str, &str)],
    environment: &[(&str, &str)],
) -> Configuration {
    let folder = folder(files);
    inspect(&profile(name), &request(folder.path(), environment), redactor())
}

/// `KEY=VALUE < PLACE` of each key that has a value.
pub(crate) fn effective(configuration: &Configuration) -> Vec<String> {
    let winners = configuration.effective.iter().filter_map(|effective| {
        let winner = &configuration.assignments[effective.winner?];
        let text = winner.value.text.as_deref().unwrap_or("•••");
        Some(format!("{}={text} < {}", effective.key, configuration.place(winner)))
    });
    winners.collect()
}

/// `PLACE OUTCOME` of each assignment of a key, weakest first.
pub(crate) fn chain(configuration: &Configuration, key: &str) -> Vec<String> {
    let effective = configuration.effective.iter().find(|effective| effective.key == key);
    let effective = effective.unwrap_or_else(|| panic!("no key {key}: {configuration:#?}"));
    let row = |at: &usize| {
        let one = &configuration.assignments[*at];
        format!("{} {}", configuration.place(one), one.outcome)
    };
    effective.chain.iter().map(row).collect()
}

/// `ID KEY` of each finding.
pub(crate) fn findings(configuration: &Configuration) -> Vec<String> {
    configuration.findings.iter().map(|finding| format!("{} {}", finding.id, finding.key)).collect()
}
