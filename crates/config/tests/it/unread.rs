//! Files that a program reads only if the project asks for it, and files that look as if they were read.

use culprit_config::{Configuration, Profile, SourceState, detects, stock_profiles};

use crate::support::{chain, effective, findings, folder, inspected, profile};

const USES: (&str, &str) = ("package.json", "{\"dependencies\": {\"dotenv\": \"18\"}}");
const USES_NOT: (&str, &str) =
    ("package.json", "{\"description\": \"no dotenv\", \"dependencies\": {\"express\": \"4\"}}");

fn state(configuration: &Configuration, name: &str) -> (SourceState, String) {
    let found = configuration.sources.iter().find(|source| source.name == name);
    found.map(|source| (source.state, source.why.clone())).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn an_env_file_of_node_counts_only_if_the_project_uses_what_reads_it() {
    let env = (".env", "PORT=1\n");
    let script = ("package.json", "{\"scripts\": {\"start\": \"node --env-file=.env app.js\"}}");
    let preloaded =
        ("package.json", "{\"scripts\": {\"start\": \"node -r dotenv/config app.js\"}}");
    for package in [USES, script, preloaded] {
        let used = inspected("dotenv", &[package, env], &[]);
        assert_eq!(effective(&used), ["PORT=1 < .env:1"], "{package:?}");
    }
    let code = ("app.js", "process.loadEnvFile();\n");
    assert_eq!(effective(&inspected("dotenv", &[USES_NOT, env, code], &[])), ["PORT=1 < .env:1"]);
    let unused = inspected("dotenv", &[USES_NOT, env], &[]);
    assert_eq!(chain(&unused, "PORT"), [".env:1 unread"]);
    assert_eq!(effective(&unused), [""; 0]);
    assert!(state(&unused, ".env").1.contains("package.json"), "{:?}", unused.sources);
}

#[test]
fn options_of_the_call_make_the_order_assumed() {
    let env = (".env", "PORT=1\n");
    let certainty = |code: &str| {
        let found = inspected("dotenv", &[USES, env, ("app.js", code)], &[]);
        (found.effective[0].certainty.to_string(), state(&found, ".env").1)
    };
    let plain = certainty("require('dotenv').config({quiet: true});\n");
    assert_eq!(plain, ("exact".to_owned(), String::new()));
    let (with, why) =
        certainty("\nrequire('dotenv').config({path: ['.env.x'], override: true});\n");
    assert_eq!(with, "assumed");
    assert!(why.contains("app.js:2") && why.contains("`path`, `override`"), "{why}");
}

#[test]
fn variables_of_an_env_file_reach_the_keys_that_name_them() {
    let files = |package| {
        [
            package,
            (".env", "PORT=3000\n"),
            ("config/default.json", "{\"server\": {\"port\": 1}}"),
            ("config/custom-environment-variables.json", "{\"server\": {\"port\": \"PORT\"}}"),
        ]
    };
    let names = "config/custom-environment-variables.json:1";
    let used = inspected("node-config", &files(USES), &[]);
    assert_eq!(effective(&used), [format!("server.port=3000 < {names}")]);
    assert!(used.assignments.iter().any(|one| one.reason.contains(".env:1")), "{used:#?}");
    let stronger = inspected("node-config", &files(USES), &[("PORT", "5")]);
    assert_eq!(effective(&stronger), [format!("server.port=5 < {names}")]);
    let unused = inspected("node-config", &files(USES_NOT), &[]);
    assert_eq!(effective(&unused), ["server.port=1 < config/default.json:1"]);
}

#[test]
fn next_and_vite_have_their_own_order() {
    let files = [
        (".env", "A=1\nB=$A\nC=a\\$b\n"),
        (".env.local", "A=2\n"),
        (".env.development", "A=3\n"),
        (".env.production", "A=4\n"),
    ];
    let winner = |profile: &str, environment: &[(&str, &str)]| {
        let found = inspected(profile, &files, environment);
        effective(&found).into_iter().take(3).collect::<Vec<_>>()
    };
    // What `loadEnvConfig` of @next/env 16 makes of these files.
    assert_eq!(winner("next", &[]), ["A=2 < .env.local:1", "B=2 < .env:2", "C=a$b < .env:3"]);
    assert_eq!(winner("next", &[("NODE_ENV", "test")])[0], "A=1 < .env:1");
    assert_eq!(winner("vite", &[])[0], "A=3 < .env.development:1");
    assert_eq!(winner("vite", &[("A", "9")])[0], "A=9 < environment");
}

#[test]
fn each_kind_of_project_has_its_profile() {
    let of = |package: &str| -> Vec<String> {
        let folder = folder(&[("package.json", package), (".env", "A=1\n")]);
        let all = stock_profiles().unwrap();
        let fit = all.into_iter().filter(|profile| detects(profile, folder.path()));
        fit.map(|profile: Profile| profile.name).collect()
    };
    assert_eq!(of("{\"dependencies\": {\"next\": \"14\"}}"), ["next"]);
    assert_eq!(of("{\"devDependencies\": {\"vite\": \"7\"}}"), ["vite"]);
    assert_eq!(of("{\"dependencies\": {\"express\": \"4\"}}"), ["dotenv"]);
    let both = of("{\"dependencies\": {\"next\": \"14\", \"dotenv\": \"18\"}}");
    assert_eq!(both, ["dotenv", "next"]);
}

#[test]
fn files_that_are_not_read_are_named_with_their_keys() {
    let spring = inspected(
        "spring",
        &[("application.yml", "server:\n  port: 1\n"), (".env", "SERVER_PORT=5\nAPP_BASE=x\n")],
        &[],
    );
    assert_eq!(chain(&spring, "server.port"), ["application.yml:2 won", ".env:1 unread"]);
    assert_eq!(spring.find("APP_BASE").len(), 1);
    assert_eq!(findings(&spring), [""; 0]);
    let compose = inspected(
        "compose",
        &[
            ("compose.yaml", "services:\n  web:\n    environment: {A: 1}\n"),
            ("compose.prod.yaml", "services:\n  web:\n    environment: {A: 2}\n"),
            ("docker-compose.yml", "services: {}\n"),
        ],
        &[],
    );
    for name in ["compose.prod.yaml", "docker-compose.yml"] {
        assert_eq!(state(&compose, name).0, SourceState::Unread, "{name}");
    }
    assert_eq!(effective(&compose), ["web.A=1 < compose.yaml:3"]);
}

#[test]
fn folders_below_that_fit_are_found() {
    let root = folder(&[
        ("Shop.sln", ""),
        ("Shop/appsettings.json", "{}"),
        ("svc/a/src/main/resources/application.yml", "a: 1\n"),
        (".hidden/appsettings.json", "{}"),
        ("node_modules/x/appsettings.json", "{}"),
    ]);
    let found = culprit_config::fitting_below(&[profile("dotnet"), profile("spring")], root.path());
    let expected = [("Shop", "dotnet"), ("svc/a", "spring")];
    assert_eq!(found, expected.map(|(folder, name)| (folder.to_owned(), name.to_owned())));
}
