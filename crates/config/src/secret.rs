//! Which values are secret: by the words of the key, by the form of the text, by its randomness.
//!
//! A wrong guess towards secret hides a harmless value; a wrong guess the other way prints a
//! password. So every doubt counts as secret, except where the text cannot hold one (empty, a truth
//! value, the path of a file that holds the secret).

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use culprit_model::Text;

use crate::value::{Class, HIDDEN};

/// Words of a key that name a secret, in lower case.
const WORDS: &[&str] = &[
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
const PAIRS: &[(&str, &str)] = &[
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
const PARTS: &[&str] = &[
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

/// How tokens of well-known services begin, with the fewest characters that follow.
const TOKENS: &[(&str, usize)] = &[
    ("AGE-SECRET-KEY-", 20),
    ("AIza", 30),
    ("AKIA", 12),
    ("ASIA", 12),
    ("Basic ", 8),
    ("Bearer ", 8),
    ("SG.", 20),
    ("dop_v1_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("hvs.", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("rk_live_", 12),
    ("rk_test_", 12),
    ("shpat_", 20),
    ("sk-", 20),
    ("sk_live_", 12),
    ("sk_test_", 12),
    ("whsec_", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("ya29.", 20),
];

/// The class of a value, and what may be shown of it. Each of its names may say that it is secret.
pub(crate) fn classify<'a>(names: &[&str], text: &'a str) -> (Class, Option<Cow<'a, str>>) {
    let plain = (Class::Plain, Some(Cow::Borrowed(text)));
    if is_harmless(text) {
        return plain;
    }
    if names.iter().any(|name| may_be_secret(name)) {
        let key = names.join(" ");
        let is_place = text.starts_with(['/', '.']) || text.contains("://");
        let is_shown = names_a_place(&key) && is_place || is_a_number_or_folder(&key, text);
        if is_secret_key(&key) && !is_shown {
            return (Class::KeyWord, None);
        }
    }
    if is_too_short(text) {
        return plain;
    }
    if has_token(text) || gives_a_password(text) {
        return (Class::Token, None);
    }
    if let Some(shown) = without_hook(text) {
        return (Class::Partial, Some(Cow::Owned(shown)));
    }
    match without_secret_parts(text) {
        Parts::None if looks_random(text) => (Class::Entropy, None),
        Parts::None => plain,
        // What is left of the text must be harmless by itself.
        Parts::Hidden(rest) if looks_random(&rest) => (Class::Entropy, None),
        Parts::Hidden(rest) => (Class::Partial, Some(Cow::Owned(rest))),
        Parts::Unclear => (Class::Token, None),
    }
}

/// The fewest characters of a known token with what follows its start: `Basic ` and 8 more.
const SHORTEST_TOKEN: usize = 14;

/// Whether a text is too short for every form of a secret, and holds no `name=value`. Most values are,
/// and a large configuration has a million of them.
fn is_too_short(text: &str) -> bool {
    let has_pairs = text.contains(['=', ':']) && text.contains(|c: char| c.is_alphabetic());
    text.len() < SHORTEST_TOKEN && !has_pairs && !text.contains("-----")
}

/// The parts of a text that its shown form hides.
pub(crate) fn hidden_parts<'a>(text: &'a str, shown: &str) -> Vec<&'a str> {
    let mut fragments = shown.split(HIDDEN);
    let first = fragments.next().unwrap_or_default();
    let mut rest = text.strip_prefix(first).unwrap_or_default();
    let mut parts = Vec::new();
    for fragment in fragments {
        let end = if fragment.is_empty() { None } else { rest.find(fragment) };
        let (part, next) = match end {
            Some(end) => (&rest[..end], &rest[end + fragment.len()..]),
            None => (rest, ""),
        };
        parts.extend([part, part.trim_matches(['"', '\''])].iter().filter(|part| !part.is_empty()));
        rest = next;
    }
    parts
}

/// A name as it may be shown: a secret that was pasted where a name belongs is hidden.
pub(crate) fn name(name: &str) -> String {
    hidden_name(name).unwrap_or_else(|| name.to_owned())
}

/// The same of a name that is shared.
pub(crate) fn shown_name(name: &Text) -> Text {
    hidden_name(name).map_or_else(|| name.clone(), Text::from)
}

/// What stands for a name that is a secret; none if it is none.
fn hidden_name(name: &str) -> Option<String> {
    let one_word = || name.len() >= 32 && !name.contains(['_', '.', '-', ':', ' ']);
    let is_secret =
        name.contains("PRIVATE KEY") || has_token(name) || one_word() && looks_random(name);
    is_secret.then(|| format!("{HIDDEN} ({} bytes)", name.len()))
}

/// Whether a text cannot be a secret.
pub(crate) fn is_harmless(text: &str) -> bool {
    const WORDS: [&str; 9] = ["", "true", "false", "yes", "no", "on", "off", "null", "none"];
    let text = text.trim();
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The words of a key in lower case: split at separators and where a capital follows a small letter.
fn words(key: &str) -> Vec<String> {
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
const STEMS: &[&str] =
    &["auth", "bearer", "cookie", "cred", "key", "pass", "pw", "sas", "secret", "sig", "token"];

/// Finds a stem. A large configuration has a million names, so that this is one pass over each.
static STEM: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(STEMS).ok()
});

/// Whether the words of a name need to be looked at.
fn may_be_secret(name: &str) -> bool {
    !name.is_ascii() || STEM.as_ref().is_none_or(|stem| stem.is_match(name))
}

/// Whether the words of a key name a secret.
pub(crate) fn is_secret_key(key: &str) -> bool {
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
}

/// What a key with such a word may hold besides a secret: `MAX_TOKENS=4096`, and the folder that a shell is in.
fn is_a_number_or_folder(key: &str, text: &str) -> bool {
    let words = words(key);
    match words.last().map(String::as_str) {
        Some("tokens") => text.len() < 10 && text.chars().all(|c| c.is_ascii_digit()),
        Some("pwd" | "oldpwd") => words.len() == 1 && text.starts_with('/'),
        _ => false,
    }
}

/// Whether a command line gives a password: `mysql -uroot -pPASSWORD`, `curl -u USER:PASSWORD`.
fn gives_a_password(text: &str) -> bool {
    if !text.contains(" -") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let program = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let is_database = ["mysql", "mariadb", "sqlcmd"].iter().any(|name| program.starts_with(name));
    let attached =
        |word: &&str| ["-p", "-P"].iter().any(|option| word.len() > 2 && word.starts_with(option));
    let mut users =
        words.windows(2).filter(|two| matches!(two[0], "-u" | "--user" | "-U" | "--proxy-user"));
    is_database && words.iter().any(attached) || users.any(|two| two[1].contains(':'))
}

/// An address of a web hook without what proves that the sender may use it: the path behind a host or a part
/// that has `hook` in its name.
fn without_hook(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| scheme.starts_with("http"))?;
    let is_hook = |part: &str| words(part).iter().any(|word| word.contains("hook"));
    let mut parts = rest.split('/');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    let mut found = is_hook(&shown);
    let mut hidden = false;
    for part in parts {
        hidden |= found;
        if hidden {
            break;
        }
        shown.push('/');
        shown.push_str(part);
        found = is_hook(part);
    }
    hidden.then(|| format!("{scheme}://{shown}/{HIDDEN}"))
}

fn names_a_place(key: &str) -> bool {
    words(key).last().is_some_and(|word| PLACES.contains(&word.as_str()))
}

/// The first characters of tokens, by their number.
const FIRST: [bool; 128] = {
    let mut first = [false; 128];
    let mut at = 0;
    while at < TOKENS.len() {
        first[TOKENS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    first
};

/// Whether a text holds a token of a known form.
fn has_token(text: &str) -> bool {
    let starts_here = |rest: &str| {
        TOKENS.iter().any(|(start, more)| {
            let rest = rest.strip_prefix(start).unwrap_or_default();
            rest.chars().take_while(|c| is_token_character(*c)).count() >= *more
        })
    };
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let may_start = !in_word && FIRST.get(c as usize).is_some_and(|first| *first);
        if may_start && starts_here(&text[at..]) {
            return true;
        }
        in_word = c.is_alphanumeric();
    }
    // PEM (RFC 7468) and JSON Web Tokens (RFC 7519): three parts, the first of which is `{"` in Base64.
    text.contains("-----BEGIN")
        || text.contains("eyJ") && text.split(|c| !is_token_character(c)).any(is_web_token)
}

fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() > 30 && word.matches('.').count() >= 2
}

fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '=' | '~')
}

