//! What the README and the documents tell people to type works as it stands there.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Lab, all_rights, fixtures, program, skip, stderr, stdout};

/// A build of two things at a time, for the README's `make -j2`.
const MAKEFILE: &str = "all: one two\none:\n\tsleep 0.1; echo one > one\ntwo:\n\tsleep 0.1; echo two > two\n.PHONY: all one two\n";

fn document(path: &str) -> String {
    std::fs::read_to_string(fixtures().join("..").join(path)).unwrap()
}

/// The lines of a document's `sh` blocks, without comments.
fn shell_lines(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            lines.push(line.split(" #").next().unwrap_or_default().trim().to_owned());
        }
    }
    lines
}

/// Commands of this program in a document: whole lines of code, and code within text.
fn commands(text: &str) -> Vec<String> {
    let inline = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let all = shell_lines(text).into_iter().chain(inline.map(str::to_owned));
    all.filter(|line| line.starts_with("culprit ")).collect()
}

#[test]
fn the_readme_s_commands_run_in_their_order() {
    if !all_rights() {
        return skip("readme", "recording in a sandbox needs root here");
    }
    let lab = Lab::new();
    std::fs::write(lab.path("Makefile"), MAKEFILE).unwrap();
    std::fs::create_dir(lab.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_culprit"), lab.path("bin/culprit")).unwrap();
    let mut path = lab.path("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let lines = shell_lines(&document("README.md"));
    let own: Vec<_> = lines.iter().filter(|line| line.starts_with("culprit ")).collect();
    assert!(own.len() >= 4, "{lines:?}");
    for line in own {
        let output = program("sh")
            .args(["-c", line])
            .current_dir(lab.path("."))
            // One round shows that it works; five would show the same.
            .env("PATH", &path)
            .env("CULPRIT_RUNS", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}{}", stdout(&output), stderr(&output));
    }
    let makefile = document("Makefile");
    for target in lines.iter().filter_map(|line| line.strip_prefix("make ")) {
        assert!(makefile.contains(&format!("\n{target}:")), "make {target}");
    }
}

/// Every subcommand with its options; those of `bench` as `bench disk` and so on, too.
fn options(lab: &Lab) -> BTreeMap<String, BTreeSet<String>> {
    let mut known = BTreeMap::new();
    let mut open = vec![String::new()];
    while let Some(path) = open.pop() {
        let words = path.split_whitespace().chain(["--help"]);
        let help = stdout(&lab.culprit().args(words).output().unwrap());
        if let Some((_, list)) = help.split_once("Commands:\n") {
            let names = list.lines().take_while(|line| !line.is_empty());
            let names = names.filter_map(|line| line.split_whitespace().next());
            let names = names.filter(|name| *name != "help");
            open.extend(names.map(|name| format!("{path} {name}").trim().to_owned()));
        }
        let words = help.split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | '='));
        let options = words.filter(|word| word.starts_with('-')).map(str::to_owned).collect();
        known.insert(path, options);
    }
    known
}

/// The words of a command that are not in quotes, where other programs' options stand.
fn unquoted(command: &str) -> Vec<&str> {
    let outside = command.split('\'').step_by(2);
    outside.flat_map(str::split_whitespace).collect()
}

#[test]
fn every_subcommand_and_option_that_documents_name_exists() {
    let lab = Lab::new();
    let known = options(&lab);
    assert!(known.contains_key("butterfly"), "{known:?}");
    let folder = fixtures().join("../docs");
    let mut paths = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for sub in ["", "casebook/"] {
        for entry in std::fs::read_dir(folder.join(sub)).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                paths.push(format!("docs/{sub}{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    for path in paths {
        for command in commands(&document(&path)) {
            let words = unquoted(&command);
            let words = words.into_iter().skip(1).take_while(|word| *word != "--");
            let words: Vec<&str> = words.collect();
            let Some(name) = words.first().filter(|word| !word.starts_with('-')) else { continue };
            // Subcommands have subcommands: the longest name that is one.
            let names = (1..=words.len().min(3)).rev().map(|count| words[..count].join(" "));
            let Some(options) = names.into_iter().find_map(|name| known.get(&name)) else {
                assert_eq!(*name, name.to_uppercase(), "{path}: `{command}`");
                continue;
            };
            for option in words.iter().filter(|word| word.starts_with('-') && word.len() > 1) {
                let option = option.split('=').next().unwrap_or_default();
                let option = option.trim_end_matches([';', ',']);
                assert!(options.contains(option), "{path}: `{command}`: no {option}");
            }
        }
    }
}

#[test]
fn every_option_that_the_readme_names_exists() {
    let lab = Lab::new();
    let known: BTreeSet<String> = options(&lab).into_values().flatten().collect();
    let text = document("README.md");
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let named = words.filter(|word| word.starts_with("--") && word.len() > 3);
    let unknown: Vec<_> = named.filter(|word| !known.contains(*word)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
