//! A value as it may be shown: redaction by construction.
//!
//! [`Raw`] is text from a source. It cannot be printed, compared by a caller or serialised. The
//! only way out is [`Redactor::value`], which decides what may be shown and keeps of the rest a
//! keyed fingerprint: two secrets can be compared within one snapshot, and the fingerprint says
//! nothing without the key, which stays in that snapshot.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use aho_corasick::AhoCorasick;
use culprit_model::{Text, labels};
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
#[derive(Clone, Default)]
pub struct Raw {
    text: Text,
    /// What the source writes, where the program takes the start of it alone: a password that is cut is
    /// still secret, and only the whole shows that it is one.
    written: Option<Text>,
}

/// What is written beside the value makes no other value.
impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Raw {}

impl Raw {
    /// Wraps text.
    #[must_use]
    pub fn new(text: impl Into<Text>) -> Self {
        Self { text: text.into(), written: None }
    }

    /// The start of a written text, of which a program takes no more.
    pub(crate) fn cut(text: impl Into<Text>, written: impl Into<Text>) -> Self {
        Self { text: text.into(), written: Some(written.into()) }
    }

    /// The text, shared: for resolution alone, as [`Raw::expose`].
    pub(crate) fn share(&self) -> Text {
        self.text.clone()
    }

    /// The text, for resolution alone: it must reach no output.
    pub(crate) fn expose(&self) -> &str {
        &self.text
    }

    /// Its class, and what may be shown of it.
    fn classify(&self, names: &[&str]) -> (Class, Option<Cow<'_, str>>) {
        let own = secret::classify(names, &self.text);
        let Some(written) = self.written.as_deref().filter(|_| own.0 == Class::Plain) else {
            return own;
        };
        match secret::classify(names, written) {
            (Class::Plain, _) => own,
            (class, None) => (class, None),
            (class, Some(shown)) => {
                let start = shown.split(HIDDEN).next().unwrap_or_default();
                match self.text.strip_prefix(start) {
                    Some("") => own,
                    Some(_) => (class, Some(Cow::Owned(format!("{start}{HIDDEN}")))),
                    None => own,
                }
            }
        }
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.text.len())
    }
}

/// A value that may be shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueRef {
    /// The length of the value in bytes.
    pub length: usize,
    /// Whether and why something is hidden.
    pub class: Class,
    /// The same for equal values of one snapshot.
    pub fingerprint: ValueFingerprint,
    /// The text; with [`HIDDEN`] for its secret part; none where all of it is secret.
    pub text: Option<Text>,
}

/// A keyed hash of a value, written as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ValueFingerprint([u8; 16]);

impl fmt::Display for ValueFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for ValueFingerprint {
    type Err = NotAFingerprint;

    fn from_str(digits: &str) -> Result<Self, NotAFingerprint> {
        bytes(digits).map(Self).ok_or(NotAFingerprint)
    }
}

/// A text that is not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not 32 hexadecimal digits")]
pub struct NotAFingerprint;

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
    /// The hashes of the two padded keys (RFC 2104), which every fingerprint continues.
    inner: Sha256,
    outer: Sha256,
    /// The secrets that were learned: they stay here.
    secrets: Arc<RwLock<Secrets>>,
    /// The key whose plaintext a terminal may show.
    reveal: Option<Reveal>,
}

#[derive(Default)]
struct Secrets {
    texts: BTreeSet<String>,
    /// Finds the longer of them in a text; none if they are more than the automaton has room for.
    finder: OnceLock<Option<AhoCorasick>>,
}

impl Secrets {
    fn learn(&mut self, text: &str) {
        if !self.texts.contains(text) {
            self.texts.insert(text.to_owned());
            self.finder = OnceLock::new();
        }
    }

