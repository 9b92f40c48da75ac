//! Precedence in compose projects.

use crate::support::{chain, effective, findings, inspected};

/// A service with an `environment` and an `env_file` line for NODE_ENV, as the documentation's table has
/// it: https://docs.docker.com/compose/how-tos/environment-variables/envvars-precedence/.
fn node_env(
    environment: Option<&str>,
    env_file: Option<&str>,
    shell: bool,
    dotenv: bool,
) -> Option<String> {
    let mut compose = "services:\n  web:\n    image: x\n".to_owned();
    if let Some(line) = environment {
        compose.push_str(&format!("    environment:\n      - {line}\n"));
    }
    let mut files = Vec::new();
    if let Some(line) = env_file {
        compose.push_str("    env_file: web.env\n");
        files.push(("web.env", format!("{line}\n")));
    }
    if dotenv {
        files.push((".env", "NODE_ENV=1.3\n".to_owned()));
    }
    files.push(("compose.yaml", compose));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let shell: &[(&str, &str)] = if shell { &[("NODE_ENV", "1.4")] } else { &[] };
    let configuration = inspected("compose", &files, shell);
    effective(&configuration).into_iter().find_map(|row| {
        row.strip_prefix("web.NODE_ENV=")?.split_once(" <").map(|(value, _)| value.to_owned())
    })
}

#[test]
fn the_table_of_the_documentation_holds() {
    let value = |text: &str| Some(text.to_owned());
    assert_eq!(node_env(None, None, true, true), None);
    assert_eq!(node_env(None, Some("NODE_ENV=1.6"), true, false), value("1.6"));
    assert_eq!(node_env(Some("NODE_ENV=1.7"), None, true, false), value("1.7"));
    assert_eq!(node_env(Some("NODE_ENV=1.7"), Some("NODE_ENV=1.6"), true, true), value("1.7"));
    assert_eq!(node_env(None, Some("NODE_ENV"), true, true), value("1.4"));
    assert_eq!(node_env(None, Some("NODE_ENV"), false, true), value("1.3"));
    assert_eq!(node_env(Some("NODE_ENV"), None, true, true), value("1.4"));
    assert_eq!(node_env(Some("NODE_ENV"), Some("NODE_ENV=1.6"), true, true), value("1.4"));
}

#[test]
fn anchors_merges_and_overrides_are_followed() {
    let compose = "x-common: &common\n  LEVEL: info\n  NAME: base\nservices:\n  web:\n    environment:\n      <<: *common\n      NAME: web\n  job:\n    environment: *common\n";
    let files = [
        ("compose.yaml", compose),
        (
            "compose.override.yaml",
            "services:\n  job:\n    environment: [\"LEVEL=${LEVEL:-debug}\"]\n",
        ),
        ("docker-compose.yml", "services: {}\n"),
    ];
    let configuration = inspected("compose", &files, &[]);
    assert_eq!(
        effective(&configuration),
        [
            "job.LEVEL=debug < compose.override.yaml:3",
            "job.NAME=base < compose.yaml:3",
            "web.LEVEL=info < compose.yaml:2",
            "web.NAME=web < compose.yaml:8"
        ]
    );
    assert_eq!(
        chain(&configuration, "job.LEVEL"),
        ["compose.yaml:2 shadowed", "compose.override.yaml:3 won"]
    );
    let unread =
        configuration.sources.iter().find(|source| source.name == "docker-compose.yml").unwrap();
    assert_eq!(unread.why, "Compose takes compose.yaml");
}

#[test]
fn a_shell_variable_beats_the_project_s_file_and_an_unused_one_reaches_no_service() {
    let files = [
        (
            "compose.yaml",
            "services:\n  web:\n    environment:\n      REGION: ${REGION}\n      ZONE: ${ZONE}\n",
        ),
        (".env", "REGION=eu\nUNUSED=1\nCOMPOSE_PROJECT_NAME=x\n"),
    ];
    let configuration = inspected("compose", &files, &[("REGION", "us")]);
    assert_eq!(
        chain(&configuration, "${REGION}"),
        [".env:1 shadowed", "shell won"].map(|row| row.replace("shell", "environment"))
    );
    assert_eq!(chain(&configuration, "web.REGION"), ["compose.yaml:4 won"]);
    assert_eq!(
        findings(&configuration),
        [
            "config-blank-interpolation ZONE",
            "config-never-applied UNUSED",
            "config-shadowed ${REGION}"
        ]
    );
}

#[test]
fn what_is_not_followed_is_said() {
    let include = "include: [other.yaml]\nservices: {}\n";
    let configuration = inspected("compose", &[("compose.yaml", include)], &[]);
    assert!(configuration.sources[1].why.contains("`include` is not followed"));
}

