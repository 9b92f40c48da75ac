//! What a builder makes of a section.

use super::builder::{Builder, Enabled, Mode, Written, expand, starts_with};
use super::section::Section;
use super::{Context, Settings};
use crate::folder;
use crate::ledger::{Entry, Ledger};
use crate::provenance::{Op, Outcome, Source, SourceKind, SourceState};

/// A builder that was applied to a section.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) builder: Builder,
    /// Its source.
    pub(super) source: usize,
    /// Where it is written, in words.
    pub(super) place: String,
    /// The variables that it took.
    pub(super) taken: Vec<String>,
}

/// Attributes of builders that name a file or folder.
const PATHS: [&str; 3] = ["jsonFile", "userSecretsFile", "directoryPath"];

/// Applies a builder to a section.
pub(super) fn apply(
    settings: &mut Settings,
    section: usize,
    context: &Context<'_>,
    ledger: &mut Ledger,
) {
    let written = context.written;
    let builder = {
        let lookup = |name: &str| settings.app_setting(name, ledger).map(str::to_owned);
        written.understand(context.rules, &lookup)
    };
    let section = &mut settings.sections[section];
    let layer = format!("builder `{}` of {}", written.name, section.kind.name);
    let builder = match builder {
        Ok(builder) => builder,
        Err(why) => {
            let why = format!("line {}: {why}", written.line);
            ledger.source(environment(&layer, SourceState::Unsupported, why));
            return;
        }
    };
    if written.known(context.rules).is_none() && builder.enabled != Enabled::Disabled {
        ledger.source(foreign(&layer, written, &builder, context));
        return;
    }
    let Some(variables) = &context.request.environment else { return };
    let state = if builder.enabled == Enabled::Disabled {
        (SourceState::Unread, "the builder is disabled".to_owned())
    } else {
        let assumed = if builder.assumed { "; its rules are assumed" } else { "" };
        let prefix = match builder.prefix.as_str() {
            "" => String::new(),
            prefix => format!(", prefix `{prefix}`"),
        };
        (SourceState::Read, format!("{}{prefix}{assumed}", builder.mode.word()))
    };
    let source = ledger.source(environment(&layer, state.0, state.1));
    let place = format!("line {}", written.line);
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    let mut applied = Applied { builder, source, place, taken: Vec::new() };
    if applied.builder.enabled != Enabled::Disabled {
        let mut filler = Filler {
            section,
            variables: &variables,
            ignores_case: context.rules.environment_ignores_case,
            applied: &mut applied,
            ledger,
        };
        match filler.applied.builder.mode {
            Mode::Strict => filler.strict(),
            Mode::Greedy => filler.greedy(),
            Mode::Token => filler.token(),
        }
    }
    section.applied.push(applied);
}