/// What became of a text whose secret parts were hidden.
enum Parts {
    /// It has none.
    None,
    /// The text with its secret parts hidden.
    Hidden(String),
    /// It has some, and where they end cannot be decided.
    Unclear,
}

/// Hides user information in addresses and values of secret names in `name=value` lists.
fn without_secret_parts(text: &str) -> Parts {
    if !text.contains(['=', ':']) {
        return Parts::None;
    }
    let (hidden, in_address) = without_user_information(text);
    match without_secret_pairs(&hidden) {
        Some(Some(rest)) => Parts::Hidden(rest),
        Some(None) => Parts::Unclear,
        None if in_address => Parts::Hidden(hidden),
        None => Parts::None,
    }
}

/// `scheme://user:password@host` with the password hidden; the user alone too, where it may be a
/// token. A password with an unescaped `/` is hidden too: everything up to the last `@` of the word
/// belongs to it.
fn without_user_information(text: &str) -> (String, bool) {
    let mut shown = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find("://") {
        let (scheme, after) = rest.split_at(at + 3);
        shown.push_str(scheme);
        let end =
            after.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>'));
        let (word, next) = after.split_at(end.unwrap_or(after.len()));
        match word.rsplit_once('@') {
            Some((user, host)) => {
                match user.split_once(':') {
                    Some((user, _)) => shown.push_str(&format!("{user}:{HIDDEN}@{host}")),
                    None if scheme.contains("http") => shown.push_str(&format!("{HIDDEN}@{host}")),
                    None => shown.push_str(word),
                }
                found |= user.contains(':') || scheme.contains("http");
            }
            None => shown.push_str(word),
        }
        rest = next;
    }
    let (last, in_last) = without_bare_user_information(rest);
    shown.push_str(&last);
    (shown, found || in_last)
}

