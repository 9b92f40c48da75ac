//! Where activities start and stop: functions that the user named, or static probes of a program.
//!
//! ```text
//! Call      entry: enter, with the key         return: leave
//! Between   entry of one: enter or start       entry of the other: leave or stop
//! Static    the same at two static probes
//! ```
//!
//! With a key, `Between` and `Static` start and stop, on any threads; without one they nest on their
//! thread.

use std::fs::File;

use culprit_model::{ActivitySource, EdgeKind, Text};
use culprit_symbols::{
    Error, FunctionPlace, StaticProbe, demangle, find_functions, find_static_probes,
};

use super::operand::Operand;
use super::{Hit, Moment, Purpose, Site};

/// An activity that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityProbe {
    /// What to call it.
    pub name: String,
    /// Where it starts and stops.
    pub ends: ActivityEnds,
    /// The argument that tells those apart that are under way at the same time, from 0.
    pub key: Option<u8>,
}

/// Where an activity starts and stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityEnds {
    /// At the entry of a function and at its return.
    Call(Function),
    /// At the entries of two functions.
    Between(Function, Function),
    /// At two static probes.
    Static {
        /// Who offers them.
        provider: String,
        /// The one that starts.
        start: String,
        /// The one that stops.
        stop: String,
    },
}

/// A function by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The last part of the path of the file that holds it; none for any.
    pub module: Option<String>,
    /// Its name as views show it, or the linker's.
    pub name: String,
}

/// One end of an activity, as a hit needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActivityEnd {
    /// The activity's name.
    pub(crate) name: Text,
    /// Which end.
    pub(crate) kind: EdgeKind,
    /// What told.
    pub(crate) source: ActivitySource,
    /// True for entry and return of one function.
    pub(crate) call: bool,
    /// Where its key is.
    pub(crate) key: Option<Operand>,
}

impl ActivityEnds {
    /// The names that it holds.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        match self {
            Self::Call(call) => call.words(),
            Self::Between(start, stop) => [start.words(), stop.words()].concat(),
            Self::Static { provider, start, stop } => vec![provider, start, stop],
        }
    }
}

impl Function {
    fn words(&self) -> Vec<&str> {
        self.module.iter().chain([&self.name]).map(String::as_str).collect()
    }

    fn is_in(&self, path: &str) -> bool {
        let file = path.rsplit('/').next().unwrap_or(path);
        self.module.as_deref().is_none_or(|module| module == file)
    }

    /// Whether the linker's name is that of the function: as it is, readable, or readable without
    /// what it takes.
    fn is_called(&self, linked: &str) -> bool {
        if linked == self.name {
            return true;
        }
        // To make every name of a large program readable would take seconds.
        let last = self.name.rsplit("::").next().unwrap_or(&self.name);
        let last = last.split(['(', '<', '{']).next().unwrap_or(last);
        if !linked.starts_with('_') || !linked.contains(last) {
            return false;
        }
        let readable = demangle(linked);
        readable == self.name || readable.split_once('(').is_some_and(|(name, _)| name == self.name)
    }

    /// Where it is in a file, each place once.
    fn places(&self, file: File, path: &str) -> Result<Vec<FunctionPlace>, Error> {
        if !self.is_in(path) {
            return Ok(Vec::new());
        }
        let mut places = find_functions(file, path, &mut |linked| self.is_called(linked))?;
        places.dedup_by_key(|place| place.offset);
        Ok(places)
    }
}

impl ActivityProbe {
    /// Where in a file it starts and stops; empty where it does not.
    pub(super) fn sites(&self, file: &File, path: &str) -> Result<Vec<Site>, Error> {
        let unread = |source| Error::Read { path: path.to_owned(), offset: 0, source };
        let open = || file.try_clone().map_err(unread);
        match &self.ends {
            ActivityEnds::Call(function) => {
                let places = function.places(open()?, path)?;
                Ok(places.into_iter().flat_map(|place| self.call(place)).collect())
            }
            ActivityEnds::Between(start, stop) => {
                let mut sites = Vec::new();
                for (function, starts) in [(start, true), (stop, false)] {
                    let places = function.places(open()?, path)?;
                    sites.extend(places.into_iter().map(|place| self.end(place, starts)));
                }
                Ok(sites)
            }
            ActivityEnds::Static { provider, start, stop } => {
                let probes = find_static_probes(open()?, path)?;
                let ours = probes.into_iter().filter(|probe| probe.provider == *provider);
                let named = ours.filter(|probe| probe.name == *start || probe.name == *stop);
                Ok(named.map(|probe| self.static_end(&probe, start)).collect())
            }
        }
    }

