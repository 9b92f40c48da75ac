//! Layers that are turned off by a variable, or count only if a weaker source sets a key.

use std::collections::BTreeMap;

use crate::profile::{OnlyFor, OnlyIf, Profile};
use crate::provenance::{Outcome, SourceState};
use crate::readers::{Entry, Format, Segment, read};
use crate::resolve::{identity, key_of};
use crate::sources::{Defined, Loaded, Request};
use crate::value::Raw;

/// Values that say no, as git has them.
const NO: [&str; 5] = ["", "0", "false", "no", "off"];

/// How a reason starts that is about the value of a variable; its name follows.
pub(crate) const OF_VARIABLE: &str = "the value of the variable `";

/// Marks what does not count, and replaces names of variables by what they hold.
pub(crate) fn apply(
    profile: &Profile,
    (request, places): (&Request, &BTreeMap<String, String>),
    defines: &[Defined],
    loaded: &mut [Loaded],
) {
    for at in 0..loaded.len() {
        let Some(layer) = profile.layers.get(loaded[at].layer) else { continue };
        if layer.names_variables {
            take_variables(profile, (request, places), &mut loaded[at]);
        }
        let off_by = layer.off_by.as_ref().filter(|name| {
            let value = request.variable(name).map(|value| value.expose().to_lowercase());
            value.is_some_and(|value| !NO.contains(&value.as_str()))
        });
        let other = layer.only_for.as_ref().and_then(|only| other_value(only, defines));
        let excepted = layer.except_for.as_ref().and_then(|except| this_value(except, defines));
        let other = other.or(excepted);
        let why = match (off_by, &layer.only_if) {
            _ if other.is_some() => other.unwrap_or_default(),
            (Some(name), _) => format!("the variable `{name}` turns this layer off"),
            (None, Some(only_if)) if !holds(profile, only_if, &loaded[..at]) => {
                format!("no weaker file sets `{}` to `{}`", only_if.key, only_if.values[0])
            }
            _ => continue,
        };
        (loaded[at].source.state, loaded[at].source.why) = (SourceState::Unread, why);
    }
}

/// Why a layer is not read: the value of a define; none if it is read.
fn other_value(only: &OnlyFor, defines: &[Defined]) -> Option<String> {
    let defined = defines.iter().find(|defined| defined.name == only.define)?;
    let is_wanted = |value: &String| only.values.iter().any(|one| one.eq_ignore_ascii_case(value));
    (!defined.values.iter().any(is_wanted)).then(|| {
        let (values, wanted) = (defined.values.join(","), only.values.join(","));
        format!("read for `{wanted}` only; `{}` is `{values}` ({})", only.define, defined.from)
    })
}

/// Why a layer is not read for the value that a define has; none if it is read.
fn this_value(except: &OnlyFor, defines: &[Defined]) -> Option<String> {
    let defined = defines.iter().find(|defined| defined.name == except.define)?;
    let value = defined.values.iter().find(|value| except.values.contains(value))?;
    Some(format!("not read for `{value}`; `{}` is `{value}` ({})", except.define, defined.from))
}

fn holds(profile: &Profile, only_if: &OnlyIf, weaker: &[Loaded]) -> bool {
    let wanted = identity(profile, &only_if.key);
    let read = weaker.iter().filter(|one| one.source.state == SourceState::Read);
    let last = read
        .flat_map(|one| &one.contents.entries)
        .rfind(|entry| identity(profile, &key_of(profile, &entry.path)) == wanted);
    let value = last.map(|entry| entry.value.expose().to_lowercase());
    value.is_some_and(|value| only_if.values.contains(&value))
}

/// The keys of a file whose values are names of variables, with what the variables hold. A group with
/// `__name` and `__format` holds a document of that format.
fn take_variables(
    profile: &Profile,
    (request, places): (&Request, &BTreeMap<String, String>),
    loaded: &mut Loaded,
) {
    let (mut taken, mut verdicts, mut written) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let entries = std::mem::take(&mut loaded.contents.entries);
    for entry in &entries {
        let last = entry.path.last();
        let is = |name: &str| matches!(last, Some(Segment::Name(own)) if own == name);
        if is("__format") {
            continue;
        }
        let path = if is("__name") { &entry.path[..entry.path.len() - 1] } else { &entry.path };
        let name = entry.value.expose();
        let value = request.variable(name).filter(|value| !value.expose().is_empty());
        let shown = crate::secret::name(name);
        loaded.asked.insert(name.to_owned(), key_of(profile, path));
        let Some(value) = value else {
            let why = format!("the variable `{shown}` is not set");
            verdicts.insert(taken.len(), (Outcome::ConditionFalse, why));
            written.insert(taken.len(), name.to_owned());
            taken.push(Entry { path: path.to_vec(), value: Raw::default(), ..entry.clone() });
            continue;
        };
        let format = is("__name").then(|| format_beside(path, &entries)).flatten();
        let Some(values) = of_format(format.as_deref(), value) else {
            loaded.source.state = SourceState::Unparsable;
            loaded.source.why = format!("{OF_VARIABLE}{shown}` is not of its `__format`");
            continue;
        };
        for (rest, value, null) in values {
            let of = places.get(name).map(|place| format!(" of {place}")).unwrap_or_default();
            let why = format!("{OF_VARIABLE}{shown}`{of}");
            verdicts.insert(taken.len(), (Outcome::Won, why));
            written.insert(taken.len(), name.to_owned());
            let path = path.iter().chain(&rest).cloned().collect();
            taken.push(Entry { path, value, null, ..entry.clone() });
        }
    }
    (loaded.contents.entries, loaded.verdicts, loaded.written) = (taken, verdicts, written);
}

fn format_beside(group: &[Segment], entries: &[Entry]) -> Option<String> {
    let beside = |entry: &&Entry| {
        entry.path.split_last().is_some_and(|(last, path)| {
            path == group && matches!(last, Segment::Name(name) if name == "__format")
        })
    };
    entries.iter().find(beside).map(|entry| entry.value.expose().to_owned())
}

/// The values of a text in a format, each with its path below the key, and whether the format says that it
/// is none; nothing if the text is not of that format.
fn of_format(format: Option<&str>, value: &Raw) -> Option<Vec<(Vec<Segment>, Raw, bool)>> {
    let whole = vec![(Vec::new(), value.clone(), false)];
    let text = match format {
        Some("json" | "json5") => format!("{{\"v\":{}\n}}", value.expose()),
        None | Some("number" | "boolean") => return Some(whole),
        Some(_) => return None,
    };
    let found = read(Format::Json5, text.as_bytes()).ok()?;
    let entries = found.entries.into_iter().chain(found.empties);
    Some(entries.map(|entry| (entry.path[1..].to_vec(), entry.value, entry.null)).collect())
}