fn environment(layer: &str, state: SourceState, why: String) -> Source {
    Source {
        kind: SourceKind::ProcessEnvironment,
        name: "environment".to_owned(),
        layer: layer.to_owned(),
        state,
        why,
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

/// A builder of another source: what it would set is not known. Without its file it sets nothing, if it
/// is optional.
fn foreign(layer: &str, written: &Written, builder: &Builder, context: &Context<'_>) -> Source {
    let path = PATHS.iter().find_map(|name| written.get(name));
    let exists = path.is_none_or(|path| folder::find(context.root, path).is_some());
    let (state, why) = match (exists, builder.enabled) {
        (true, _) => (
            SourceState::Unsupported,
            format!("Culprit does not read the source of `{}`", written.class()),
        ),
        (false, Enabled::Required) => (SourceState::MissingRequired, "no such file".to_owned()),
        (false, _) => (
            SourceState::Missing,
            format!(
                "no such file; the builder `{}` is optional, so the program starts without it",
                written.name
            ),
        ),
    };
    let mut source = environment(layer, state, why);
    (source.kind, source.name) =
        (SourceKind::File, path.map_or_else(|| written.class().to_owned(), folder::below_root));
    source
}

/// The work of one builder on one section.
struct Filler<'a> {
    section: &'a mut Section,
    variables: &'a [(&'a str, &'a str)],
    ignores_case: bool,
    applied: &'a mut Applied,
    ledger: &'a mut Ledger,
}

impl Filler<'_> {
    /// A variable by its name, with the name as it is set.
    fn lookup(&self, name: &str) -> Option<(String, String)> {
        let same = |own: &str| match self.ignores_case {
            true => own.eq_ignore_ascii_case(name),
            false => own == name,
        };
        let found = self.variables.iter().find(|(own, _)| same(own));
        found.map(|(own, value)| ((*own).to_owned(), (*value).to_owned()))
    }

    fn strict(&mut self) {
        let names: Vec<String> = self
            .section
            .cells
            .iter()
            .filter(|cell| cell.winner.is_some())
            .filter_map(|cell| self.section.name_of(cell).map(str::to_owned))
            .collect();
        for name in names {
            let found = self.applied.builder.asks_for(&name).and_then(|asked| self.lookup(&asked));
            if let Some((variable, value)) = found {
                let key = self.section.shown(&name);
                self.set(&key, &variable, Op::Set, &value);
            }
        }
    }

    fn greedy(&mut self) {
        let prefix = self.applied.builder.map(&self.applied.builder.prefix);
        let all: Vec<(&str, &str)> = self.variables.to_vec();
        for (variable, value) in all.into_iter().filter(|(name, _)| starts_with(name, &prefix)) {
            let strip = self.applied.builder.strip;
            let name = if strip { &variable[prefix.len()..] } else { variable };
            let key = self.section.shown(name);
            let is_known = self.section.find(&key).is_some_and(|cell| cell.winner.is_some());
            self.set(&key, variable, if is_known { Op::Set } else { Op::Add }, value);
            self.forget_provider(&key);
        }
    }

    /// A connection string is made anew in this mode, without the attributes beside it.
    fn forget_provider(&mut self, key: &str) {
        let key = format!("{key}/@providerName");
        let has = self.section.find(&key).is_some_and(|cell| cell.winner.is_some());
        if self.applied.builder.version >= 2 && has {
            self.set(&key, "Greedy", Op::DeleteAttribute, "");
        }
    }

    fn token(&mut self) {
        let cells: Vec<(String, usize)> = self
            .section
            .cells
            .iter()
            .filter_map(|cell| Some((self.section.name_of(cell)?.to_owned(), cell.winner?)))
            .collect();
        for (name, winner) in cells {
            let lookup = |token: &str| {
                let asked = self.applied.builder.asks_for(token)?;
                self.lookup(&asked).map(|(_, value)| value)
            };
            let (new_name, mut tokens) = expand(&name, &lookup);
            let (value, of_value) = expand(self.ledger.raw(winner), &lookup);
            tokens.extend(of_value);
            if tokens.is_empty() {
                continue;
            }
            let asked = tokens.iter().filter_map(|token| self.applied.builder.asks_for(token));
            let names: Vec<String> =
                asked.filter_map(|asked| Some(self.lookup(&asked)?.0)).collect();
            let written = names.join(", ");
            if new_name != name {
                let old = self.section.shown(&name);
                self.set(&old, &written, Op::Delete, "");
            }
            let key = self.section.shown(&new_name);
            self.set(&key, &written, Op::TokenExpand, &value);
            self.applied.taken.extend(names);
        }
    }

    fn set(&mut self, key: &str, variable: &str, op: Op, value: &str) {
        let source = self.applied.source;
        let entry = Entry { source, key, written: variable, op, value, at: None, condition: None };
        let at = self.ledger.assign(&entry);
        if matches!(op, Op::Delete | Op::DeleteAttribute) {
            self.ledger.assignments[at].outcome = Outcome::Won;
        } else {
            self.ledger.variables.push(at);
        }
        self.section.win(self.ledger, at);
        self.section.cell(key).assumed |= self.applied.builder.assumed;
        self.applied.taken.push(variable.to_owned());
    }
}
