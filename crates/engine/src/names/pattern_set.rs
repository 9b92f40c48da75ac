//! Finds the patterns that a name fits: one look-up in a hash table for whole names, one binary search
//! each for what names begin and end with.
//!
//! ```text
//! do_fsync               whole
//! tcp_*                  begins
//! chrono::*::parse       begins, and then the whole pattern is compared
//! *_sys_read             ends: the name from its last character
//! *Mutex*contended*      anywhere: compared one by one, they are few
//! ```

use rustc_hash::FxHashMap;

use super::pattern::matches;

/// What a pattern stands for: the place of an entry in its table, say.
pub type PatternId = u16;

/// Patterns of names, each with what it stands for.
#[derive(Debug, Default)]
pub struct PatternSet {
    whole: FxHashMap<&'static str, Vec<PatternId>>,
    begins: Affixes,
    ends: Affixes,
    /// With the characters of each.
    anywhere: Vec<(Characters, &'static str, PatternId)>,
}

impl PatternSet {
    /// A set of patterns, in which `*` stands for any text; n log n in their number.
    #[must_use]
    pub fn new(patterns: impl Iterator<Item = (&'static str, PatternId)>) -> Self {
        let mut matcher = Self::default();
        for (pattern, entry) in patterns {
            let Some((first, rest)) = pattern.split_once('*') else {
                matcher.whole.entry(pattern).or_default().push(entry);
                continue;
            };
            let last = rest.rsplit('*').next().unwrap_or_default();
            let simple =
                first.is_empty() != last.is_empty() && !rest.contains('*') || rest.is_empty();
            let whole = (!simple).then_some(pattern);
            match (first.is_empty(), last.is_empty()) {
                (false, _) => matcher.begins.add(first.bytes().collect(), (entry, whole)),
                (true, false) => matcher.ends.add(last.bytes().rev().collect(), (entry, whole)),
                (true, true) => {
                    matcher.anywhere.push((Characters::of(pattern), pattern, entry));
                }
            }
        }
        matcher.begins.link();
        matcher.ends.link();
        matcher
    }

    /// Calls `found` for every pattern that a name fits: whole names first, then what
    /// names begin with, the longest first.
    pub fn each(&self, name: &str, mut found: impl FnMut(PatternId)) {
        self.whole.get(name).into_iter().flatten().for_each(|entry| found(*entry));
        let mut checked = |(entry, pattern): (PatternId, Option<&str>)| {
            if pattern.is_none_or(|pattern| matches(pattern, name)) {
                found(entry);
            }
        };
        self.begins.each(name.as_bytes(), &mut checked);
        if !self.ends.0.is_empty() {
            let backwards: Vec<u8> = name.bytes().rev().collect();
            self.ends.each(&backwards, &mut checked);
        }
        let characters = Characters::of(name);
        for (needed, pattern, entry) in &self.anywhere {
            if characters.have(*needed) {
                checked((*entry, Some(pattern)));
            }
        }
    }
}

/// Which characters a text has, but for `*`: most patterns need one that most names have not.
#[derive(Debug, Clone, Copy)]
struct Characters(u128);

impl Characters {
    fn of(text: &str) -> Self {
        let bytes = text.bytes().filter(|byte| *byte != b'*');
        Self(bytes.fold(0, |all, byte| all | 1 << (byte & 127)))
    }

    fn have(self, needed: Self) -> bool {
        needed.0 & !self.0 == 0
    }
}

/// Beginnings of names in order, each with the longest other one that it begins with.
#[derive(Debug, Default)]
struct Affixes(Vec<Affix>);

#[derive(Debug)]
struct Affix {
    text: Vec<u8>,
    /// The entries, and the pattern to compare where the text is not all of it.
    entries: Vec<(PatternId, Option<&'static str>)>,
    within: Option<usize>,
}

impl Affixes {
    fn add(&mut self, text: Vec<u8>, entry: (PatternId, Option<&'static str>)) {
        self.0.push(Affix { text, entries: vec![entry], within: None });
    }

    /// Sorts, joins what is the same, and notes what begins with what.
    fn link(&mut self) {
        self.0.sort_by(|one, other| one.text.cmp(&other.text));
        self.0.dedup_by(|later, kept| {
            let same = later.text == kept.text;
            if same {
                kept.entries.append(&mut later.entries);
            }
            same
        });
        let mut open: Vec<usize> = Vec::new();
        for at in 0..self.0.len() {
            while open.last().is_some_and(|last| !self.0[at].text.starts_with(&self.0[*last].text))
            {
                open.pop();
            }
            self.0[at].within = open.last().copied();
            open.push(at);
        }
    }

    fn each(&self, name: &[u8], found: &mut impl FnMut((PatternId, Option<&'static str>))) {
        // All that the name begins with is what its nearest neighbour before it begins with, too.
        let mut at = self.0.partition_point(|affix| affix.text.as_slice() <= name).checked_sub(1);
        while let Some(affix) = at.and_then(|at| self.0.get(at)) {
            if name.starts_with(&affix.text) {
                affix.entries.iter().for_each(|entry| found(*entry));
            }
            at = affix.within;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_finds_what_comparing_each_would() {
        let patterns = [
            "tcp_*",
            "tcp_recv*",
            "tcp_recvmsg",
            "*",
            "*_sys_read",
            "*read",
            "a*b*a",
            "*x*",
            "ab*",
            "a*b",
            "",
            "tcp*msg",
            "*y*d",
        ];
        let all = patterns.iter().copied().zip(0..);
        let matcher = PatternSet::new(all);
        for name in [
            "tcp_recvmsg",
            "tcp_",
            "tcp",
            "tc",
            "aba",
            "ab",
            "axb",
            "__x64_sys_read",
            "read",
            "x",
            "",
            "yd",
            "ayd",
            "tcp_recvmsg_locked",
            "zz",
        ] {
            let mut found = Vec::new();
            matcher.each(name, |entry| found.push(usize::from(entry)));
            found.sort_unstable();
            let expected: Vec<usize> =
                (0..patterns.len()).filter(|at| matches(patterns[*at], name)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
