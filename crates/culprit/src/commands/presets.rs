//! `culprit presets [list|save|delete]`: named groups and folds.

use culprit_engine::calls::{Preset, Query};
use culprit_model::Filter;
use culprit_report::json::SCHEMA;
use serde::Serialize;

use crate::args::{PresetsAction, PresetsArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::{Align, Output, Table, clean};
use crate::presets::{self, Known};

/// Runs it.
///
/// # Errors
/// When a preset is none, or its file cannot be read or written.
pub(crate) fn run(args: &PresetsArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let name = || {
        args.name.clone().ok_or_else(|| {
            Failure::bad_input("the preset's name is missing")
                .hint("`culprit presets save NAME --group PATS`, `culprit presets delete NAME`")
        })
    };
    match args.action {
        PresetsAction::List => list(output)?,
        PresetsAction::Save => {
            let preset = Preset {
                name: name()?,
                meaning: args.meaning.clone(),
                group: args.group.clone(),
                fold: args.fold.clone(),
                fold_pct: args.fold_pct,
            };
            check(&preset)?;
            let path = presets::save(&preset)?;
            output.say(&format!("saved `{}` in {}", preset.name, path.display()));
        }
        PresetsAction::Delete => {
            let name = name()?;
            let path = presets::delete(&name)?;
            output.say(&format!("deleted `{name}` from {}", path.display()));
        }
    }
    Ok(Outcome::Done)
}

/// What cannot be compiled is not saved, nor what does nothing.
fn check(preset: &Preset) -> Result<(), Failure> {
    let name = &preset.name;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(Failure::bad_input(format!(
            "cannot save the preset `{name}`: a name has only letters, digits, `-`, `_` and `.`"
        )));
    }
    if preset.group.is_empty() && preset.fold.is_empty() && preset.fold_pct.is_none() {
        return Err(Failure::bad_input(format!(
            "cannot save the preset `{name}`: it has no patterns"
        ))
        .hint("give it `--group`, `--fold` or `--fold-pct`"));
    }
    let filter = Filter {
        group: preset.group.clone(),
        fold: preset.fold.clone(),
        fold_pct: preset.fold_pct,
        ..Filter::default()
    };
    Query::compile(&filter).or_bad_input(|| format!("cannot save the preset `{name}`"))?;
    Ok(())
}

fn list(output: &mut Output) -> Result<(), Failure> {
    let known = presets::all()?;
    if output.wants_json() {
        let presets = known.iter().map(Entry::from).collect();
        return output.document(&List { schema: SCHEMA, presets });
    }
    let mut table =
        Table::new(&[("preset", Align::Left), ("shows", Align::Left), ("patterns", Align::Left)]);
    for Known { preset, file } in &known {
        let meaning = match (preset.meaning.is_empty(), file) {
            (true, Some(file)) => format!("yours, in {}", file.display()),
            _ => preset.meaning.clone(),
        };
        let cells = [preset.name.clone(), meaning, patterns(preset)];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    let text = table.render(output.width());
    output.print(&text)
}

fn patterns(preset: &Preset) -> String {
    let mut parts = Vec::new();
    if !preset.group.is_empty() {
        parts.push(preset.group.clone());
    }
    if !preset.fold.is_empty() {
        parts.push(format!("fold {}", preset.fold));
    }
    if let Some(pct) = preset.fold_pct {
        parts.push(format!("fold below {pct} %"));
    }
    if parts.is_empty() { "computed for each recording".to_owned() } else { parts.join(", ") }
}

#[derive(Serialize)]
struct List<'a> {
    schema: u32,
    presets: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    meaning: &'a str,
    group: &'a str,
    fold: &'a str,
    fold_pct: Option<f64>,
    file: Option<String>,
}

impl<'a> From<&'a Known> for Entry<'a> {
    fn from(known: &'a Known) -> Self {
        let Known { preset, file } = known;
        Self {
            name: &preset.name,
            meaning: &preset.meaning,
            group: &preset.group,
            fold: &preset.fold,
            fold_pct: preset.fold_pct,
            file: file.as_ref().map(|file| file.display().to_string()),
        }
    }
}