    /// Entry and return of a function.
    fn call(&self, place: FunctionPlace) -> [Site; 2] {
        let key = self.key.map(Operand::Argument);
        let enter = self.edge(EdgeKind::Enter, key, ActivitySource::Function);
        let leave = self.edge(EdgeKind::Leave, None, ActivitySource::Function);
        [site(place.clone(), Moment::Entry, enter), site(place, Moment::Return, leave)]
    }

    /// The entry of one of two functions.
    fn end(&self, place: FunctionPlace, starts: bool) -> Site {
        let key = self.key.map(Operand::Argument);
        site(place, Moment::Entry, self.edge(self.kind(starts), key, ActivitySource::Function))
    }

    fn static_end(&self, probe: &StaticProbe, start: &str) -> Site {
        let key = self.key.map(|at| Operand::of(&probe.arguments, at));
        let edge = self.edge(self.kind(probe.name == start), key, ActivitySource::Usdt);
        let place = FunctionPlace { offset: probe.offset, name: probe.name.clone(), size: 0 };
        Site { listeners: probe.listeners, ..site(place, Moment::Entry, edge) }
    }

    fn kind(&self, starts: bool) -> EdgeKind {
        match (starts, self.key) {
            (true, None) => EdgeKind::Enter,
            (false, None) => EdgeKind::Leave,
            (true, Some(_)) => EdgeKind::Start,
            (false, Some(_)) => EdgeKind::Stop,
        }
    }

    fn edge(&self, kind: EdgeKind, key: Option<Operand>, source: ActivitySource) -> ActivityEnd {
        let call = matches!(self.ends, ActivityEnds::Call(_));
        ActivityEnd { name: Text::from(self.name.as_str()), kind, source, call, key }
    }
}

impl ActivityProbe {
    /// The names of ends that are nowhere in what was probed.
    pub(super) fn unfound(&self, found: &[&Site]) -> Vec<String> {
        let starts = |site: &Site| match &site.purpose {
            Purpose::Activity(edge) if edge.name.as_str() == self.name => {
                Some(matches!(edge.kind, EdgeKind::Enter | EdgeKind::Start))
            }
            _ => None,
        };
        let has = |wanted: bool| found.iter().any(|site| starts(site) == Some(wanted));
        let ends: Vec<(bool, String)> = match &self.ends {
            ActivityEnds::Call(call) => vec![(true, call.words().join(":"))],
            ActivityEnds::Between(start, stop) => {
                vec![(true, start.words().join(":")), (false, stop.words().join(":"))]
            }
            ActivityEnds::Static { provider, start, stop } => vec![
                (true, format!("usdt:{provider}:{start}")),
                (false, format!("usdt:{provider}:{stop}")),
            ],
        };
        ends.into_iter().filter(|(wanted, _)| !has(*wanted)).map(|(_, end)| end).collect()
    }
}

impl ActivityEnd {
    /// The key of a hit, as text; none where the end has none or it was not recorded.
    pub(crate) fn key_of(&self, hit: &Hit<'_>) -> Option<Text> {
        let value = self.key?.value(hit)?;
        Some(Text::from(format!("{value:#x}")))
    }
}

fn site(place: FunctionPlace, moment: Moment, edge: ActivityEnd) -> Site {
    Site { place, moment, listeners: None, purpose: Purpose::Activity(edge) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_readable_and_by_its_linked_name() {
        let named = |name: &str| Function { module: None, name: name.to_owned() };
        let linked = "_ZN4core3fmt5Write9write_str17h0123456789abcdefE";
        assert!(named("core::fmt::Write::write_str").is_called(linked));
        assert!(named(linked).is_called(linked));
        assert!(!named("write_str").is_called(linked));
        assert!(named("app::work").is_called("_ZN3app4workEv"));
        assert!(named("app::work()").is_called("_ZN3app4workEv"));
        assert!(!named("work").is_called("rework"));
    }

    #[test]
    fn a_module_is_the_last_part_of_a_path() {
        let of = |module: &str| Function { module: Some(module.to_owned()), name: "f".to_owned() };
        assert!(of("libx.so").is_in("/opt/libx.so") && !of("x.so").is_in("/opt/libx.so"));
    }
}
