//! The matrix of variables, from a file of `docker inspect` to the application's own dump.

use culprit_config::{
    CellState, Configuration, Drift, DriftColumn, DriftRequest, HashState, ProcessRole, Raw,
    Redactor, SourceKind, SourceState, VariableSet, created_with, drift, image_variables, inspect,
    read_inspected,
};
use culprit_model::Pid;

use crate::support::{folder, profile, redactor, request};

fn set(kind: SourceKind, name: &str, pid: u32, variables: &[(&str, &str)]) -> VariableSet {
    let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), Raw::new(*value));
    VariableSet {
        kind,
        name: name.to_owned(),
        state: SourceState::Read,
        why: String::new(),
        variables: variables.iter().map(variable).collect(),
        pid: Some(Pid(pid)),
    }
}

fn column(set: &VariableSet, role: Option<ProcessRole>) -> DriftColumn {
    DriftColumn::from_set(set, role, &redactor())
}

fn findings(drift: &Drift) -> Vec<String> {
    drift.findings.iter().map(|one| format!("{} {}", one.id, one.title)).collect()
}

fn states(drift: &Drift, name: &str) -> Vec<CellState> {
    let row = drift.rows.iter().find(|row| row.name == name);
    row.unwrap_or_else(|| panic!("no {name}")).cells.iter().map(|cell| cell.state).collect()
}

fn compose(text: &str, environment: &[(&str, &str)]) -> Configuration {
    let folder = folder(&[("compose.yaml", text)]);
    inspect(&profile("compose"), &request(folder.path(), environment), redactor())
}

/// Container and image as `docker inspect` prints them.
const INSPECTED: &str = r#"[
  {"Id": "c1", "Name": "/web-1", "Image": "sha256:i", "State": {"Running": true, "Pid": 7},
   "Config": {"Image": "web:1", "Env": ["LEVEL=info", "OLD=1", "SECRET=correct-horse", "PATH=/bin", "LANG=C"],
     "Labels": {"com.docker.compose.config-hash": "aa"}}},
  {"Id": "sha256:i", "RepoTags": ["web:1"], "Config": {"Env": ["PATH=/bin", "LANG=C"]}}
]"#;

fn first_columns(text: &str) -> Vec<DriftColumn> {
    let inspected = read_inspected(INSPECTED.as_bytes()).unwrap();
    vec![
        DriftColumn::from_compose("web", &compose(text, &[])),
        column(&created_with(&inspected.containers[0]), None),
        column(&image_variables("web:1", &inspected.images[0]), None),
    ]
}

#[test]
fn a_compose_file_that_changed_since_is_drift_and_the_image_s_variables_are_not() {
    let text = "services:\n  web:\n    environment:\n      LEVEL: debug\n      SECRET: correct-horse\n      NEW: 1\n";
    let found = drift(DriftRequest {
        subject: "container `web-1`".to_owned(),
        service: Some("web".to_owned()),
        columns: first_columns(text),
        made_with_hash: Some("aa".to_owned()),
        hash_now: Some("bb".to_owned()),
    });
    assert_eq!(found.hash, HashState::Differs);
    use CellState::{Differs, Extra, Missing, Same};
    assert_eq!(states(&found, "LEVEL"), [Same, Differs, Missing]);
    assert_eq!(states(&found, "SECRET"), [Same, Same, Missing]);
    assert_eq!(states(&found, "NEW"), [Same, Missing, Missing]);
    assert_eq!(states(&found, "OLD"), [Same, Extra, Same]);
    assert_eq!(states(&found, "LANG"), [Same, Same, Same]);
    assert_eq!(
        findings(&found),
        [
            "config-drift The container `web-1` was made from another configuration than the compose file has now.",
            "config-drift `LEVEL` has another value in created-with than in compose, service web.",
            "config-drift `NEW` is set in compose, service web, and not in created-with.",
            "config-drift `OLD` is set in created-with, and no longer in compose, service web.",
        ]
    );
    assert!(found.findings[1].fix[0].contains("docker compose up -d web"));
    assert!(!format!("{found:?}").contains("correct-horse"));
}

