//! Many patterns that are searched at once.
//!
//! Why not `RegexSet`: it looks for a common prefilter of all patterns, which takes half a second for
//! lists of 1,500 and finds none.

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet};

/// Bytes of one compiled list: the largest has 1,500 patterns and takes 6 MB.
const COMPILED_BYTES: usize = 64 << 20;

/// Patterns that ignore case. Classes such as `\w` are those of ASCII.
#[derive(Debug)]
pub(super) struct Patterns(Option<Regex>);

impl Patterns {
    /// Compiles patterns.
    ///
    /// # Errors
    /// When one is no pattern, or all together are too large.
    pub(super) fn new(texts: &[String]) -> Result<Self, Box<BuildError>> {
        let config = Config::new()
            .match_kind(MatchKind::All)
            .which_captures(WhichCaptures::None)
            .utf8_empty(false)
            .auto_prefilter(false)
            .nfa_size_limit(Some(COMPILED_BYTES))
            .hybrid_cache_capacity(COMPILED_BYTES);
        let syntax = syntax::Config::new().unicode(false).utf8(false).case_insensitive(true);
        let built = Regex::builder().configure(config).syntax(syntax).build_many(texts);
        Ok(Self(Some(built.map_err(Box::new)?)))
    }

    /// No pattern.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// True when one matches.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Those that match, by their place in the list.
    pub(super) fn matches(&self, text: &[u8]) -> Vec<usize> {
        let Some(regex) = &self.0 else { return Vec::new() };
        let mut found = PatternSet::new(regex.pattern_len());
        regex.which_overlapping_matches(&Input::new(text), &mut found);
        found.iter().map(|pattern| pattern.as_usize()).collect()
    }
}

#[cfg(test)]
mod tests {
    use regex::bytes::RegexSetBuilder;

    use super::*;

    #[test]
    fn the_patterns_of_a_set_match_as_those_of_the_regex_crate() {
        let texts = ["bot", "^curl/", "a|", "(?:x{2,3}y)+$", "\\bGo\\d"].map(str::to_owned);
        let own = Patterns::new(&texts).unwrap();
        let theirs =
            RegexSetBuilder::new(&texts).unicode(false).case_insensitive(true).build().unwrap();
        for text in ["", "GoogleBOT/2", "curl/8", " curl/8", "xxyXXXy", "go7 go", "\u{e9}go1"] {
            let wanted: Vec<usize> = theirs.matches(text.as_bytes()).into_iter().collect();
            assert_eq!(own.matches(text.as_bytes()), wanted, "{text}");
            assert_eq!(own.is_match(text.as_bytes()), !wanted.is_empty(), "{text}");
        }
        assert!(Patterns::new(&["(".to_owned()]).is_err());
        assert!(!Patterns::none().is_match(b"bot"));
    }
}
