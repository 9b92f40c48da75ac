//! A property: a secret that is planted anywhere leaves by no way out, nor does a part of it.

use std::fmt::Write as _;

use culprit_config::{
    DriftColumn, DriftRequest, ObservedProcess, ProcessRole, Raw, Redactor, Snapshot, SourceKind,
    SourceState, VariableSet, difference, drift, inspect, process_configuration, read_inspected,
    secrets_of_arguments, shown_arguments,
};
use culprit_model::Pid;
use proptest::prelude::*;

use crate::support::{folder, profile, request};

/// Parts of this length must not leave.
const PART: usize = 6;

fn leaks(output: &str, secret: &str) -> Option<String> {
    let letters: Vec<char> = secret.chars().collect();
    let parts = letters.windows(PART).map(|part| part.iter().collect::<String>());
    parts.into_iter().find(|part| output.contains(part.as_str()))
}

/// What a project with the secret in many places gives out: everything that is printed is made of these.
fn outputs(secret: &str, name: &str) -> String {
    let redactor = Redactor::new([3; 32]);
    let json = serde_json::json!({
        "Db": { "Password": secret, "Url": format!("postgres://app:{secret}@db/shop") },
        "ConnectionStrings": { "Main": format!("Server=db;Database=shop;Password={secret}") },
        "Copy": secret,
        "Made": format!("before-{secret}-after"),
        "Level": "info",
    });
    let compose = format!(
        "services:\n  web:\n    environment:\n      DB_PASSWORD: {0}\n      MADE: x-${{{name}}}-y\n      COPY: ${{{name}}}\n",
        serde_json::to_string(secret).unwrap()
    );
    let yaml = format!("spring:\n  datasource:\n    password: '{secret}'\n  note: {secret}\n");
    let dotenv = format!("DB_PASSWORD='{secret}'\nNOTE=\"see {secret}\"\n");
    let broken = format!("{{ \"Password\": \"{secret}\" {secret} }}");
    let files: &[(&str, &[(&str, &str)])] = &[
        ("dotnet", &[("appsettings.json", &json.to_string())]),
        ("compose", &[("compose.yaml", &compose), (".env", &dotenv)]),
        ("spring", &[("application.yml", &yaml)]),
        (
            "dotenv",
            &[(".env", &dotenv), ("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}")],
        ),
        ("dotnet", &[("appsettings.json", &broken)]),
    ];
    let environment = [(name, secret), ("Copy", secret), ("Db__Note", secret)];
    let mut out = String::new();
    let mut configurations = Vec::new();
    for (one, files) in files {
        let folder = folder(files);
        let read =
            || inspect(&profile(one), &request(folder.path(), &environment), redactor.clone());
        // The second pass knows what the first has learned, as in the command.
        let _first = read();
        configurations.push(read());
    }
    let process = process(secret, name);
    let sets = [process.initial.clone(), process.now.clone()];
    configurations.push(process_configuration("t", &sets, &redactor));
    write!(out, "{:?}", secrets_of_arguments(&process, &redactor)).unwrap();
    write!(out, "{:?}", shown_arguments(&process.arguments, &redactor)).unwrap();
    let dump = DriftColumn::from_dump("dump", format!("{name}={secret}\n").as_bytes(), &redactor);
    let mut columns = DriftColumn::from_process(&process, &redactor).to_vec();
    columns.extend(dump.ok());
    write!(out, "{:?}", drift(DriftRequest { columns, ..DriftRequest::default() })).unwrap();
    write!(out, "{:?}", read_inspected(format!("[{{\"Id\": {secret}").as_bytes())).unwrap();
    write!(out, "{configurations:?}{process:?}").unwrap();
    let snapshot = Snapshot::new("t", &redactor, configurations);
    let text = snapshot.to_text().unwrap();
    let other = Snapshot::new("t", &redactor, Vec::new());
    write!(out, "{:?}", difference(&snapshot, &other)).unwrap();
    write!(out, "{:?}", Snapshot::read(&text.replace("\"of\":0", &format!("\"of\":{secret}"))))
        .unwrap();
    out + &text
}

fn process(secret: &str, name: &str) -> ObservedProcess {
    let set = |kind| VariableSet {
        kind,
        name: "PID 1".to_owned(),
        state: SourceState::Read,
        why: String::new(),
        variables: vec![
            (name.to_owned(), Raw::new(secret)),
            ("COPY".to_owned(), Raw::new(secret)),
            ("MADE".to_owned(), Raw::new(format!("a{secret}b"))),
        ],
        pid: Some(Pid(1)),
    };
    let arguments = [
        "app".to_owned(),
        format!("--password={secret}"),
        "--token".to_owned(),
        secret.to_owned(),
        format!("--note=x{secret}x"),
    ];
    ObservedProcess {
        pid: Pid(1),
        own_pid: Pid(1),
        start_ticks: 1,
        started_unix_s: 1,
        name: "app".to_owned(),
        executable: String::new(),
        work_folder: String::new(),
        arguments: arguments.map(Raw::new).to_vec(),
        role: ProcessRole::Main,
        initial: set(SourceKind::InitialEnvironment),
        now: set(SourceKind::ProcessMemory),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_planted_secret_leaves(
        // Letters that the formats need no escapes for; the readers' own tests have those.
        secret in "[A-Za-z][A-Za-z0-9!%*+-]{7,39}",
        name in prop::sample::select(vec!["DB_PASSWORD", "API_TOKEN", "ClientSecret", "AWS_SECRET_ACCESS_KEY"]),
    ) {
        let out = outputs(&secret, name);
        prop_assert_eq!(leaks(&out, &secret), None, "{} in {}", secret, out);
    }
}