/// The same of an address without a scheme: `user:password@tcp(host:3306)/db`, as drivers of Go take it.
fn without_bare_user_information(text: &str) -> (String, bool) {
    let hidden = |word: &str| {
        let (user, host) = word.rsplit_once('@')?;
        let (name, _) = user.split_once(':').filter(|(name, password)| {
            !name.is_empty() && !password.is_empty() && !name.contains(['/', '=', '"', '{'])
        })?;
        Some(format!("{name}:{HIDDEN}@{host}"))
    };
    let mut found = false;
    let words = text.split_inclusive(char::is_whitespace).map(|word| match hidden(word) {
        Some(shown) => {
            found = true;
            Cow::Owned(shown)
        }
        None => Cow::Borrowed(word),
    });
    let shown: String = words.collect();
    (shown, found)
}

/// A list of `name=value` pairs with the values of secret names hidden. None: no pair is secret.
/// `Some(None)`: one is, and the text is no list whose separator is known.
fn without_secret_pairs(text: &str) -> Option<Option<String>> {
    let names = |part: &str| {
        let (name, value) = part.split_once(['=', ':'])?;
        // `//registry.example/:_authToken=x` of npm: the name is behind the address.
        let behind = value.split_once('=').filter(|_| name.starts_with("//"));
        let (name, value) = behind.unwrap_or((name, value));
        let name =
            name.rsplit(['?', ' ', ',', '{', '"', '\'']).find(|word| !word.trim().is_empty())?;
        Some((name.trim().to_owned(), value.to_owned()))
    };
    let secret = |part: &str| {
        names(part).is_some_and(|(name, value)| is_secret_key(&name) && !is_harmless(&value))
    };
    // Blanks beside `=` and `:` part nothing.
    let any = |text: &str| {
        let text = text.replace(" =", "=").replace("= ", "=").replace(": ", ":");
        text.split([';', '&', '?', ' ', ',', '\n']).any(secret)
    };
    if !may_be_secret(text) || !any(text) {
        return None;
    }
    let separator = if text.contains(';') {
        ';'
    } else if text.contains("://") && text.contains('?') {
        '&'
    } else {
        return Some(None);
    };
    let mut shown: Vec<String> = Vec::new();
    for (at, part) in pairs(text, separator).into_iter().enumerate() {
        // The first pair of an address follows its path.
        let (head, pair) = match part.split_once('?').filter(|_| separator == '&' && at == 0) {
            Some((head, pair)) => (format!("{head}?"), pair),
            None => (String::new(), part),
        };
        let Some((name, value)) = pair.split_once('=') else {
            shown.push(part.to_owned());
            continue;
        };
        let value = if is_secret_key(name) && !is_harmless(value) { HIDDEN } else { value };
        shown.push(format!("{head}{name}={value}"));
    }
    let shown = shown.join(&separator.to_string());
    // Pairs of another separator, as in a value within quotes, must not be left over.
    let rest = shown.replace(&format!("={HIDDEN}"), "=");
    Some((!any(&rest)).then_some(shown))
}

