//! Values that lose a part, keep their quotes, or choose no file because of the case.

use culprit_config::Configuration;

use crate::support::{findings, inspected};

const NODE: (&str, &str) = ("package.json", "{\"dependencies\": {\"dotenv\": \"18\"}}");

/// A profile, files, a variable, and its value: the given one and the right one.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
    &'static str,
);

fn fixes(configuration: &Configuration) -> String {
    configuration.findings.iter().flat_map(|one| one.fix.clone()).collect()
}

#[test]
fn a_value_that_a_comment_cuts_is_found() {
    let text = "HASH=abc#def\nNOTE=abc # note\nQUOTED='a#b'\nEMPTY=#x\nC=\"x\"#y\n";
    let found = inspected("dotenv", &[NODE, (".env", text)], &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value HASH"]);
    assert!(fixes(&found).contains("`HASH=\"...\"`"), "{:?}", found.findings);
}

#[test]
fn a_value_that_loses_what_stands_behind_a_dollar_is_found() {
    let compose = "services:\n  web:\n    env_file: [web.env]\n    environment:\n      - A=${PW}\n";
    let env = "PW=pg$ecretXX\nPATHS=/opt/$NONE\nOK=a$PW\nTWO=a$$b\nS='a$b'\n";
    let files = [("compose.yaml", compose), (".env", env), ("web.env", "DOLL=a$b\n")];
    let found = inspected("compose", &files, &[]);
    let odd: Vec<String> = findings(&found);
    let odd: Vec<&String> = odd.iter().filter(|one| one.contains("bad-env")).collect();
    assert_eq!(odd, ["config-bad-env-file-value DOLL", "config-bad-env-file-value PW"]);
    assert!(fixes(&found).contains("`PW='...'`"), "{:?}", found.findings);
}

#[test]
fn quotes_and_blanks_that_stay_are_found() {
    let list =
        "services:\n  web:\n    environment:\n      - MODE='prod'\n      - B=b\n      - \"C=c\"\n";
    let found = inspected("compose", &[("compose.yaml", list)], &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value MODE"]);
    let properties = "a=\"x\"\nb=y \nc=it's\n";
    let found = inspected("spring", &[("application.properties", properties)], &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value a", "config-bad-env-file-value b"]);
}

#[test]
fn a_file_that_the_case_alone_leaves_out_is_found() {
    let cases: &[Case] = &[
        (
            "node-config",
            &[("config/default.json", "{\"a\": 1}"), ("config/Production.json", "{\"a\": 2}")],
            "NODE_ENV",
            "production",
            "Production",
        ),
        (
            "dotnet",
            &[("appsettings.json", "{\"a\": 1}"), ("appsettings.Development.json", "{\"a\": 2}")],
            "ASPNETCORE_ENVIRONMENT",
            "development",
            "Development",
        ),
        (
            "spring",
            &[("application.yml", "a: 1\n"), ("application-prod.yml", "a: 2\n")],
            "SPRING_PROFILES_ACTIVE",
            "Prod",
            "prod",
        ),
    ];
    for (profile, files, variable, given, right) in cases {
        let found = inspected(profile, files, &[(variable, given)]);
        assert_eq!(findings(&found), [format!("config-case-mismatch {variable}")], "{profile}");
        assert!(fixes(&found).contains(&format!("`{variable}={right}`")), "{:?}", found.findings);
        let own = found.findings_of(&found.effective[0]);
        assert_eq!(own.len(), 1, "{profile}: `explain` shows it");
        assert_eq!(
            findings(&inspected(profile, files, &[(variable, right)])),
            [""; 0],
            "{profile}"
        );
    }
}
