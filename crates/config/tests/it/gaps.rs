//! Sources that were not read: which keys they make unknown, and what does not start without them.

use culprit_config::{Certainty, Configuration};
use culprit_model::Severity;

use crate::support::{chain, findings, inspected};

const COMPOSE: &str = "\
services:
  web:
    env_file: [web.env, gone.env]
    environment: {LEVEL: info}
  job:
    env_file: job.env
";

/// The certainty of a key, and the source that may set it otherwise.
fn certainty<'a>(of: &'a Configuration, key: &str) -> (Certainty, Option<&'a str>) {
    let one = of.effective.iter().find(|one| one.key == key).unwrap();
    (one.certainty, one.gap.map(|at| of.sources[at].name.as_str()))
}

#[test]
fn a_broken_file_of_a_profile_is_stronger_than_the_main_file() {
    let files = [
        ("src/main/resources/application.yml", "server:\n  port: 8080\n"),
        ("src/main/resources/application-prod.yml", "server:\n  port: 9090\n broken: [\n"),
    ];
    let active = [("SPRING_PROFILES_ACTIVE", "prod"), ("LOGGING_LEVEL_ROOT", "info")];
    let found = inspected("spring", &files, &active);
    let broken = "src/main/resources/application-prod.yml";
    assert_eq!(certainty(&found, "server.port"), (Certainty::Unknown, Some(broken)));
    assert_eq!(certainty(&found, "logging.level.root"), (Certainty::Exact, None));
    assert_eq!(findings(&found), ["config-start-fails "]);
    let one = &found.findings[0];
    assert_eq!(one.severity, Severity::High);
    assert_eq!(one.title, format!("Spring Boot does not start: `{broken}` is malformed."));
    assert!(one.evidence[0].starts_with(&format!("{broken}:3:")), "{:?}", one.evidence);
    assert!(one.why.contains("line 3, column"), "{}", one.why);
    let key = found.find("server.port")[0];
    assert_eq!(found.findings_of(key), [one], "the finding concerns what the file may set");
    let inactive = inspected("spring", &files, &[]);
    assert_eq!(certainty(&inactive, "server.port"), (Certainty::Exact, None));
    assert_eq!(findings(&inactive), [""; 0]);
}

#[test]
fn an_import_that_is_not_read_is_stronger_than_what_imports_it() {
    let text = "spring.config.import=optional:configserver:http://localhost:8888\na=1\n";
    let found = inspected("spring", &[("application.properties", text)], &[]);
    let import = "optional:configserver:http://localhost:8888";
    assert_eq!(certainty(&found, "a"), (Certainty::Unknown, Some(import)));
}

#[test]
fn a_broken_file_of_dotnet_is_named_with_line_and_column() {
    let files = [
        ("appsettings.json", "{\"A\": {\"B\": 1}}"),
        ("appsettings.Production.json", "{\n  \"A\": {\"B\": 2},,\n}"),
    ];
    let found = inspected("dotnet", &files, &[]);
    let broken = "appsettings.Production.json";
    assert_eq!(certainty(&found, "A:B"), (Certainty::Unknown, Some(broken)));
    assert_eq!(findings(&found), ["config-start-fails "]);
    assert_eq!(found.findings[0].evidence, ["appsettings.Production.json:2:17"]);
}

#[test]
fn a_missing_env_file_concerns_its_own_service_alone() {
    let files = [("compose.yaml", COMPOSE), ("web.env", "A=1\n"), ("job.env", "A=2\n")];
    let found = inspected("compose", &files, &[]);
    assert_eq!(certainty(&found, "web.A"), (Certainty::Unknown, Some("gone.env")));
    assert_eq!(certainty(&found, "web.LEVEL"), (Certainty::Exact, None));
    assert_eq!(certainty(&found, "job.A"), (Certainty::Exact, None));
    assert_eq!(findings(&found), ["config-start-fails "]);
    assert!(found.findings[0].title.contains("`gone.env` does not exist"), "{:?}", found.findings);
}

#[test]
fn a_finding_concerns_its_own_key_and_no_neighbour() {
    let line = "{\"Db\": {\"Host\": \"h \", \"Name\": \"n\"}}";
    let found = inspected("dotnet", &[("appsettings.json", line)], &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value Host"]);
    let of = |key: &str| found.findings_of(found.find(key)[0]).len();
    assert_eq!((of("Db:Host"), of("Db:Name")), (1, 0));
}

#[test]
fn names_of_one_service_concern_no_other() {
    let compose = "services:\n  web:\n    env_file: [{path: web.env, format: raw}]\n  job:\n    environment: {A: 1}\n";
    let files = [("compose.yaml", compose), ("web.env", "A=\"1\"\n")];
    let found = inspected("compose", &files, &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value A"]);
    let of = |key: &str| {
        let key = found.effective.iter().find(|one| one.key == key).unwrap();
        found.findings_of(key).len()
    };
    assert_eq!((of("web.A"), of("job.A")), (1, 0));
}

#[test]
fn the_fix_of_a_quoted_item_is_one_of_yaml() {
    let compose = "services:\n  web:\n    environment:\n    - LEVEL='info'\n";
    let found = inspected("compose", &[("compose.yaml", compose)], &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value LEVEL"]);
    let one = &found.findings[0];
    assert_eq!(one.fix, ["Put the quotes around the whole item: `- \"LEVEL=...\"`."]);
    assert!(one.why.starts_with("YAML"), "{}", one.why);
    assert_eq!(chain(&found, "web.LEVEL"), ["compose.yaml:4 won"]);
}