/// The parts of a list. A separator that no `name=` follows belongs to the value before it: passwords
/// may hold one within quotes.
fn pairs(text: &str, separator: char) -> Vec<&str> {
    let starts_a_pair = |rest: &str| {
        let name: String = rest.chars().take_while(|c| !matches!(c, '=' | ';' | '&')).collect();
        rest.trim().is_empty()
            || rest[name.len()..].starts_with('=')
                && !name.is_empty()
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.'))
    };
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(separator) {
        if starts_a_pair(&text[at + 1..]) {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The shortest word that may be a key: 20 characters are 120 bits in Base64.
const RANDOM_LENGTH: usize = 20;
/// Bits a character above which a word of that length is not language. English words and paths have
/// at most about 3.4; 20 random characters of 64 have about 4.1, and 32 hexadecimal digits about 3.6.
const RANDOM_BITS: f64 = 3.45;

/// Whether a text holds a word that looks like random data.
fn looks_random(text: &str) -> bool {
    let separators = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-'));
    text.split(separators).any(|word| {
        // Base64 of a key has a slash now and then; a word of several is a path.
        let is_path = word.starts_with('/') || word.matches('/').count() > 2;
        if is_path { word.split('/').any(is_random_word) } else { is_random_word(word) }
    })
}

fn is_random_word(word: &str) -> bool {
    if word.len() < RANDOM_LENGTH {
        return false;
    }
    let count = |which: fn(char) -> bool| word.chars().filter(|c| which(*c)).count();
    let digits = count(|c| c.is_ascii_digit());
    let mixed = count(|c| c.is_ascii_uppercase()) > 0 && count(|c| c.is_ascii_lowercase()) > 0;
    // `gcc-12-x86_64-linux-gnu-2024`: words of one case that separators join are a name.
    let is_name = !mixed && word.contains(['-', '_']);
    let fewest_digits = if mixed { 2 } else { 4 };
    digits >= fewest_digits
        && digits < word.len()
        && !is_name
        && !is_uuid(word)
        && bits_a_character(word) >= RANDOM_BITS
}

/// Identifiers of tenants, subscriptions and rows have this form (RFC 9562), and name no secret.
fn is_uuid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Shannon's entropy of the characters of a word.
fn bits_a_character(word: &str) -> f64 {
    let mut counts = [0_u32; 128];
    word.bytes().for_each(|byte| counts[usize::from(byte & 127)] += 1);
    let total = f64::from(counts.iter().sum::<u32>());
    let share = |count: &u32| f64::from(*count) / total;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_name_a_secret_hide_the_value() {
        for key in [
            "DB_PASSWORD",
            "dbPassword",
            "DBPASSWORD",
            "spring.datasource.password",
            "AWS_SECRET_ACCESS_KEY",
            "ApiKey",
            "Proxy-Authorization",
            "Cookie",
            "Jwt:SigningKey",
            "storageAccountKey",
            "PGPASS",
            "DBPASS",
            "ENC_KEY",
            "JWT_KEY",
            "HASHKEY",
            "ssh_key",
        ] {
            assert_eq!(classify(&[key], "hunter2"), (Class::KeyWord, None), "{key}");
        }
        for key in [
            "Logging:LogLevel:Default",
            "KEY",
            "monkey",
            "compass",
            "author",
            "bypass",
            "SECRETARY",
        ] {
            assert_eq!(classify(&[key], "x1").0, Class::Plain, "{key}");
        }
    }

    #[test]
    fn what_is_left_out_early_could_be_no_secret() {
        let all = WORDS.iter().chain(PARTS).chain(PAIRS.iter().map(|(_, word)| word));
        for word in all {
            assert!(STEMS.iter().any(|stem| word.contains(stem)), "{word}");
        }
        for (start, more) in TOKENS {
            assert!(start.len() + more >= SHORTEST_TOKEN, "{start}");
        }
    }

    #[test]
    fn settings_about_secrets_are_shown() {
        for (key, text) in [
            ("MAX_TOKENS", "4096"),
            ("PWD", "/home/u"),
            ("AUTH_PASSWORD_VALIDATORS[0].NAME", "django.contrib.auth.MinimumLengthValidator"),
            ("PASSWORD_HASHERS", "argon2"),
        ] {
            assert_eq!(classify(&[key], text).0, Class::Plain, "{key}");
        }
        assert_eq!(classify(&["API_TOKENS"], "hunter2").0, Class::KeyWord);
        assert_eq!(classify(&["DB_PWD"], "/x").0, Class::KeyWord);
    }

    #[test]
    fn passwords_in_command_lines_hooks_and_bare_addresses_are_hidden() {
        for text in [
            "mysql -uroot -phunter2 shop",
            "/usr/bin/curl -u app:hunter2 localhost",
            "//registry.npmjs.org/:_authToken=hunter2",
        ] {
            assert_eq!(classify(&["x"], text), (Class::Token, None), "{text}");
        }
        for (text, shown) in [
            ("https://hooks.slack.com/services/T0/B0/hunter2", "https://hooks.slack.com/•••"),
            ("https://discord.com/api/webhooks/1/hunter2", "https://discord.com/api/webhooks/•••"),
            ("u:hunter2@tcp(h:3306)/db", "u:•••@tcp(h:3306)/db"),
        ] {
            assert_eq!(classify(&["x"], text), (Class::Partial, Some(Cow::from(shown))), "{text}");
        }
        for text in ["ssh -p22 host", "docker run -p 80:80 x", "a: b@c", "git@host:x", "ls -l"] {
            assert_eq!(classify(&["x"], text).0, Class::Plain, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_secret_is_shown() {
        assert_eq!(classify(&["PASSWORD"], "").0, Class::Plain);
        assert_eq!(classify(&["RequirePassword"], "true").0, Class::Plain);
        assert_eq!(classify(&["DB_PASSWORD_FILE"], "/run/secrets/db").0, Class::Plain);
        assert_eq!(classify(&["DB_PASSWORD_FILE"], "hunter2").0, Class::KeyWord);
    }

    #[test]
    fn connection_strings_keep_server_and_database() {
        let cases = [
            (
                "Server=db;Database=shop;User Id=sa;Password=p;Timeout=3",
                "Server=db;Database=shop;User Id=sa;Password=•••;Timeout=3",
            ),
            ("Server=db;Password=\"a;b\"", "Server=db;Password=•••"),
            ("postgres://app:p/w@db:5432/shop", "postgres://app:•••@db:5432/shop"),
            ("redis://:p@cache", "redis://:•••@cache"),
            ("https://abc@git.example/x", "https://•••@git.example/x"),
            (
                "jdbc:postgresql://db/x?user=a&password=p&ssl=1",
                "jdbc:postgresql://db/x?user=a&password=•••&ssl=1",
            ),
            ("amqp://a:b@h1,amqp://c:d@h2", "amqp://a:•••@h2"),
        ];
        for (text, shown) in cases {
            assert_eq!(
                classify(&["url"], text),
                (Class::Partial, Some(Cow::from(shown))),
                "{text}"
            );
        }
        assert_eq!(classify(&["url"], "ssh://git@host/x").0, Class::Plain);
        assert_eq!(classify(&["url"], "http://host:80/path?x=1").0, Class::Plain);
    }

    #[test]
    fn where_a_secret_part_ends_is_not_guessed() {
        for text in [
            "-Xmx1g -Dspring.datasource.password=hunter2 -ea",
            "host=db password=hunter2",
            "{\"password\": \"hunter2\"}",
            "a=1;b='x password=hunter2'",
        ] {
            assert_eq!(classify(&["options"], text), (Class::Token, None), "{text}");
        }
    }

    #[test]
    fn tokens_of_known_form_are_hidden() {
        for text in [
            "ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "Bearer abcdefghijkl",
            "use AKIAIOSFODNN7EXAMPLE now",
            "-----BEGIN RSA PRIVATE KEY-----",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ] {
            assert_eq!(classify(&["x"], text), (Class::Token, None), "{text}");
        }
        assert_eq!(classify(&["x"], "sk-short").0, Class::Plain);
    }

    #[test]
    fn random_words_are_hidden_and_names_are_shown() {
        for text in ["dGhpcyBpcyBhIDMyIGJ5dGUga2V5IDEyMzQ1Njc4", "9f86d081884c7d659a2feaa0c55ad015"]
        {
            assert_eq!(classify(&["x"], text), (Class::Entropy, None), "{text}");
        }
        for text in [
            "0b0f1c0e-5a1d-4e0c-9d3e-1f2a3b4c5d6e",
            "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
            "com.example.service.CustomerRepositoryImplementation",
            "gcc-12-x86_64-linux-gnu-2024",
            "Microsoft.AspNetCore.Hosting.Diagnostics",
            "https://learn.example.org/aspnet/core/fundamentals/configuration",
            "12345678901234567890",
        ] {
            assert_eq!(classify(&["x"], text).0, Class::Plain, "{text}");
        }
    }

    #[test]
    fn a_secret_that_is_pasted_as_a_name_is_hidden() {
        assert_eq!(name("ConnectionStrings:Main"), "ConnectionStrings:Main");
        assert!(name("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7").contains(HIDDEN));
        assert!(name("-----BEGIN PRIVATE KEY-----").contains(HIDDEN));
    }
}
