//! A value as it may be shown: redaction by construction.
//!
//! [`Raw`] is text from a source. It cannot be printed, compared by a caller or serialised. The
//! only way out is [`Redactor::value`], which decides what may be shown and keeps of the rest a
//! keyed fingerprint: two secrets can be compared within one snapshot, and the fingerprint says
//! nothing without the key, which stays in that snapshot.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aho_corasick::AhoCorasick;
use culprit_model::labels;
use sha2::{Digest as _, Sha256};

use crate::reveal::Reveal;
use crate::secret;

labels! {
    /// Why a value is shown, or why not.
    Class ("class of a value") {
        /// Nothing points at a secret: the text is shown.
        Plain = "plain",
        /// A part is secret, as the password in a connection string: the rest is shown.
        Partial = "partial",
        /// The key names a secret.
        KeyWord = "key-word",
        /// The text has the form of a known kind of token.
        Token = "token",
        /// The text looks random.
        Entropy = "entropy",
        /// Its source holds nothing but secrets.
        Source = "source",
        /// The text is that of a secret elsewhere, or was made from one.
        Derived = "derived",
    }
}

/// Secrets that are shorter occur in other texts by chance.
const SHORTEST_PART: usize = 4;
/// Secrets that are shorter are looked for only in values that were made from others: `test` and `root`
/// are passwords too, and parts of many harmless values.
const SHORTEST_ANYWHERE: usize = 6;

/// What stands for a hidden part.
pub const HIDDEN: &str = "•••";

/// Text from a source that may be secret.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Raw(String);

impl Raw {
    /// Wraps text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for resolution alone: it must reach no output.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

/// A value that may be shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueRef {
    /// The length of the value in bytes.
    pub length: usize,
    /// Whether and why something is hidden.
    pub class: Class,
    /// The same for equal values of one snapshot: 32 hexadecimal digits of a keyed hash.
    pub fingerprint: String,
    /// The text; with [`HIDDEN`] for its secret part; none where all of it is secret.
    pub text: Option<String>,
}

impl ValueRef {
    /// Whether the two have the same value.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

/// Turns raw values into values that may be shown. Clones share what they learn.
#[derive(Clone)]
pub struct Redactor {
    key: [u8; 32],
    /// The secrets that were learned: they stay here.
    secrets: Arc<Mutex<Secrets>>,
    /// The key whose plaintext a terminal may show.
    reveal: Option<Reveal>,
}

#[derive(Default)]
struct Secrets {
    texts: BTreeSet<String>,
    /// Finds the longer of them in a text; made when it is first needed.
    finder: Option<AhoCorasick>,
}

impl Secrets {
    fn learn(&mut self, text: &str) {
        if self.texts.insert(text.to_owned()) {
            self.finder = None;
        }
    }

