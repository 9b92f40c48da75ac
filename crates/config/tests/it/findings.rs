//! Each rule on a project that has its problem, and on one that has not.

use std::path::Path;

use culprit_config::{RULES, stock_profiles};
use culprit_model::Severity;

use crate::support::{findings, inspected};

#[test]
fn a_name_that_is_almost_a_known_one_is_found() {
    let settings =
        ("appsettings.json", "{ \"ConnectionStrings\": { \"Main\": \"a\" }, \"Server1\": 1 }");
    for name in ["ConnectionString__Main", "ConnectionStrings__Mian", "ConnectionStrings_Main"] {
        let configuration = inspected("dotnet", &[settings], &[(name, "b")]);
        assert_eq!(findings(&configuration).len(), 1, "{name}: {:?}", findings(&configuration));
        assert!(findings(&configuration)[0].starts_with("config-near-miss-name "), "{name}");
    }
    for name in ["ConnectionStrings__Other", "Server2__X", "ConnectionStrings__Main"] {
        let configuration = inspected("dotnet", &[settings], &[(name, "a")]);
        assert_eq!(findings(&configuration), [""; 0], "{name}");
    }
}

#[test]
fn a_key_that_one_file_sets_twice_is_found() {
    let twice =
        [("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}"), (".env", "A=1\nA=2\n")];
    assert_eq!(findings(&inspected("dotenv", &twice, &[])), ["config-duplicate-key A"]);
    let once = [("application.yml", "a: 1\n---\nspring.config.activate.on-profile: x\na: 2\n")];
    assert_eq!(findings(&inspected("spring", &once, &[])), [""; 0]);
}

#[test]
fn a_variable_that_beats_a_file_is_found_if_the_values_differ() {
    let files = [("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}"), (".env", "A=1\n")];
    assert_eq!(findings(&inspected("dotenv", &files, &[("A", "2")])), ["config-shadowed A"]);
    assert_eq!(findings(&inspected("dotenv", &files, &[("A", "1")])), [""; 0]);
}

#[test]
fn a_variable_that_two_env_files_of_a_service_set_is_found_if_the_later_one_wins() {
    let compose =
        |rest: &str| format!("services:\n  web:\n    env_file: [web.env, common.env]\n{rest}");
    let with = |rest: &str, common: &str| {
        let compose = compose(rest);
        let files =
            [("compose.yaml", compose.as_str()), ("web.env", "A=1\nB=1\n"), ("common.env", common)];
        inspected("compose", &files, &[])
    };
    let found = with("", "# all\nA=2\nB=2\nC=2\n");
    assert_eq!(findings(&found), ["config-env-file-order web.A"]);
    let one = &found.findings[0];
    assert_eq!(one.evidence, ["web.env:1", "common.env:2", "web.env:2", "common.env:3"]);
    assert!(
        one.title.contains("`common.env` beats `web.env`, which has other values of `A`, `B`.")
    );
    assert_eq!(one.severity, Severity::Info, "an own file may follow another own file");
    let shared = with("  job:\n    env_file: common.env\n", "A=2\n");
    assert_eq!(shared.findings[0].severity, Severity::Medium);
    assert!(shared.findings[0].why.contains("shared by more services"), "{:?}", shared.findings);
    assert_eq!(findings(&with("", "A=1\nC=2\n")), [""; 0], "equal values");
    assert_eq!(findings(&with("    environment: {A: 3}\n", "A=2\n")), [""; 0], "a stronger value");
}

#[test]
fn names_that_differ_in_case_are_found_where_case_matters() {
    let files = [
        ("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}"),
        (".env", "Api_Url=1\nAPI_URL=2\n"),
    ];
    assert_eq!(findings(&inspected("dotenv", &files, &[])), ["config-case-mismatch Api_Url"]);
    let settings = [
        ("appsettings.json", "{\"A\": {\"b\": 1}}"),
        ("appsettings.Production.json", "{\"a\": {\"B\": 2}}"),
    ];
    assert_eq!(findings(&inspected("dotnet", &settings, &[])), [""; 0]);
}

#[test]
fn odd_lines_of_variables_are_found() {
    let raw = "services:\n  web:\n    env_file:\n      - path: web.env\n        format: raw\n";
    let files = [("compose.yaml", raw), ("web.env", "\u{feff}A=\"1\"\nB=x \nC=fine\n")];
    let configuration = inspected("compose", &files, &[]);
    assert_eq!(
        findings(&configuration),
        [
            "config-bad-env-file-value ",
            "config-bad-env-file-value A",
            "config-bad-env-file-value B"
        ]
    );
}

#[test]
fn the_page_lists_every_rule_and_every_profile() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (id, says) in RULES {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{id}` |")));
        assert!(row.is_some_and(|row| row.ends_with(&format!("| {says} |"))), "{id}: {row:?}");
    }
    for profile in stock_profiles().unwrap() {
        assert!(page.contains(&format!("\n| `{}` |", profile.name)), "{}", profile.name);
    }
}
