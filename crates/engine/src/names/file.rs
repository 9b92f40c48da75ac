//! Reads the files of names.

use std::borrow::Cow;

use culprit_model::{Cause, Label};
use toml::de::{DeTable, DeValue};

use super::families::{Families, Family};
use crate::causes::{Context, Rule, Strength};

/// One entry of a file: names that mean the same.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) names: Vec<&'static str>,
    /// Families of modules of which one must hold the function or thread; empty for any module.
    pub(super) within: Families,
    pub(super) families: Families,
    /// What the function says about a wait, those that need a context first.
    pub(super) rules: Vec<Rule>,
}

/// One file.
#[derive(Debug, Default)]
pub(super) struct File {
    /// What the names of a language's own packages, and of others' packages, begin with.
    pub(super) packages: Vec<&'static str>,
    pub(super) modules: Vec<Entry>,
    pub(super) threads: Vec<Entry>,
    pub(super) functions: Vec<Entry>,
}

type Value = DeValue<'static>;

impl File {
    /// Reads a file; says what is wrong where it cannot.
    pub(super) fn parse(text: &'static str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?.into_inner();
        let table = DeValue::Table(table);
        known_keys(&table, &["source", "packages", "modules", "threads", "functions"])?;
        let source = word(&table, "source")?.ok_or("a file without `source`")?;
        Ok(Self {
            packages: words(&table, "packages")?,
            modules: entries(&table, "modules", source)?,
            threads: entries(&table, "threads", source)?,
            functions: entries(&table, "functions", source)?,
        })
    }
}

fn entries(table: &Value, key: &str, source: &'static str) -> Result<Vec<Entry>, String> {
    let rows = table.get(key).and_then(|rows| rows.get_ref().as_array());
    let rows = rows.into_iter().flat_map(|rows| rows.iter());
    rows.map(|row| entry(row.get_ref(), source)).collect()
}

fn entry(row: &Value, source: &'static str) -> Result<Entry, String> {
    let keys = ["names", "in", "families", "source", "cause", "awaits", "strength", "under"];
    known_keys(row, &keys)?;
    let names = words(row, "names")?;
    let first = *names.first().ok_or("an entry without `names`")?;
    let within = word(row, "in")?.map(family).transpose()?.into_iter().collect();
    let families: Families =
        words(row, "families")?.into_iter().map(family).collect::<Result<_, _>>()?;
    let source = word(row, "source")?.unwrap_or(source);
    let mut rules = Vec::new();
    for (word, under) in [
        ("memory-map", Context::MemoryMap),
        ("exit", Context::Exit),
        ("page-fault", Context::PageFault),
    ] {
        if let Some(inner) = row.get("under").and_then(|all| all.get_ref().get(word)) {
            rules.extend(rule(inner.get_ref(), under, source, &names)?);
        }
    }
    rules.extend(rule(row, Context::Any, source, &names)?);
    if families.is_empty() && rules.is_empty() {
        return Err(format!("`{first}` has neither `families` nor a `cause`"));
    }
    Ok(Entry { names, within, families, rules })
}

fn rule(
    row: &Value,
    under: Context,
    source: &'static str,
    names: &[&'static str],
) -> Result<Option<Rule>, String> {
    let Some(cause) = word(row, "cause")? else { return Ok(None) };
    let strength = match word(row, "strength")? {
        None | Some("names") => Strength::Names,
        Some("hints") => Strength::Hints,
        Some("leaves") => Strength::Leaves,
        Some(other) => return Err(format!("no strength: `{other}`")),
    };
    Ok(Some(Rule {
        functions: names.to_vec(),
        strength,
        under,
        cause: Cause::from_word(cause).ok_or_else(|| format!("no cause: `{cause}`"))?,
        awaits: word(row, "awaits")?.ok_or_else(|| format!("no `awaits`: {names:?}"))?,
        source: word(row, "source")?.unwrap_or(source),
    }))
}

fn family(word: &'static str) -> Result<Family, String> {
    Family::from_word(word).ok_or_else(|| format!("no family: `{word}`"))
}

fn word(row: &Value, key: &str) -> Result<Option<&'static str>, String> {
    row.get(key).map(|value| text(value.get_ref(), key)).transpose()
}

fn words(row: &Value, key: &str) -> Result<Vec<&'static str>, String> {
    let Some(value) = row.get(key) else { return Ok(Vec::new()) };
    let all = value.get_ref().as_array().ok_or_else(|| format!("`{key}` is no list"))?;
    all.iter().map(|value| text(value.get_ref(), key)).collect()
}

/// A text as it stands in the file: escapes would make another one of it.
fn text(value: &Value, key: &str) -> Result<&'static str, String> {
    match value {
        DeValue::String(Cow::Borrowed(text)) => Ok(*text),
        _ => Err(format!("`{key}` is no text, or has an escape")),
    }
}

fn known_keys(row: &Value, known: &[&str]) -> Result<(), String> {
    let keys = row.as_table().ok_or("an entry that is no table")?.keys();
    let mut unknown = keys.map(|key| &**key.get_ref()).filter(|key| !known.contains(key));
    unknown.next().map_or(Ok(()), |key| Err(format!("unknown key: `{key}`")))
}