    /// Whether a text is a known secret, or holds one.
    fn are_in(&self, text: &str) -> bool {
        if self.texts.is_empty() {
            return false;
        }
        if self.texts.contains(text) {
            return true;
        }
        let long = || self.texts.iter().filter(|secret| secret.len() >= SHORTEST_ANYWHERE);
        match self.finder.get_or_init(|| AhoCorasick::new(long()).ok()) {
            Some(finder) => finder.is_match(text),
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
        let padded = |pad: u8| {
            let mut block = [pad; 64];
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            Sha256::new().chain_update(block)
        };
        let [inner, outer] = [padded(0x36), padded(0x5c)];
        Self { key, inner, outer, secrets: Arc::default(), reveal: None }
    }

    /// The same, which also keeps the plaintext of one key for [`Redactor::revealed`].
    #[must_use]
    pub fn revealing(self, name: &str) -> Self {
        Self { reveal: Some(Reveal::new(name)), ..self }
    }

    /// The plaintext of a value, if its key is the one to reveal. It can be shown on a terminal alone.
    #[must_use]
    pub fn revealed(&self, value: &ValueRef) -> Option<crate::reveal::Revealed> {
        self.reveal.as_ref()?.find(value.fingerprint)
    }

    /// The key of its fingerprints, which a snapshot keeps.
    pub(crate) fn key(&self) -> [u8; 32] {
        self.key
    }

    /// Remembers a value if it is secret, so that its text is hidden under every other key too.
    pub fn learn(&mut self, key: &str, raw: &Raw) {
        self.learn_named(&[key], raw);
    }

    /// The same for a value with several names, each of which may say that it is secret.
    pub(crate) fn learn_named(&self, names: &[&str], raw: &Raw) {
        match raw.classify(names) {
            (Class::Plain, _) => {}
            (Class::Partial, shown) => {
                let parts = secret::hidden_parts(raw.expose(), &shown.unwrap_or_default());
                parts.into_iter().for_each(|part| self.learn_text(part));
            }
            _ => self.learn_text(raw.expose()),
        }
    }

    /// Remembers a value of a source that holds nothing but secrets. Words such as `true` are not looked
    /// for elsewhere.
    pub(crate) fn learn_secret(&mut self, raw: &Raw) {
        if !secret::is_harmless(raw.expose()) {
            self.learn_text(raw.expose());
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

    fn secrets(&self) -> RwLockReadGuard<'_, Secrets> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn_text(&self, text: &str) {
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).learn(text);
    }

    /// What may be shown of the value of a key.
    #[must_use]
    pub fn value(&self, key: &str, raw: &Raw) -> ValueRef {
        self.value_named(&[key], raw)
    }

    /// The same of a value with several names, each of which may say that it is secret.
    pub(crate) fn value_named(&self, names: &[&str], raw: &Raw) -> ValueRef {
        let fingerprint = self.fingerprint(raw.expose());
        if let Some(reveal) = &self.reveal {
            reveal.keep(names, fingerprint, raw);
        }
        let (class, text) = match raw.classify(names) {
            (Class::Plain | Class::Partial, Some(shown)) if self.secrets().are_in(&shown) => {
                (Class::Derived, None)
            }
            (class, Some(Cow::Borrowed(_))) => (class, Some(raw.share())),
            (class, shown) => (class, shown.map(Text::from)),
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
        let holds_known = |text: &Text| {
            let secrets = self.secrets();
            let mut known = secrets.texts.iter().filter(|secret| secret.len() >= SHORTEST_PART);
            known.any(|secret| text.contains(secret.as_str()))
        };
        let leaks = |text: &Text| {
            others.iter().filter(is_secret).any(|(_, part)| text.contains(part.expose()))
                || holds_known(text)
        };
        if value.text.as_ref().is_some_and(leaks) {
            (value.class, value.text) = (Class::Derived, None);
        }
        value
    }

    /// HMAC-SHA-256 (RFC 2104), the first half.
    fn fingerprint(&self, text: &str) -> ValueFingerprint {
        let inner = self.inner.clone().chain_update(text).finalize();
        let outer = self.outer.clone().chain_update(inner).finalize();
        let mut half = [0; 16];
        half.iter_mut().zip(outer).for_each(|(half, byte)| *half = byte);
        ValueFingerprint(half)
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Hexadecimal digits as bytes; none if they are not as many as the bytes take.
pub(crate) fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
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
        assert_eq!(
            Redactor::new(key).fingerprint(text).to_string(),
            "5bdcc146bf60754e6a042426089575c7"
        );
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
