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
fn a_package_that_may_replace_references_leaves_them_open() {
    let env = (".env", "HOST=db\nURL=http://${HOST}/\n");
    let code = ("app.js", "ConfigModule.forRoot({ expandVariables: true });\n");
    let nest = ("package.json", "{\"dependencies\": {\"@nestjs/config\": \"4\"}}");
    let found = inspected("dotenv", &[nest, env, code], &[]);
    assert_eq!(findings(&found), [""; 0]);
    assert!(state(&found, ".env").1.contains("may replace `${NAME}`"), "{:?}", found.sources);
    let plain = inspected("dotenv", &[USES, env], &[]);
    assert_eq!(findings(&plain).len(), 1, "{:?}", plain.findings);
}

#[test]
fn the_value_of_a_variable_chooses_the_file() {
    let of = |code: &str, environment: &[(&str, &str)]| {
        let local = (".env.local", "PORT=2\n");
        let files =
            [USES, (".env", "PORT=1\n"), local, (".env.prod", "PORT=3\n"), ("app.js", code)];
        let found = effective(&inspected("dotenv", &files, environment));
        found.into_iter().find(|row| row.starts_with("PORT=")).unwrap()
    };
    let prod = [("NODE_ENV", "prod")];
    let by_name = "require('dotenv').config({ path: `.env.${process.env.NODE_ENV}` });\n";
    assert_eq!(of(by_name, &prod), "PORT=3 < .env.prod:1");
    let flow = "import 'dotenv-flow';\nrequire('dotenv-flow').config();\n";
    assert_eq!(of(flow, &prod), "PORT=3 < .env.prod:1");
    assert_eq!(of(flow, &[]), "PORT=2 < .env.local:1");
    assert_eq!(of(flow, &[("NODE_ENV", "test")]), "PORT=1 < .env:1");
}

#[test]
fn options_of_the_call_are_followed() {
    let files = |code: &'static str| {
        [USES, (".env", "PORT=1\n"), ("cfg/.env", "PORT=2\n"), ("app.js", code)]
    };
    let of = |code: &'static str, environment: &[(&str, &str)]| {
        let found = inspected("dotenv", &files(code), environment);
        let certainty = found.find("PORT")[0].certainty.to_string();
        (effective(&found).join(" "), certainty)
    };
    let shell = [("PORT", "3")];
    let row = |value: &str, certainty: &str| (value.to_owned(), certainty.to_owned());
    let plain = "require('dotenv').config({quiet: true});\n";
    assert_eq!(of(plain, &[]), row("PORT=1 < .env:1", "exact"));
    assert_eq!(of(plain, &shell), row("PORT=3 < environment", "exact"));
    let named = "\nrequire('dotenv').config({path: path.join(__dirname, 'cfg', '.env')});\n";
    assert_eq!(of(named, &[]), row("PORT=2 < cfg/.env:1", "exact"));
    let found = inspected("dotenv", &files(named), &[]);
    assert_eq!(state(&found, ".env").1, "app.js:2 reads `cfg/.env`");
    let beats = "require('dotenv').config({path: 'cfg/.env', override: true});\n";
    assert_eq!(of(beats, &shell), row("PORT=2 < cfg/.env:1", "exact"));
    let made = "require('dotenv').config({path: make()});\n";
    assert_eq!(of(made, &[]), row("", "unknown"));
    assert_eq!(of(made, &shell), row("PORT=3 < environment", "exact"));
}

#[test]
fn a_package_that_no_code_loads_reads_nothing() {
    let code = ("app.js", "// require('dotenv')\nlisten(process.env.PORT);\n");
    let found = inspected("dotenv", &[USES, (".env", "PORT=1\n"), code], &[]);
    assert_eq!(chain(&found, "PORT"), ["app.js:2 requested", ".env:1 unread"]);
    assert!(state(&found, ".env").1.contains("no code that was read loads it"));
}

#[test]
fn a_script_names_the_file_of_variables() {
    let package = "{\"scripts\": {\n\"start\": \"node --env-file=.env.local app.js\",\n\
                   \"dev\": \"LEVEL=debug node app.js\"}}";
    let files = [
        ("package.json", package),
        (".env", "PORT=1\n"),
        (".env.local", "PORT=2\n"),
        ("app.js", "f(process.env.PORT, process.env.LEVEL);\n"),
    ];
    let found = inspected("dotenv", &files, &[]);
    assert_eq!(effective(&found), ["PORT=2 < .env.local:1"]);
    assert_eq!(found.find("PORT")[0].certainty.to_string(), "exact");
    assert!(state(&found, ".env").1.starts_with("script `start` reads `.env.local`"));
    let folder = folder(&files);
    let mut request = crate::support::request(folder.path(), &[("LEVEL", "info")]);
    request.defines = vec![("script".to_owned(), vec!["dev".to_owned()])];
    let found = culprit_config::inspect(&profile("dotenv"), &request, crate::support::redactor());
    assert_eq!(effective(&found), ["LEVEL=debug < package.json:3"]);
    // What the shell has is shown as the shell's.
    let rows = chain(&found, "LEVEL");
    assert_eq!(rows, ["app.js:1 requested", "environment shadowed", "package.json:3 won"]);
}

