//! What is said of one key: its findings, and what makes a file count that does not.

use culprit_config::{Configuration, Effective};

use crate::support::{findings, inspected};

/// The one key that a name means.
fn found<'a>(configuration: &'a Configuration, name: &str) -> &'a Effective {
    match configuration.find(name).as_slice() {
        [one] => one,
        other => panic!("{name}: {other:#?}"),
    }
}

fn keys(configuration: &Configuration, name: &str) -> Vec<String> {
    configuration.find(name).iter().map(|one| one.key.to_string()).collect()
}

const SPRING: [(&str, &str); 2] = [
    ("src/main/resources/application.yml", "server:\n  port: 8080\n"),
    ("src/main/resources/application-dev.yml", "server:\n  port: 9090\n"),
];

#[test]
fn a_key_has_the_findings_that_concern_it_and_no_others() {
    let environment = [("SERVER_PORTT", "1"), ("SPRING_PROFILES_ACTIV", "dev")];
    let configuration = inspected("spring", &SPRING, &environment);
    let of = |name: &str| -> Vec<&str> {
        let found = configuration.findings_of(found(&configuration, name));
        found.into_iter().map(|one| one.key.as_str()).collect()
    };
    assert_eq!(of("server.port"), ["server.portt"]);
    assert_eq!(
        findings(&configuration),
        ["config-near-miss-name SPRING_PROFILES_ACTIV", "config-near-miss-name server.portt"]
    );
    let shadowed = inspected("spring", &SPRING, &[("SERVER_PORT", "1")]);
    let own = shadowed.findings_of(found(&shadowed, "SERVER_PORT"));
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(own[0].id, "config-shadowed");
}

#[test]
fn a_file_that_is_not_chosen_has_the_variable_that_chooses_it() {
    let choices =
        |profile: &str, files: &[(&str, &str)], environment: &[(&str, &str)], key: &str| {
            let configuration = inspected(profile, files, environment);
            let of = configuration.choices_of(found(&configuration, key));
            of.into_iter().map(|(file, given)| format!("{file} {given}")).collect::<Vec<_>>()
        };
    assert_eq!(
        choices("spring", &SPRING, &[], "server.port"),
        ["src/main/resources/application-dev.yml SPRING_PROFILES_ACTIVE=dev"]
    );
    assert_eq!(
        choices("spring", &SPRING, &[("SPRING_PROFILES_ACTIVE", "dev")], "server.port"),
        [""; 0]
    );
    let settings = [("appsettings.json", "{\"A\": 1}"), ("appsettings.Staging.json", "{\"A\": 2}")];
    assert_eq!(
        choices("dotnet", &settings, &[("ASPNETCORE_ENVIRONMENT", "Development")], "A"),
        ["appsettings.Staging.json ASPNETCORE_ENVIRONMENT=Staging"],
        "the variable that sets it now"
    );
}

#[test]
fn a_key_is_found_by_its_variable_its_end_and_its_group() {
    let settings =
        [("appsettings.json", "{\"Logging\": {\"LogLevel\": {\"Default\": 1, \"X\": 2}}}")];
    let dotnet = inspected("dotnet", &settings, &[]);
    for name in ["Logging__LogLevel__Default", "loglevel:default", "Default"] {
        assert_eq!(keys(&dotnet, name), ["Logging:LogLevel:Default"], "{name}");
    }
    assert_eq!(keys(&dotnet, "Logging"), ["Logging:LogLevel:Default", "Logging:LogLevel:X"]);
    assert_eq!(keys(&dotnet, "Log"), [""; 0], "half a name is none");
    let node = [("package.json", "{}"), ("config/default.json", "{\"features\": [\"a\", \"b\"]}")];
    let node = inspected("node-config", &node, &[]);
    assert_eq!(keys(&node, "features"), ["features[0]", "features[1]"]);
}