#[test]
fn what_compose_refuses_is_a_gap() {
    let missing = [("compose.yaml", "services:\n  web:\n    env_file: [none.env]\n")];
    let configuration = inspected("compose", &missing, &[]);
    assert!(configuration.has_gaps(), "{:?}", configuration.sources);
    let optional =
        "services:\n  web:\n    env_file:\n      - path: none.env\n        required: false\n";
    assert!(!inspected("compose", &[("compose.yaml", optional)], &[]).has_gaps());
    let malformed = [("compose.yaml", "services:\n  web:\n    image: ${TAG\n")];
    let configuration = inspected("compose", &malformed, &[]);
    assert_eq!(configuration.sources.last().unwrap().why, "line 3, column 5: a malformed `${...}`");
}

#[test]
fn what_a_service_extends_is_weaker_than_its_own_values() {
    let compose = "services:\n  base:\n    environment: {A: base, B: base, C: base}\n  web:\n    \
                   extends: {file: shared/common.yaml, service: common}\n    environment: {B: web}\n  \
                   job:\n    extends: base\n    environment:\n      - C=job\n";
    let common = "services:\n  root:\n    environment: {A: root, D: root}\n  common:\n    extends: root\n    \
                  environment: {A: common, B: \"${X:-x}\"}\n    env_file: common.env\n";
    let files = [
        ("compose.yaml", compose),
        ("compose.override.yaml", "services:\n  web:\n    environment: {D: override}\n"),
        ("shared/common.yaml", common),
        ("shared/common.env", "E=file\nA=file\n"),
    ];
    let found = inspected("compose", &files, &[]);
    assert_eq!(
        effective(&found),
        [
            "base.A=base < compose.yaml:3",
            "base.B=base < compose.yaml:3",
            "base.C=base < compose.yaml:3",
            "job.A=base < compose.yaml:3",
            "job.B=base < compose.yaml:3",
            "job.C=job < compose.yaml:10",
            "web.A=common < shared/common.yaml:6",
            "web.B=web < compose.yaml:6",
            "web.D=override < compose.override.yaml:3",
            "web.E=file < shared/common.env:1",
        ]
    );
    assert_eq!(
        chain(&found, "web.A"),
        [
            "shared/common.env:2 shadowed",
            "shared/common.yaml:3 shadowed",
            "shared/common.yaml:6 won"
        ]
    );
}

#[test]
fn a_service_that_does_not_exist_cannot_be_extended() {
    for extends in ["none", "{file: none.yaml, service: x}", "web"] {
        let text =
            format!("services:\n  web:\n    extends: {extends}\n    environment: {{A: 1}}\n");
        let found = inspected("compose", &[("compose.yaml", &text)], &[]);
        assert!(found.has_gaps(), "{extends}: {found:#?}");
    }
}

#[test]
fn a_service_with_profiles_starts_with_one_of_them() {
    let compose = "services:\n  web:\n    environment: {A: 1}\n  debug:\n    profiles: [debug, all]\n    \
                   environment: {A: 2}\n";
    let of = |files: &[(&str, &str)], shell: &[(&str, &str)]| {
        chain(&inspected("compose", files, shell), "debug.A")
    };
    let files = [("compose.yaml", compose)];
    assert_eq!(of(&files, &[]), ["compose.yaml:6 condition_false"]);
    for active in ["all", "x, debug", "*"] {
        assert_eq!(of(&files, &[("COMPOSE_PROFILES", active)]), ["compose.yaml:6 won"], "{active}");
    }
    let dotenv = [("compose.yaml", compose), (".env", "COMPOSE_PROFILES=debug\n")];
    assert_eq!(of(&dotenv, &[]), ["compose.yaml:6 won"]);
}

#[test]
fn variables_of_compose_name_its_files() {
    let service = |value: &str| format!("services:\n  web:\n    environment: {{A: {value}}}\n");
    let (one, two) = (service("1"), service("\"${X}\""));
    let files = [
        ("compose.yaml", service("0")),
        ("one.yaml", one),
        ("two.yaml", two),
        (".env", "COMPOSE_FILE=one.yaml:two.yaml\nX=dotenv\n".to_owned()),
        ("other.env", "X=other\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let of = |shell: &[(&str, &str)]| {
        let rows = effective(&inspected("compose", &files, shell));
        rows.into_iter().find(|row| row.starts_with("web.A")).unwrap()
    };
    assert_eq!(of(&[]), "web.A=dotenv < two.yaml:3");
    assert_eq!(of(&[("COMPOSE_FILE", "one.yaml")]), "web.A=1 < one.yaml:3");
    let other = [("COMPOSE_FILE", "two.yaml"), ("COMPOSE_ENV_FILES", "other.env")];
    assert_eq!(of(&other), "web.A=other < two.yaml:3");
}
