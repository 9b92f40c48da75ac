//! Secret parts of a text: passwords in addresses, connection strings, command lines and web hooks.

use std::borrow::Cow;

use super::is_harmless;
use super::key::{is_secret_key, may_be_secret, words};
use crate::value::HIDDEN;

/// Whether a command line gives a password: `mysql -uroot -pPASSWORD`, `curl -u USER:PASSWORD`.
pub(super) fn gives_a_password(text: &str) -> bool {
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

/// Whether an element of XML has the name of a secret and a text: `<password>x</password>`.
pub(super) fn has_secret_element(text: &str) -> bool {
    let is_secret = |part: &str| {
        let (tag, inner) = part.split_once('>').unwrap_or_default();
        let name = tag.split_whitespace().next().unwrap_or_default();
        !name.starts_with(['/', '?', '!']) && is_secret_key(name) && !is_harmless(inner)
    };
    text.contains("</") && text.split('<').skip(1).any(is_secret)
}

/// An address of a web hook without what proves that the sender may use it: the path behind a host or a part
/// that has `hook` in its name.
pub(super) fn without_hook(text: &str) -> Option<String> {
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

/// What became of a text whose secret parts were hidden.
pub(super) enum Parts {
    /// It has none.
    None,
    /// The text with its secret parts hidden.
    Hidden(String),
    /// It has some, and where they end cannot be decided.
    Unclear,
}

/// Hides user information in addresses and values of secret names in `name=value` lists.
pub(super) fn without_secret_parts(text: &str) -> Parts {
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

/// A name without the user information of the addresses in it; none if it has none.
pub(super) fn without_user(name: &str) -> Option<String> {
    let found = name.contains("://").then(|| without_user_information(name));
    found.filter(|(_, hides)| *hides).map(|(shown, _)| shown)
}

/// What stands for the password where the user is a token.
const NO_PASSWORDS: &[&str] = &["", "x-oauth-basic"];

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
                    // The name of a variable is no password.
                    Some((_, password)) if is_placeholder(password) => shown.push_str(word),
                    Some((_, none)) if scheme.contains("http") && NO_PASSWORDS.contains(&none) => {
                        shown.push_str(&format!("{HIDDEN}@{host}"));
                    }
                    Some((user, _)) => shown.push_str(&format!("{user}:{HIDDEN}@{host}")),
                    None if scheme.contains("http") => shown.push_str(&format!("{HIDDEN}@{host}")),
                    None => shown.push_str(word),
                }
                let password = user.split_once(':').map(|(_, password)| password);
                found |=
                    password.map_or(scheme.contains("http"), |password| !is_placeholder(password));
            }
            None => match start_of_password(word) {
                Some(at) => {
                    shown.push_str(&format!("{}{HIDDEN}", &word[..at]));
                    found = true;
                }
                None => shown.push_str(word),
            },
        }
        rest = next;
    }
    let (last, in_last) = without_bare_user_information(rest);
    shown.push_str(&last);
    (shown, found || in_last)
}

/// Where the password starts in an address that lost its host: what follows `user:` and is no port. A reader that
/// takes a `#` for a comment leaves such halves.
fn start_of_password(word: &str) -> Option<usize> {
    let authority = word.split(['/', '?', '#', ';']).next().unwrap_or_default();
    // Several hosts: `h1:27017,h2:27017`.
    let mut start = 0;
    for host in authority.split(',') {
        // The colons of `[::1]` part no port.
        let from = host.rfind(']').unwrap_or(0);
        if let Some(at) = host[from..].find(':') {
            let port = &host[from + at + 1..];
            let is_name = port.starts_with(['$', '{', '%', '<', '*']) && !port.contains(":-");
            if !is_name && !port.is_empty() && port.parse::<u16>().is_err() {
                return Some(start + from + at + 1);
            }
        }
        start += host.len() + 1;
    }
    None
}

/// Whether a text is the name of a variable alone: `${NAME}`, `$(NAME)`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let within = |open: &str, close: &str| text.strip_prefix(open)?.strip_suffix(close);
    let name = within("${", "}").or_else(|| within("$(", ")")).unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

/// The same of an address without a scheme: `user:password@tcp(host:3306)/db`, as drivers of Go take it.
fn without_bare_user_information(text: &str) -> (String, bool) {
    let hidden = |word: &str| {
        let (user, host) = word.rsplit_once('@')?;
        let (name, _) = user.split_once(':').filter(|(name, password)| {
            !name.is_empty()
                && !password.is_empty()
                && !is_placeholder(password)
                && !name.contains(['/', '=', '"', '{'])
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