#[test]
fn names_that_code_gets_no_value_of_are_found() {
    let code = (
        "src/main.ts",
        "f(import.meta.env.API_KEY, import.meta.env.VITE_URL, import.meta.env.DEV);\n",
    );
    let package = ("package.json", "{\"devDependencies\": {\"vite\": \"5\"}}");
    let env = (".env", "API_KEY=1\nVITE_URL=x\n");
    let found = inspected("vite", &[package, env, code], &[]);
    assert_eq!(findings(&found), ["config-never-applied API_KEY"]);
    assert!(found.findings[0].fix[0].contains("`VITE_API_KEY`"), "{:?}", found.findings);
    let option = ("vite.config.ts", "export default { envPrefix: 'API_' }\n");
    assert_eq!(findings(&inspected("vite", &[package, env, code, option], &[])), [""; 0]);
}

#[test]
fn code_for_the_browser_gets_no_value_of_a_name_that_is_not_public() {
    let code = |head: &str| {
        format!(
            "{head}\nf(process.env.API_URL, process.env.NEXT_PUBLIC_A, process.env.NODE_ENV);\n"
        )
    };
    let package = ("package.json", "{\"dependencies\": {\"next\": \"16\"}}");
    let env = (".env", "API_URL=1\nNEXT_PUBLIC_A=x\n");
    let of = |head: &str, more: &[(&str, &str)]| {
        let code = code(head);
        let files = [&[package, env, ("app/page.tsx", code.as_str())], more].concat();
        inspected("next", &files, &[])
    };
    let found = of("// a page\n'use client'", &[]);
    assert_eq!(findings(&found), ["config-never-applied API_URL"]);
    assert!(found.findings[0].fix[0].contains("`NEXT_PUBLIC_API_URL`"), "{:?}", found.findings);
    assert_eq!(findings(&of("", &[])), [""; 0], "code of the server");
    let option = ("next.config.js", "module.exports = { env: { API_URL: process.env.API_URL } }\n");
    assert_eq!(findings(&of("\"use client\";", &[option])), [""; 0]);
}

#[test]
fn files_of_nearly_right_names_are_named() {
    let of = |name: &'static str, files: &[(&str, &str)], file: &str| {
        let found = inspected(name, files, &[]);
        (state(&found, file), findings(&found))
    };
    let near = |file: &str| vec![format!("config-off-load-path {file}")];
    let app = ("src/main/resources/application.yml", "a: 1\n");
    for file in
        ["src/main/resources/application_prod.yml", "src/main/java/com/x/application.properties"]
    {
        let ((state, _), found) = of("spring", &[app, (file, "")], file);
        assert_eq!((state, found.len()), (SourceState::OffLoadPath, near(file).len()), "{file}");
    }
    let boot = ("src/main/resources/bootstrap.yml", "a: 2\n");
    assert_eq!(of("spring", &[app, boot], boot.0).0.0, SourceState::Unread);
    let pom = ("pom.xml", "<artifactId>spring-cloud-starter-bootstrap</artifactId>");
    assert_eq!(of("spring", &[app, boot, pom], boot.0).0.0, SourceState::Unsupported);
    let next = inspected("next", &[(".env.prod", "A=1\n"), ("package.json", "{}")], &[]);
    assert!(state(&next, ".env.prod").1.contains("`mode` is never this"), "{:?}", next.sources);
    assert!(next.choices.is_empty());
}

#[test]
fn a_value_without_a_file_is_found_where_a_file_is_for_a_near_one() {
    let files = [("application.yml", "a: 1\n"), ("application-prod.yml", "a: 2\n")];
    let of =
        |value: &str| findings(&inspected("spring", &files, &[("SPRING_PROFILES_ACTIVE", value)]));
    assert_eq!(of("production"), ["config-near-miss-name SPRING_PROFILES_ACTIVE"]);
    assert_eq!(of("prod"), [""; 0]);
    assert_eq!(of("eu"), [""; 0]);
}

#[test]
fn a_location_that_takes_the_place_of_the_search_leaves_files_unread() {
    let files = [("application.yml", "a: 1\n"), ("etc/application.yml", "a: 2\n")];
    let found = inspected("spring", &files, &[("SPRING_CONFIG_LOCATION", "file:./etc/")]);
    assert_eq!(effective(&found), ["a=2 < etc/application.yml:1"]);
    assert!(state(&found, "application.yml").1.contains("spring.config.location"));
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
