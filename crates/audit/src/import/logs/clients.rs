//! Whether the addresses of a log are those of clients.
//!
//! A log in an unusual form, or one of a server behind a proxy, can have the same text in each line
//! where the client's address is expected. Then all visits are those of one visitor, and no line is
//! wrong by itself.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

/// Lines of a file from which on its addresses are judged.
const ENOUGH_LINES: u64 = 100;
/// Nearly all lines, in percent.
const NEARLY_ALL: u64 = 95;

/// Lines by address, one source after the other.
#[derive(Debug, Default)]
pub(super) struct Clients {
    source: usize,
    /// By number of the address, lines of the source.
    lines: FxHashMap<u32, u64>,
    unusual: Vec<UnusualClients>,
}

/// A source whose addresses are hardly those of its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnusualClients {
    /// Number of the source.
    pub(crate) source: usize,
    /// Its lines.
    pub(crate) lines: u64,
    /// What is unusual.
    pub(crate) kind: ClientsKind,
    /// How many lines are so.
    pub(crate) count: u64,
    /// The most frequent of these addresses.
    pub(crate) example: String,
}

/// What is unusual about the addresses of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientsKind {
    /// Nearly all lines have the same one.
    One,
    /// Nearly all are no IP addresses.
    Names,
}

impl Clients {
    /// Notes that a line has an address. `words` has the texts of the addresses by number.
    pub(super) fn note(&mut self, source: usize, address: u32, words: &[Box<str>]) {
        if self.source != source {
            self.end(words);
            self.source = source;
        }
        *self.lines.entry(address).or_default() += 1;
    }

    /// Judges the source that was read last.
    pub(super) fn end(&mut self, words: &[Box<str>]) {
        let lines = std::mem::take(&mut self.lines);
        let text = |address: u32| words.get(address as usize).map_or("", |text| &**text);
        let all: u64 = lines.values().sum();
        if all < ENOUGH_LINES {
            return;
        }
        let counted = || lines.iter().map(|(address, count)| (*count, text(*address)));
        let named = || counted().filter(|(_, text)| !is_ip_address(text.as_bytes()));
        let names: u64 = named().map(|(count, _)| count).sum();
        let (most, most_of_names) =
            (counted().max().unwrap_or_default(), named().max().unwrap_or_default());
        let found = match (is_most(most.0, all), is_most(names, all)) {
            (true, _) => (ClientsKind::One, most),
            (false, true) => (ClientsKind::Names, (names, most_of_names.1)),
            (false, false) => return,
        };
        let (kind, (count, example)) = found;
        let example = example.to_owned();
        self.unusual.push(UnusualClients { source: self.source, lines: all, kind, count, example });
    }

    /// Sources with unusual addresses, after [`Clients::end`].
    pub(super) fn unusual(&self) -> &[UnusualClients] {
        &self.unusual
    }
}

fn is_most(part: u64, all: u64) -> bool {
    part * 100 >= all * NEARLY_ALL
}

/// True for an IP address, also with a zone (`fe80::1%eth0`).
pub(super) fn is_ip_address(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let bare = text.split('%').next().unwrap_or_default();
    bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is unusual about sources, each with numbers of lines by address.
    fn judged(sources: &[&[(&str, u64)]]) -> Vec<(usize, ClientsKind, u64, String)> {
        let (mut clients, mut words) = (Clients::default(), Vec::<Box<str>>::new());
        for (source, addresses) in sources.iter().enumerate() {
            for (address, count) in *addresses {
                words.push((*address).into());
                let number = u32::try_from(words.len() - 1).unwrap();
                (0..*count).for_each(|_| clients.note(source, number, &words));
            }
        }
        clients.end(&words);
        let all = clients.unusual().iter().cloned();
        all.map(|one| (one.source, one.kind, one.count, one.example)).collect()
    }

    #[test]
    fn a_source_of_one_address_and_one_of_names_are_unusual() {
        let found = judged(&[
            &[("192.0.2.1", 60), ("192.0.2.2", 60)],
            &[("10.0.0.1", 190), ("192.0.2.2", 10)],
            &[("a.example", 60), ("b.example", 50), ("192.0.2.1", 2)],
            &[("www.site.example", 150)],
            &[("a.example", 60), ("192.0.2.1", 60)],
        ]);
        assert_eq!(
            found,
            [
                (1, ClientsKind::One, 190, "10.0.0.1".to_owned()),
                (2, ClientsKind::Names, 110, "a.example".to_owned()),
                (3, ClientsKind::One, 150, "www.site.example".to_owned()),
            ]
        );
    }

    #[test]
    fn few_lines_say_nothing() {
        assert_eq!(judged(&[&[("10.0.0.1", 99)]]), []);
        assert_eq!(judged(&[]), []);
    }
}