#[test]
fn a_worker_that_misses_a_variable_is_named_and_a_visitor_is_not() {
    let (main, worker, visitor) =
        (Some(ProcessRole::Main), Some(ProcessRole::Worker), Some(ProcessRole::Visitor));
    let start = SourceKind::InitialEnvironment;
    let all: &[(&str, &str)] = &[("A", "1"), ("B", "2"), ("PATH", "/bin")];
    let found = drift(DriftRequest {
        columns: vec![
            column(&set(start, "PID 1 at start", 1, all), main),
            column(
                &set(SourceKind::ProcessMemory, "PID 1 now", 1, &[("A", "9"), ("B", "2")]),
                main,
            ),
            column(&set(start, "PID 7 at start", 7, &[("A", "9"), ("PWD", "/")]), worker),
            column(&set(start, "PID 8 at start", 8, &[("X", "1")]), visitor),
        ],
        ..DriftRequest::default()
    });
    assert_eq!(
        findings(&found),
        [
            "config-worker-misses-variable `B` is set in PID 1 now, and not in PID 7 at start.",
            "config-drift `A` has another value in PID 1 now than in PID 1 at start.",
        ]
    );
}

#[test]
fn a_dump_is_matched_by_the_letters_of_its_keys() {
    let start = set(
        SourceKind::InitialEnvironment,
        "PID 1 at start",
        1,
        &[("Logging__LogLevel__Default", "Error"), ("OTHER", "1")],
    );
    let json = br#"{"Logging": {"LogLevel": {"Default": "Debug"}}, "Unrelated": 1}"#;
    let columns = vec![
        column(&start, Some(ProcessRole::Main)),
        DriftColumn::from_dump("dump.json", json, &redactor()).unwrap(),
        DriftColumn::from_dump("dump", b"OTHER=1\n", &redactor()).unwrap(),
    ];
    let found = drift(DriftRequest { columns, ..DriftRequest::default() });
    use CellState::{Differs, Missing, Same, Unknown};
    assert_eq!(states(&found, "Logging__LogLevel__Default"), [Same, Differs, Missing]);
    assert_eq!(states(&found, "OTHER"), [Same, Unknown, Same]);
    assert_eq!(found.rows.len(), 2, "{:?}", found.rows);
    assert_eq!(found.findings.len(), 2, "{:?}", findings(&found));
}

#[test]
fn a_place_that_cannot_be_read_is_unknown_and_a_gap() {
    let denied = VariableSet {
        state: SourceState::Denied,
        why: "needs root".to_owned(),
        ..set(SourceKind::ProcessMemory, "PID 1 now", 1, &[])
    };
    let start = set(SourceKind::InitialEnvironment, "PID 1 at start", 1, &[("A", "1")]);
    let main = Some(ProcessRole::Main);
    let columns = vec![column(&start, main), column(&denied, main)];
    let found = drift(DriftRequest { columns, ..DriftRequest::default() });
    assert_eq!(states(&found, "A"), [CellState::Same, CellState::Unknown]);
    assert!(found.has_gaps() && found.findings.is_empty());
    // A runtime that keeps its variables elsewhere is no failure of reading.
    let unread = VariableSet { state: SourceState::Unread, ..denied };
    let columns = vec![column(&start, main), column(&unread, main)];
    assert!(!drift(DriftRequest { columns, ..DriftRequest::default() }).has_gaps());
}

#[test]
fn workers_that_are_alike_are_shown_once() {
    let worker = |pid| {
        let start = SourceKind::InitialEnvironment;
        column(&set(start, &format!("PID {pid}"), pid, &[("A", "1")]), Some(ProcessRole::Worker))
    };
    let other = set(SourceKind::InitialEnvironment, "PID 5", 5, &[("A", "2")]);
    let columns = vec![worker(3), worker(4), column(&other, Some(ProcessRole::Worker)), worker(6)];
    let found = drift(DriftRequest { columns, ..DriftRequest::default() });
    assert_eq!(found.repeated(), [None, Some(0), None, Some(0)]);
}

#[test]
fn redactors_of_two_keys_do_not_compare() {
    let start = set(SourceKind::InitialEnvironment, "a", 1, &[("TOKEN", "hunter2")]);
    let one = DriftColumn::from_set(&start, None, &Redactor::new([1; 32]));
    let two = DriftColumn::from_set(&start, None, &Redactor::new([2; 32]));
    let found = drift(DriftRequest { columns: vec![one, two], ..DriftRequest::default() });
    assert_eq!(states(&found, "TOKEN"), [CellState::Same, CellState::Differs]);
}