    /// Whether a text is a known secret, or holds one.
    fn are_in(&mut self, text: &str) -> bool {
        if self.texts.contains(text) {
            return true;
        }
        let long = || self.texts.iter().filter(|secret| secret.len() >= SHORTEST_ANYWHERE);
        if self.finder.is_none() {
            self.finder = AhoCorasick::new(long()).ok();
        }
        match &self.finder {
            Some(finder) => finder.is_match(text),
            // More secrets than the automaton has room for.
            None => long().any(|secret| text.contains(secret.as_str())),
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// A redactor with a key, which the caller takes from the system's random numbers, one a
    /// snapshot.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self { key, secrets: Arc::default(), reveal: None }
    }

    /// The same, which also keeps the plaintext of one key for [`Redactor::revealed`].
    #[must_use]
    pub fn revealing(self, name: &str) -> Self {
        Self { reveal: Some(Reveal::new(name)), ..self }
    }

    /// The plaintext of a value, if its key is the one to reveal. It can be shown on a terminal alone.
    #[must_use]
    pub fn revealed(&self, value: &ValueRef) -> Option<crate::reveal::Revealed> {
        self.reveal.as_ref()?.find(&value.fingerprint)
    }

    /// The key of its fingerprints, which a snapshot keeps.
    pub(crate) fn key(&self) -> [u8; 32] {
        self.key
    }

    /// Remembers a value if it is secret, so that its text is hidden under every other key too.
    pub fn learn(&mut self, key: &str, raw: &Raw) {
        match secret::classify(key, raw.expose()) {
            (Class::Plain, _) => {}
            (Class::Partial, shown) => {
                let parts = secret::hidden_parts(raw.expose(), &shown.unwrap_or_default());
                parts.into_iter().for_each(|part| self.secrets().learn(part));
            }
            _ => self.secrets().learn(raw.expose()),
        }
    }

    /// Remembers a value of a source that holds nothing but secrets. Words such as `true` are not looked
    /// for elsewhere.
    pub(crate) fn learn_secret(&mut self, raw: &Raw) {
        if !secret::is_harmless(raw.expose()) {
            self.secrets().learn(raw.expose());
        }
    }

    /// What may be shown of the value of a key in such a source: nothing.
    pub(crate) fn secret(&self, key: &str, raw: &Raw) -> ValueRef {
        ValueRef { class: Class::Source, text: None, ..self.value(key, raw) }
    }

    /// How many secrets it has learned.
    #[must_use]
    pub fn secrets_learned(&self) -> usize {
        self.secrets().texts.len()
    }

    fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What may be shown of the value of a key.
    #[must_use]
    pub fn value(&self, key: &str, raw: &Raw) -> ValueRef {
        let fingerprint = self.fingerprint(raw.expose());
        if let Some(reveal) = &self.reveal {
            reveal.keep(key, &fingerprint, raw);
        }
        let (class, text) = match secret::classify(key, raw.expose()) {
            (Class::Plain | Class::Partial, Some(shown)) if self.secrets().are_in(&shown) => {
                (Class::Derived, None)
            }
            classified => classified,
        };
        ValueRef { length: raw.expose().len(), class, fingerprint, text }
    }

    /// What may be shown of a value that was made from others, named here with their texts: nothing
    /// that holds a secret among them.
    #[must_use]
    pub(crate) fn made_from(&self, key: &str, raw: &Raw, others: &[(String, Raw)]) -> ValueRef {
        let mut value = self.value(key, raw);
        let is_secret = |(name, part): &&(String, Raw)| {
            !part.expose().is_empty() && self.value(name, part).class != Class::Plain
        };
        // A part may have been made from a secret itself, so all that is known is looked for, too.
        let holds_known = |text: &String| {
            let secrets = self.secrets();
            let mut known = secrets.texts.iter().filter(|secret| secret.len() >= SHORTEST_PART);
            known.any(|secret| text.contains(secret.as_str()))
        };
        let leaks = |text: &String| {
            others.iter().filter(is_secret).any(|(_, part)| text.contains(part.expose()))
                || holds_known(text)
        };
        if value.text.as_ref().is_some_and(leaks) {
            (value.class, value.text) = (Class::Derived, None);
        }
        value
    }

    /// HMAC-SHA-256 (RFC 2104), the first half.
    fn fingerprint(&self, text: &str) -> String {
        let padded = |pad: u8| {
            let mut block = [pad; 64];
            block.iter_mut().zip(self.key).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
        let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
        hex(&outer[..16])
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_hmac_sha_256() {
        // RFC 4231, test case 2: the key is filled up with zeros.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let text = "what do ya want for nothing?";
        assert_eq!(Redactor::new(key).fingerprint(text), "5bdcc146bf60754e6a042426089575c7");
    }

    #[test]
    fn a_secret_has_no_text_and_equal_ones_are_found() {
        let redactor = Redactor::new([7; 32]);
        let [one, same, other] = ["hunter2", "hunter2", "hunter3"]
            .map(|text| redactor.value("DB_PASSWORD", &Raw::new(text)));
        assert_eq!((one.class, &one.text, one.length), (Class::KeyWord, &None, 7));
        assert!(one.equals(&same) && !one.equals(&other));
        let elsewhere = Redactor::new([8; 32]).value("DB_PASSWORD", &Raw::new("hunter2"));
        assert_ne!(one.fingerprint, elsewhere.fingerprint, "the key is the snapshot's own");
    }

    #[test]
    fn a_secret_is_hidden_under_every_key_and_in_what_is_made_from_it() {
        let mut redactor = Redactor::new([7; 32]);
        redactor.learn("DB_PASSWORD", &Raw::new("hunter2"));
        assert_eq!(redactor.value("NOTE", &Raw::new("hunter2")).class, Class::Derived);
        redactor.learn("url", &Raw::new("db://u:swordfish@h"));
        assert_eq!(redactor.value("NOTE", &Raw::new("swordfish")).class, Class::Derived);
        let others = [("DB_PASSWORD".to_owned(), Raw::new("hunter2"))];
        let made = |text: &str| redactor.made_from("X", &Raw::new(text), &others);
        assert_eq!(made("db/hunter2/x").text, None);
        let middle = [("MADE".to_owned(), Raw::new("x-hunter2"))];
        assert_eq!(redactor.made_from("COPY", &Raw::new("x-hunter2"), &middle).text, None);
        assert_eq!(made("db://u:hunter2@h").text.as_deref(), Some("db://u:•••@h"));
    }

    #[test]
    fn raw_text_does_not_reach_debug_output() {
        assert_eq!(format!("{:?}", Raw::new("hunter2")), "Raw(7 bytes)");
        assert_eq!(format!("{:?}", Redactor::new([7; 32])), "Redactor");
    }
}
