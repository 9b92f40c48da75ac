//! Scripts of the package file that start the program with a file of variables: `node --env-file=.env.local x.js`.
//!
//! The script that is named by `--define` counts, else the one that is for starting. What another script reads is
//! then a doubt.

use super::FileUse;
use crate::profile::Needs;
use crate::readers::{Entry, Segment};
use crate::sources::Request;

/// What scripts read.
pub(super) struct Scripts {
    /// The files of the script that counts, the weakest first.
    pub(super) files: Vec<FileUse>,
}

/// A script with the files that it names.
struct Script {
    name: String,
    files: Vec<FileUse>,
}

impl Scripts {
    pub(super) fn new(needs: &Needs, default: &str, package: &[Entry], request: &Request) -> Self {
        let scripts: Vec<Script> = package
            .iter()
            .filter_map(|entry| match entry.path.as_slice() {
                [Segment::Name(group), Segment::Name(name)] if *group == needs.commands => {
                    let files = files_of(needs, default, name, entry.value.expose());
                    Some(Script { name: name.clone(), files })
                }
                _ => None,
            })
            .collect();
        let chosen = request.defines.iter().find(|(name, _)| name == "script");
        if let Some(name) = chosen.and_then(|(_, values)| values.first()) {
            let script = scripts.into_iter().find(|script| script.name == *name);
            return Self { files: script.map(|script| script.files).unwrap_or_default() };
        }
        let named = |files: &[FileUse]| -> Vec<String> {
            files.iter().map(|file| file.file.clone()).collect()
        };
        let start = scripts.iter().find(|script| script.name == needs.start);
        let with: Vec<&Script> = scripts.iter().filter(|script| !script.files.is_empty()).collect();
        let own = start.filter(|start| !start.files.is_empty()).or_else(|| with.first().copied());
        let Some(own) = own else { return Self { files: Vec::new() } };
        let mut files = own.files.clone();
        let other = with.iter().find(|other| named(&other.files) != named(&files));
        let doubt = match other {
            Some(other) => {
                let others = named(&other.files).join("`, `");
                format!(
                    "script `{}` reads `{others}`: `--define script={}`",
                    other.name, other.name
                )
            }
            None if start.is_some_and(|start| start.files.is_empty()) => {
                format!("only the script `{}` reads it, and `{}` does not", own.name, needs.start)
            }
            None => String::new(),
        };
        files.iter_mut().for_each(|file| file.doubt.clone_from(&doubt));
        Self { files }
    }
}

/// The files that the command of a script names, in its order.
fn files_of(needs: &Needs, default: &str, name: &str, command: &str) -> Vec<FileUse> {
    let by = format!("script `{name}`");
    let mut found: Vec<(usize, FileUse)> = Vec::new();
    for option in &needs.file_options {
        for (at, _) in command.match_indices(option.as_str()) {
            let file = command[at + option.len()..].split_whitespace().next().unwrap_or_default();
            let file = file.trim_matches(['"', '\'']).trim_start_matches("./");
            if !file.is_empty() && !file.starts_with('-') {
                let is_required = option.trim_end_matches([' ', '=']) == "--env-file";
                found.push((at, FileUse { by: by.clone(), is_required, ..FileUse::new(file) }));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    if found.is_empty() && needs.command_words.iter().any(|word| command.contains(word.as_str())) {
        found.push((0, FileUse { by, ..FileUse::new(default) }));
    }
    found.into_iter().map(|(_, file)| file).collect()
}
