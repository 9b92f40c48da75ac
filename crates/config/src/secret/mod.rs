//! Which values are secret: by the words of the key, by the form of the text, by its randomness.
//!
//! A wrong guess towards secret hides a harmless value; a wrong guess the other way prints a
//! password. So every doubt counts as secret, except where the text cannot hold one (empty, a truth
//! value, the path of a file that holds the secret).
//!
//! ```text
//! key        words of a key
//! token      tokens of a known form
//! parts      secret parts of addresses, lists and command lines
//! random     long random texts
//! ```

mod key;
mod parts;
mod random;
mod token;

use std::borrow::Cow;

use culprit_model::Text;

use self::key::{is_a_number_or_folder, is_secret_key, may_be_secret, names_a_place};
use self::parts::{
    Parts, gives_a_password, has_secret_element, is_placeholder, without_hook,
    without_secret_parts, without_user,
};
use self::random::looks_random;
use self::token::has_token;
use crate::value::{Class, HIDDEN};

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
    if has_token(text) || gives_a_password(text) || has_secret_element(text) {
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
    let hidden = is_secret.then(|| format!("{HIDDEN} ({} bytes)", name.len()));
    // An address may be a part of a name: `url.https://USER:PASSWORD@host/.insteadOf` of git.
    hidden.or_else(|| without_user(name))
}

/// Whether a text cannot be a secret.
pub(crate) fn is_harmless(text: &str) -> bool {
    const WORDS: [&str; 9] = ["", "true", "false", "yes", "no", "on", "off", "null", "none"];
    let text = text.trim();
    // The name of a variable says where a secret is, and holds none.
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) || is_placeholder(text)
}

#[cfg(test)]
mod tests {
    use super::key::{PAIRS, PARTS, STEMS, WORDS};
    use super::token::TOKENS;
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
            "EMAIL_HOST_PASWORD",
            "DB_PASSWRD",
            "Smtp:Psasword",
            "AWS_CREDENTAILS",
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
            "keyword",
            "crossword",
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
            ("https://abc:x-oauth-basic@git.example/x", "https://•••@git.example/x"),
            ("https://abc:@git.example/x", "https://•••@git.example/x"),
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
    fn a_password_is_hidden_also_where_its_address_lost_the_host() {
        for (text, shown) in [
            ("postgres://shop:hunter2", "postgres://shop:•••"),
            ("postgres://shop:p/w2 x", "postgres://shop:••• x"),
            ("redis://:hunter2", "redis://:•••"),
            ("amqp://a:b;c", "amqp://a:•••"),
            ("mongodb://h1:27017,u:hunter2", "mongodb://h1:27017,u:•••"),
            ("postgres://u:99999999", "postgres://u:•••"),
            ("postgres://u:${PW:-hunter2}", "postgres://u:•••"),
        ] {
            let expected = (Class::Partial, Some(Cow::from(shown)));
            assert_eq!(classify(&["url"], text), expected, "{text}");
        }
        for text in [
            "mongodb://h1:27017,h2:27017/x",
            "http://[::1]:5000",
            "http://*:5000;https://+:5001",
            "http://localhost:${PORT}/x",
            "file://C:/x",
            "jdbc:sqlserver://db:1433;databaseName=x",
            "http://host:/x",
        ] {
            assert_eq!(classify(&["url"], text).0, Class::Plain, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_variable_is_no_secret() {
        for text in ["postgres://u:${DB_PASSWORD}@db/x", "u:$(PW)@tcp(h)/x"] {
            assert_eq!(classify(&["url"], text).0, Class::Plain, "{text}");
        }
        assert_eq!(classify(&["PASSWORD"], "${DB_PASSWORD}").0, Class::Plain);
        assert_eq!(classify(&["PASSWORD"], "${PW:-hunter2}").0, Class::KeyWord);
        assert_eq!(classify(&["PASSWORD"], "x${PW}").0, Class::KeyWord);
    }

    #[test]
    fn where_a_secret_part_ends_is_not_guessed() {
        for text in [
            "-Xmx1g -Dspring.datasource.password=hunter2 -ea",
            "host=db password=hunter2",
            "{\"password\": \"hunter2\"}",
            "a=1;b='x password=hunter2'",
            "<user>a</user><password>hunter2</password>",
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
        assert_eq!(
            name("url.https://u:hunter2@git.example/.insteadof"),
            "url.https://u:•••@git.example/.insteadof"
        );
        assert_eq!(
            name("url.https://git.example/.insteadof"),
            "url.https://git.example/.insteadof"
        );
    }
}
