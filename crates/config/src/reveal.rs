//! The one way by which plaintext of a secret leaves: to a terminal, of one key that was named.
//!
//! A [`crate::Configuration`] never holds it. [`Revealed`] has no method but the one that writes to a
//! terminal, and that one checks.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::value::{Raw, ValueFingerprint};

/// What is kept of the key that is to be revealed.
#[derive(Clone)]
pub(crate) struct Reveal {
    name: String,
    /// By fingerprint.
    found: Arc<Mutex<BTreeMap<ValueFingerprint, Raw>>>,
}

impl Reveal {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), found: Arc::default() }
    }

    /// Keeps a value if one of its names is this key. A name is a key, or a key, a space and the name that
    /// the source writes.
    pub(crate) fn keep(&self, names: &[&str], fingerprint: ValueFingerprint, raw: &Raw) {
        let same = |part: &str| part.eq_ignore_ascii_case(&self.name);
        let is_key = |name: &str| {
            same(name) || name.split_once(' ').is_some_and(|(key, name)| same(key) || same(name))
        };
        if names.iter().any(|name| is_key(name)) {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.insert(fingerprint, raw.clone());
        }
    }

    pub(crate) fn find(&self, fingerprint: ValueFingerprint) -> Option<Revealed> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.get(&fingerprint).cloned().map(Revealed)
    }
}

/// Plaintext that only a terminal may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Revealed(Raw);

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Revealed")
    }
}

impl Revealed {
    /// Writes it as one line, with control characters escaped.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] if `out` is not a terminal; otherwise what writing ends in.
    pub fn write_to(&self, out: &mut (impl Write + IsTerminal)) -> io::Result<()> {
        if !out.is_terminal() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "is not a terminal"));
        }
        let text = self.0.expose().chars();
        let shown: String = text
            .flat_map(|c| {
                let escaped: Vec<char> =
                    if c.is_control() { c.escape_default().collect() } else { vec![c] };
                escaped
            })
            .collect();
        writeln!(out, "{shown}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Redactor;

    #[test]
    fn plaintext_goes_to_no_file() {
        let redactor = Redactor::new([1; 32]).revealing("db:password");
        let value = redactor.value("Db:Password Db__Password", &Raw::new("hunter2"));
        let other = redactor.value("Db:Token", &Raw::new("hunter3"));
        assert_eq!(value.text, None, "the value itself stays hidden");
        assert_eq!(redactor.revealed(&other), None);
        let revealed = redactor.revealed(&value).unwrap();
        assert_eq!(format!("{revealed:?}"), "Revealed");
        let mut file = tempfile::tempfile().unwrap();
        let error = revealed.write_to(&mut file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}
