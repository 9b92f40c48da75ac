//! No plaintext of a secret is in anything that a caller can print.

use culprit_config::Class;

use crate::support::{inspected, profile, redactor, request, write};

/// A secret that no heuristic of its text would find: only the key says what it is.
const SECRET: &str = "correct-horse";

fn shows_nothing(what: &str, name: &str, files: &[(&str, &str)], environment: &[(&str, &str)]) {
    let configuration = inspected(name, files, environment);
    let all = format!("{configuration:?}");
    assert!(!all.contains(SECRET), "{what}: {all}");
    assert!(
        configuration.assignments.iter().any(|one| one.value.class != Class::Plain),
        "{what}: {all}"
    );
}

#[test]
fn secrets_of_files_variables_and_templates_are_hidden() {
    let json = format!("{{ \"Db\": {{ \"Password\": \"{SECRET}\" }}, \"Copy\": \"{SECRET}\" }}");
    shows_nothing("json", "dotnet", &[("appsettings.json", &json)], &[("Db__Password", SECRET)]);
    let url = format!(
        "{{ \"Url\": \"postgres://app:{SECRET}@db/x\", \"Main\": \"Server=a;Pwd={SECRET}\" }}"
    );
    shows_nothing("connection strings", "dotnet", &[("appsettings.json", &url)], &[]);
    let yaml = format!("spring:\n  datasource:\n    password: {SECRET}\n");
    shows_nothing(
        "yaml",
        "spring",
        &[("application.yml", &yaml)],
        &[("SPRING_DATASOURCE_PASSWORD", SECRET)],
    );
    let compose = "services:\n  web:\n    environment:\n      URL: x-${DB_PASSWORD}-y\n      COPY: ${DB_PASSWORD}\n      INNER: ${A:-${DB_PASSWORD}}\n      TWICE: ${MADE}\n";
    let dotenv = format!("DB_PASSWORD={SECRET}\nMADE=a${{DB_PASSWORD}}\n");
    shows_nothing("template", "compose", &[("compose.yaml", compose), (".env", &dotenv)], &[]);
    shows_nothing("shell", "compose", &[("compose.yaml", compose)], &[("DB_PASSWORD", SECRET)]);
    let env_file = "services:\n  web:\n    env_file: web.env\n";
    let web = format!("export DB_PASSWORD='{SECRET}'\nMADE=\"x${{DB_PASSWORD}}\"\n");
    shows_nothing("env_file", "compose", &[("compose.yaml", env_file), ("web.env", &web)], &[]);
}

#[test]
fn a_file_that_cannot_be_read_quotes_nothing() {
    for (name, text) in [
        ("appsettings.json", format!("{{ \"Password\": \"{SECRET}\" {SECRET} }}")),
        ("appsettings.Production.json", format!("{{ \"a\": {SECRET}")),
    ] {
        let configuration = inspected("dotnet", &[(name, &text)], &[]);
        assert!(configuration.has_gaps());
        assert!(!format!("{configuration:?}").contains(SECRET));
    }
    for text in [
        format!("a: [{SECRET}\nb: 1"),
        format!("a: *{SECRET}"),
        format!("'{SECRET}\n"),
        format!("a: !<{SECRET} b"),
    ] {
        let configuration = inspected("spring", &[("application.yml", &text)], &[]);
        assert!(
            !format!("{:?}", configuration.sources).contains(SECRET),
            "{:?}",
            configuration.sources
        );
    }
    let toml = format!("a = \"x\"\na = {SECRET}\n\"{SECRET}\" = 1\n");
    let configuration = inspected("generic", &[("config.toml", &toml)], &[]);
    assert!(
        !format!("{:?}", configuration.sources).contains(SECRET),
        "{:?}",
        configuration.sources
    );
}

#[test]
fn a_private_key_that_lost_its_quotes_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let text = format!("KEY=-----BEGIN PRIVATE KEY-----\n{body}=\n-----END PRIVATE KEY-----\n");
    write(folder.path(), ".env", text.as_bytes());
    write(folder.path(), "package.json", b"{}");
    let configuration =
        culprit_config::inspect(&profile("dotenv"), &request(folder.path(), &[]), redactor());
    assert!(!format!("{configuration:?}").contains(&body[..20]), "{configuration:?}");
}

#[test]
fn a_file_of_a_folder_of_secrets_is_hidden_whatever_its_name() {
    let class = "from pydantic_settings import BaseSettings, SettingsConfigDict\n\nclass Settings(BaseSettings):\n    model_config = SettingsConfigDict(secrets_dir='secrets')\n    host: str = ''\n    copy_of: str = ''\n";
    let files = [("settings.py", class), ("secrets/host", SECRET)];
    let configuration = inspected("pydantic", &files, &[("COPY_OF", SECRET)]);
    let class = |key: &str| {
        let row = configuration.effective.iter().find(|one| one.key.ends_with(key)).unwrap();
        configuration.assignments[row.winner.unwrap()].value.class
    };
    assert_eq!((class("host"), class("copy_of")), (Class::Source, Class::Derived));
    assert!(!format!("{configuration:?}").contains(SECRET));
}

/// A reader that takes a `#` for a comment leaves the start of a secret, which is as secret as the whole.
#[test]
fn what_a_comment_cuts_off_a_secret_is_hidden() {
    for text in [
        "URL=postgres://shop:correct-horse#2024@db:5432/shop",
        "DSN=shop:correct-horse#2024@tcp(db:3306)/shop",
        "OPTIONS=Server=db;Password=correct-horse#2024;Timeout=3",
        "COPY=correct-horse\nURL=postgres://shop:correct-horse#2024@db:5432/shop",
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), ".env", format!("{text}\n").as_bytes());
        write(folder.path(), "package.json", b"{}");
        write(folder.path(), "a.js", b"require('dotenv').config()\n");
        let configuration =
            culprit_config::inspect(&profile("dotenv"), &request(folder.path(), &[]), redactor());
        assert!(!configuration.assignments.is_empty(), "{text}");
        assert!(!format!("{configuration:?}").contains(SECRET), "{text}: {configuration:?}");
    }
}
