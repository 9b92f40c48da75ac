//! Words of a key that say that its value is secret.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Words of a key that name a secret, in lower case.
pub(super) const WORDS: &[&str] = &[
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "cred",
    "creds",
    "credential",
    "credentials",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pw",
    "pwd",
    "sas",
    "secret",
    "secrets",
    "sig",
    "signature",
    "token",
    "tokens",
];
/// Two words of a key, side by side, that name a secret.
pub(super) const PAIRS: &[(&str, &str)] = &[
    ("access", "key"),
    ("account", "key"),
    ("api", "key"),
    ("aes", "key"),
    ("auth", "key"),
    ("cipher", "key"),
    ("client", "key"),
    ("consumer", "key"),
    ("crypt", "key"),
    ("crypto", "key"),
    ("deploy", "key"),
    ("des", "key"),
    ("enc", "key"),
    ("encryption", "key"),
    ("hash", "key"),
    ("hmac", "key"),
    ("jwt", "key"),
    ("license", "key"),
    ("machine", "key"),
    ("master", "key"),
    ("private", "key"),
    ("rsa", "key"),
    ("secret", "key"),
    ("session", "key"),
    ("shared", "key"),
    ("signing", "key"),
    ("ssh", "key"),
    ("ssl", "key"),
    ("storage", "key"),
    ("tls", "key"),
];
/// Words that end as `DBPASS` does and name no password.
const NO_PASSWORDS: &[&str] =
    &["bypass", "compass", "encompass", "overpass", "surpass", "trespass", "underpass"];
/// Words behind one that names a secret which make it a setting about secrets: `PASSWORD_HASHERS`.
const ABOUT: &[&str] = &[
    "age",
    "attempts",
    "expires",
    "expiry",
    "hasher",
    "hashers",
    "length",
    "lifetime",
    "policy",
    "rules",
    "timeout",
    "ttl",
    "validator",
    "validators",
];
/// Words that are secret also where no separator sets them apart: `DBPASSWORD`.
pub(super) const PARTS: &[&str] = &[
    "accesskey",
    "apikey",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
];
/// Last words of a key whose value is a path or an address: where the secret is, as in
/// `DB_PASSWORD_FILE` of images, or where it is given out, as in `TOKEN_URL`.
const PLACES: &[&str] =
    &["dir", "endpoint", "file", "folder", "host", "location", "path", "uri", "url"];

/// The words of a key in lower case: split at separators and where a capital follows a small letter.
pub(super) fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in key.chars() {
        let breaks = !c.is_alphanumeric() || small && c.is_uppercase();
        if breaks && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// One of these is in every word that names a secret; most keys have none.
pub(super) const STEMS: &[&str] = &[
    "auth", "bearer", "cookie", "cred", "ential", "ization", "key", "pass", "phrase", "pw", "sas",
    "secret", "sig", "token", "word",
];
/// Words that are long enough to be known with a slip: `PASWORD`. Of a word with one slip, half is as it should be, and
/// each half has a stem.
const LONG: &[&str] =
    &["authorization", "credential", "credentials", "passphrase", "password", "passwords"];

/// Finds a stem. A large configuration has a million names, so that this is one pass over each.
static STEM: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(STEMS).ok()
});

/// Whether the words of a name need to be looked at.
pub(super) fn may_be_secret(name: &str) -> bool {
    !name.is_ascii() || STEM.as_ref().is_none_or(|stem| stem.is_match(name))
}

/// Whether the words of a key name a secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    if !may_be_secret(key) {
        return false;
    }
    let words = words(key);
    let pair = |two: &[String]| PAIRS.iter().any(|(a, b)| two[0] == *a && two[1] == *b);
    let is_about = |at: usize| words.get(at).is_some_and(|word| ABOUT.contains(&word.as_str()));
    words.iter().enumerate().any(|(at, word)| is_secret_word(word) && !is_about(at + 1))
        || words.windows(2).any(pair)
        || words.last().is_some_and(|word| word == "auth")
}

/// Whether a word names a secret by itself.
fn is_secret_word(word: &str) -> bool {
    let joined = |(a, b): &(&str, &str)| word.strip_suffix(b) == Some(a);
    let is_password = word.ends_with("pass") && !NO_PASSWORDS.contains(&word);
    WORDS.contains(&word)
        || PARTS.iter().any(|part| word.contains(part)) && !word.starts_with("secretar")
        || is_password
        || PAIRS.iter().any(joined)
        || LONG.iter().any(|long| is_slip(word, long))
}

/// Whether one letter that is missing, too many, another one or swapped makes one word of the other.
fn is_slip(word: &str, of: &str) -> bool {
    word.len().abs_diff(of.len()) <= 1
        && word.starts_with(&of[..1])
        && strsim::osa_distance(word, of) == 1
}

/// What a key with such a word may hold besides a secret: `MAX_TOKENS=4096`, and the folder that a shell is in.
pub(super) fn is_a_number_or_folder(key: &str, text: &str) -> bool {
    let words = words(key);
    match words.last().map(String::as_str) {
        Some("tokens") => text.len() < 10 && text.chars().all(|c| c.is_ascii_digit()),
        Some("pwd" | "oldpwd") => words.len() == 1 && text.starts_with('/'),
        _ => false,
    }
}

pub(super) fn names_a_place(key: &str) -> bool {
    words(key).last().is_some_and(|word| PLACES.contains(&word.as_str()))
}
