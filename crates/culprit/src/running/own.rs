//! Culprit's own settings as a configuration: which file or variable sets each option.

use std::collections::BTreeMap;
use std::path::Path;

use culprit_config::{
    Configuration, Format, OptionSource, Position, Raw, Redactor, Segment, Source, SourceKind,
    SourceState, option_configuration, read,
};

use crate::args;
use crate::failure::Failure;
use crate::settings::{self, Settings};

/// Every option that a variable or a settings file sets, with what sets it. The command line beats them
/// all.
///
/// # Errors
/// When a settings file names an option that does not exist.
pub(crate) fn own_settings(redactor: &Redactor) -> Result<Configuration, Failure> {
    let command = args::command(&Settings::read()?)?;
    let options = options(&command);
    let mut layers: Vec<OptionSource> =
        settings::own_files().iter().map(|path| of_file(path)).collect();
    layers.push(of_variables(&options));
    let title = "Culprit's own settings; the command line is stronger than all of them";
    let mut found = option_configuration(("self", title), layers, redactor);
    found.leaves_out = unknown_variables(&options);
    Ok(found)
}

/// The variable of each option: to the keys that it sets, `record.frequency`.
fn options(command: &clap::Command) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open = vec![(String::new(), command)];
    while let Some((path, command)) = open.pop() {
        for option in command.get_arguments() {
            let (Some(long), Some(variable)) = (option.get_long(), option.get_env()) else {
                continue;
            };
            let key = format!("{path}{long}");
            found.entry(variable.to_string_lossy().into_owned()).or_default().push(key);
        }
        let below = command.get_subcommands();
        open.extend(below.map(|sub| (format!("{path}{}.", sub.get_name()), sub)));
    }
    found
}

fn source(kind: SourceKind, name: String, layer: &str) -> Source {
    Source {
        kind,
        name,
        layer: layer.to_owned(),
        state: SourceState::Read,
        why: String::new(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

/// The options of a settings file. It has been read once already, so what fails now is a gap.
fn of_file(path: &Path) -> OptionSource {
    let name = path.display().to_string();
    let mut source = source(SourceKind::File, name, "settings file");
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            source.state = if missing { SourceState::Missing } else { SourceState::Denied };
            source.why = error.to_string();
            return OptionSource { source, options: Vec::new() };
        }
    };
    source.bytes = bytes.len() as u64;
    let contents = match read(Format::Toml, &bytes) {
        Ok(contents) => contents,
        Err(error) => {
            (source.state, source.why) = (SourceState::Unparsable, error.to_string());
            return OptionSource { source, options: Vec::new() };
        }
    };
    let option = |entry: &culprit_config::Entry| {
        // The elements of a list are one option.
        let names = entry.path.iter().filter_map(|segment| match segment {
            Segment::Name(name) => Some(name.as_str()),
            Segment::Index(_) => None,
        });
        let key = names.collect::<Vec<_>>().join(".");
        (key.clone(), key, entry.value.clone(), Some(entry.at))
    };
    let all = contents.entries.iter().map(option);
    let options = all.filter(|(key, ..)| !key.starts_with("presets.")).collect();
    OptionSource { source, options }
}

fn of_variables(options: &BTreeMap<String, Vec<String>>) -> OptionSource {
    let set = settings::own_variables();
    let rows = set.into_iter().flat_map(|(name, value)| {
        let keys = options.get(&name).cloned().unwrap_or_default();
        let row = move |key| (name.clone(), key, Raw::new(value.clone()), None::<Position>);
        keys.into_iter().map(row)
    });
    OptionSource {
        source: source(SourceKind::ProcessEnvironment, "environment".to_owned(), "environment"),
        options: rows.collect(),
    }
}

/// Variables with our prefix that no option has.
fn unknown_variables(options: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let set = settings::own_variables().into_iter().map(|(name, _)| name);
    set.filter(|name| !options.contains_key(name))
        .map(|name| {
            format!("The variable {name}: no option has it. `--help` names those that exist.")
        })
        .collect()
}
