//! Presets: named groups and folds, those that everybody has and those that the user saved.
//!
//! Saved ones are tables of `presets.toml` beside the user's settings; ones written by hand are
//! tables under `[presets]` of any settings file. A later file wins, as settings do, and a user's
//! preset wins over one of the same name that everybody has.
//!
//! ```toml
//! [mine]
//! group = "{%}!=>module $1"
//! fold = "^[kernel]!"
//! fold-pct = 1
//! ```

use std::path::PathBuf;

use culprit_engine::calls::{MY_APP, Preset, my_app, stock_presets};
use culprit_engine::own::OwnCode;
use culprit_model::{Filter, Recording};
use culprit_report::filters;

use crate::failure::{Context as _, Failure};
use crate::files;
use crate::settings::{self, Settings};

/// A preset and where it is from.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub preset: Preset,
    /// The file that holds it; none for those that everybody has.
    pub file: Option<PathBuf>,
}

/// Every preset, those that everybody has first.
///
/// # Errors
/// When a settings file cannot be read, or a preset in it is none.
pub(crate) fn all() -> Result<Vec<Known>, Failure> {
    let stock = stock_presets().into_iter();
    let mut known: Vec<Known> = stock.map(|preset| Known { preset, file: None }).collect();
    for (file, name, value) in Settings::read()?.presets()? {
        let preset = read(&name, &value).map_err(|why| {
            Failure::bad_input(format!("cannot read `{}`: {why}", file.display()))
        })?;
        let own = Known { preset, file: Some(file) };
        match known.iter_mut().find(|known| known.preset.name == name) {
            Some(place) => *place = own,
            None => known.push(own),
        }
    }
    Ok(known)
}

fn read(name: &str, value: &toml::Value) -> Result<Preset, String> {
    let table = value.as_table().ok_or(format!("the preset `{name}` must be a table"))?;
    let mut preset = Preset { name: name.to_owned(), ..Preset::default() };
    for (key, value) in table {
        let wrong = || format!("the value of `{key}` in the preset `{name}` has the wrong type");
        let text = || value.as_str().map(str::to_owned).ok_or_else(wrong);
        match key.as_str() {
            "group" => preset.group = text()?,
            "fold" => preset.fold = text()?,
            "meaning" => preset.meaning = text()?,
            "fold-pct" => {
                #[expect(clippy::cast_precision_loss, reason = "a percentage")]
                let whole = value.as_integer().map(|whole| whole as f64);
                preset.fold_pct = Some(value.as_float().or(whole).ok_or_else(wrong)?);
            }
            _ => {
                return Err(format!(
                    "the preset `{name}` has the unknown key `{key}`; known keys are group, fold, \
                     fold-pct and meaning"
                ));
            }
        }
    }
    Ok(preset)
}

/// The filter with its presets written out: their groups and folds come before its own, its own
/// percentage wins.
///
/// # Errors
/// When a preset is unknown, or cannot be made for this recording.
pub(crate) fn applied(recording: &Recording, filter: &Filter) -> Result<Filter, Failure> {
    if filter.presets.is_empty() {
        return Ok(filter.clone());
    }
    let known = all()?;
    let mut groups = Vec::new();
    let mut folds = Vec::new();
    let mut fold_pct = None;
    for name in &filter.presets {
        let preset = find(&known, name)?;
        let stock_app = preset.file.is_none() && name == MY_APP;
        groups.push(if stock_app {
            app(recording, &filter.own)?
        } else {
            preset.preset.group.clone()
        });
        folds.push(preset.preset.fold.clone());
        fold_pct = preset.preset.fold_pct.or(fold_pct);
    }
    groups.push(filter.group.clone());
    folds.push(filter.fold.clone());
    let joined = |mut parts: Vec<String>| {
        parts.retain(|part| !part.is_empty());
        parts.join(";")
    };
    Ok(Filter {
        group: joined(groups),
        fold: joined(folds),
        fold_pct: filter.fold_pct.or(fold_pct),
        presets: Vec::new(),
        ..filter.clone()
    })
}

fn find<'a>(known: &'a [Known], name: &str) -> Result<&'a Known, Failure> {
    known.iter().find(|known| known.preset.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|known| known.preset.name.as_str()).collect();
        Failure::bad_input(format!("cannot use the preset `{name}`: no preset has this name"))
            .hint(format!("presets are {}; `culprit presets` shows them", names.join(", ")))
    })
}

fn app(recording: &Recording, own: &str) -> Result<String, Failure> {
    let own = OwnCode::new(recording, &filters::patterns(own)?);
    my_app(recording, &own).ok_or_else(|| {
        Failure::bad_input(format!(
            "cannot use the preset `{MY_APP}`: no recorded function is the program's own code"
        ))
        .hint("name the program's code with `--own`, as in `--own '^/the/folder/'`")
    })
}

/// Saves a preset in the user's file; one of the same name is replaced.
///
/// # Errors
/// When the file cannot be read or written.
pub(crate) fn save(preset: &Preset) -> Result<PathBuf, Failure> {
    let mut entry = toml::Table::new();
    for (key, value) in
        [("group", &preset.group), ("fold", &preset.fold), ("meaning", &preset.meaning)]
    {
        if !value.is_empty() {
            entry.insert(key.to_owned(), toml::Value::String(value.clone()));
        }
    }
    if let Some(pct) = preset.fold_pct {
        entry.insert("fold-pct".to_owned(), toml::Value::Float(pct));
    }
    let (path, mut table) = own_file()?;
    table.insert(preset.name.clone(), toml::Value::Table(entry));
    write(&path, &table)?;
    Ok(path)
}

/// Deletes a saved preset.
///
/// # Errors
/// When there is none of that name in the user's file, or that cannot be written.
pub(crate) fn delete(name: &str) -> Result<PathBuf, Failure> {
    let (path, mut table) = own_file()?;
    if table.remove(name).is_none() {
        let failure = Failure::bad_input(format!(
            "cannot delete the preset `{name}`: `{}` contains no preset of this name",
            path.display()
        ));
        let elsewhere = all()?.into_iter().find(|known| known.preset.name == name);
        return Err(match elsewhere.map(|known| known.file) {
            Some(Some(file)) => {
                failure.hint(format!("the preset is in `{}`; delete it there", file.display()))
            }
            Some(None) => {
                failure.hint("the preset is built in; a saved preset of the same name replaces it")
            }
            None => failure.hint("`culprit presets` lists all presets"),
        });
    }
    write(&path, &table)?;
    Ok(path)
}

fn own_file() -> Result<(PathBuf, toml::Table), Failure> {
    let path = settings::presets_file().ok_or_else(|| {
        Failure::refused("cannot find the file of presets: XDG_CONFIG_HOME and HOME are not set")
            .hint("set HOME to your home folder")
    })?;
    let table = settings::read_table(&path)?.unwrap_or_default();
    Ok((path, table))
}

fn write(path: &std::path::Path, table: &toml::Table) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .or_refused(|| format!("cannot create the folder `{}`", folder.display()))?;
    }
    let text =
        toml::to_string(table).or_refused(|| format!("cannot write `{}`", path.display()))?;
    files::write_whole(path, text.as_bytes())
}
