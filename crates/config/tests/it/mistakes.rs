//! The planted mistakes of `docs/casebook/config-mistakes.md`: each is explained without an option, in
//! the words of the page.

use std::path::Path;

use culprit_config::{Configuration, Raw, Request, detects, inspect, stock_profiles};

use crate::support::{folder, redactor};

/// A mistake of the page.
struct Mistake {
    title: String,
    files: Vec<(String, String)>,
    /// `NAME=value ... culprit config explain KEY`.
    command: String,
    /// The lines of the answer.
    answer: Vec<String>,
}

fn mistakes(page: &str) -> Vec<Mistake> {
    let sections = page.split("\n## ").skip(1);
    sections.map(mistake).collect()
}

fn mistake(section: &str) -> Mistake {
    let (title, rest) = section.split_once('\n').unwrap();
    let mut found = Mistake {
        title: title.to_owned(),
        files: Vec::new(),
        command: String::new(),
        answer: Vec::new(),
    };
    for (at, block) in rest.split("```").enumerate() {
        let Some((info, text)) = block.split_once('\n').filter(|_| at % 2 == 1) else {
            let answer = block.lines().filter(|line| line.starts_with("- "));
            found.answer.extend(answer.map(str::to_owned));
            continue;
        };
        match info.split_once(' ') {
            Some((_, file)) => found.files.push((file.to_owned(), text.to_owned())),
            None => text.trim().clone_into(&mut found.command),
        }
    }
    found
}

/// The answer: what became of each value, the strongest first, and the findings.
fn answer(of: &Configuration, key: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for effective in of.find(key) {
        let others = effective.chain.iter().rev().filter(|at| Some(**at) != effective.winner);
        for at in effective.winner.iter().chain(others) {
            let one = &of.assignments[*at];
            let why =
                if one.reason.is_empty() { String::new() } else { format!(": {}", one.reason) };
            lines.push(format!("- `{}` {}{why}", one.outcome, of.place(one)));
        }
    }
    lines.extend(
        of.findings.iter().map(|finding| format!("- finding `{}`: {}", finding.id, finding.title)),
    );
    lines
}

#[test]
fn every_planted_mistake_is_explained_without_an_option() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/casebook/config-mistakes.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mistakes = mistakes(&page);
    assert_eq!(mistakes.len(), 10);
    let mut different = String::new();
    for mistake in &mistakes {
        let files: Vec<(&str, &str)> =
            mistake.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let folder = folder(&files);
        let words: Vec<&str> = mistake.command.split_whitespace().collect();
        let variables = words.iter().filter_map(|word| word.split_once('='));
        let request = Request {
            root: folder.path().to_owned(),
            environment: Some(
                variables.map(|(name, value)| (name.to_owned(), Raw::new(value))).collect(),
            ),
            ..Request::default()
        };
        let key = words.last().unwrap();
        let profiles = stock_profiles().unwrap();
        let fitting = profiles.iter().filter(|profile| detects(profile, folder.path()));
        let answers =
            fitting.flat_map(|profile| answer(&inspect(profile, &request, redactor()), key));
        let answers: Vec<String> = answers.collect();
        if answers != mistake.answer {
            different.push_str(&format!("{}\n{}\n\n", mistake.title, answers.join("\n")));
        }
    }
    assert!(different.is_empty(), "the answers are:\n{different}");
}
