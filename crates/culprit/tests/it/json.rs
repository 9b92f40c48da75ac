//! The JSON documents hold the keys that docs/json.md names, and no others.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::notation::parse;
use culprit_model::{
    ActivityEdge, ActivitySource, EdgeKind, Guess, KeptConfiguration, Loss, LossKind, Module,
    Recording, ThreadId, Time,
};
use serde_json::Value;

use crate::support::{Image, Lab, all_rights, fixtures, skip, stderr};

/// The keys of a document's section, with those of the shapes that it refers to.
struct Documented {
    sections: BTreeMap<String, Vec<(String, Option<String>)>>,
}

impl Documented {
    fn read() -> Self {
        let text = std::fs::read_to_string(fixtures().join("../docs/json.md")).unwrap();
        let mut sections: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let mut section = String::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                section = title.to_lowercase().replace(' ', "-");
            } else if let Some(row) = line.strip_prefix("| `")
                && let Some((key, rest)) = row.split_once('`')
            {
                let meaning = rest.split('|').nth(2).unwrap_or_default();
                let shape = meaning.trim().strip_prefix('[').and_then(|m| m.split_once("](#"));
                let shape = shape.and_then(|(_, m)| m.split_once(')')).map(|(s, _)| s.to_owned());
                sections.entry(section.clone()).or_default().push((key.to_owned(), shape));
            }
        }
        Self { sections }
    }

    fn keys(&self, section: &str) -> BTreeSet<String> {
        let rows = self.sections.get(section).unwrap_or_else(|| panic!("no section {section}"));
        let mut keys = BTreeSet::new();
        for (key, shape) in rows {
            match shape {
                None => {
                    keys.insert(key.clone());
                }
                Some(shape) => {
                    let inner = self.keys(shape);
                    keys.extend(inner.into_iter().map(|inner| format!("{key}.{inner}")));
                }
            }
        }
        keys
    }
}

/// Every path of a document that ends in a value; in an object of `open` the keys are data.
fn paths(at: &str, value: &Value, open: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Object(_) if open.contains(&below("*")) => {
            found.insert(below("*"));
        }
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| paths(&below(key), value, open, found));
        }
        Value::Array(values) => {
            let at = format!("{at}[]");
            values.iter().for_each(|value| paths(&at, value, open, found));
        }
        _ => {
            found.insert(at.to_owned());
        }
    }
}

/// Fails for keys without documentation; returns the documented keys that no document has.
pub(crate) fn undocumented(section: &str, documents: &[Value]) -> BTreeSet<String> {
    let documented = Documented::read().keys(section);
    let mut printed = BTreeSet::new();
    for document in documents {
        assert_eq!(document["schema"], 1, "{section}: {document}");
        paths("", document, &documented, &mut printed);
    }
    // An optional object that is missing shows as one null.
    let of_null = |key: &String| documented.iter().any(|d| d.starts_with(&format!("{key}.")));
    let unknown: Vec<_> =
        printed.iter().filter(|key| !documented.contains(*key) && !of_null(key)).collect();
    assert!(unknown.is_empty(), "docs/json.md, section {section}, lacks {unknown:?}");
    documented.difference(&printed).cloned().collect()
}

/// Configuration of a recorded command, with a finding.
fn configuration() -> KeptConfiguration {
    use culprit_config::{
        Raw, Redactor, Snapshot, SourceKind, SourceState, VariableSet, process_configuration,
        secrets_of_image,
    };
    let set = VariableSet {
        kind: SourceKind::ImageEnvironment,
        name: "image x".to_owned(),
        state: SourceState::Read,
        why: String::new(),
        variables: vec![("DB_PASSWORD".to_owned(), Raw::new("correct-horse"))],
        pid: None,
    };
    let redactor = Redactor::new([1; 32]);
    let mut found = process_configuration("Variables", &[set], &redactor);
    found.findings.extend(secrets_of_image(&found));
    let snapshot = Snapshot::new("command in host", &redactor, vec![found]).without_key();
    KeptConfiguration::Snapshot(snapshot.to_text().unwrap())
}

/// A request that the thread works on for 30 ms.
fn activity(recording: &mut Recording) {
    for (ms, kind) in
        [(0, EdgeKind::Start), (10, EdgeKind::Enter), (40, EdgeKind::Leave), (60, EdgeKind::Stop)]
    {
        recording.activity_edges.push(ActivityEdge {
            time: Time(ms * 1_000_000),
            thread: ThreadId(0),
            kind,
            name: "request".into(),
            key: Some("7".into()),
            source: ActivitySource::Import,
        });
    }
    culprit_engine::activities::build(recording);
}

fn lab() -> Lab {
    let lab = Lab::new();
    let drawing = "
        tick 10ms
        stack u cpu.user app!main;app!compute
        stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
        app(10)/main(10)    uuuuuussss|
        root app(10)";
    let mut recording = parse(drawing).unwrap();
    recording.meta.command = vec!["app".to_owned()];
    recording.meta.place_facts = vec![("runtime-help.node".to_owned(), "set A=1".to_owned())];
    let node = Module {
        name: "node".into(),
        path: "/usr/bin/node".into(),
        ..recording.modules[0].clone()
    };
    recording.modules.push(node);
    let lost = Loss {
        kind: LossKind::SwitchesLost,
        count: 3,
        from: None,
        to: None,
        detail: "on CPU 0".into(),
    };
    recording.losses.push(lost);
    for frame in &mut recording.frames {
        frame.guessed = (frame.function.as_str() == "main").then_some(Guess::TailCall);
    }
    activity(&mut recording);
    recording.meta.configuration = Some(configuration());
    culprit_recording::write(lab.path("x.culprit"), &recording).unwrap();
    lab
}

#[test]
fn views_print_the_documented_keys() {
    let lab = lab();
    for (section, arguments) in [
        ("findings", &["findings", "x.culprit"][..]),
        ("report", &["report", "x.culprit"]),
        ("top", &["top", "x.culprit"]),
        ("tree", &["tree", "x.culprit"]),
        ("tree", &["callers", "compute", "x.culprit"]),
        ("tree", &["callees", "main", "x.culprit"]),
        ("tree", &["flame", "x.culprit"]),
        ("butterfly", &["butterfly", "compute", "x.culprit"]),
        ("source", &["source", "compute", "x.culprit"]),
        ("presets", &["presets"]),
    ] {
        let missing = undocumented(section, &[lab.json(arguments)]);
        assert!(missing.is_empty(), "{section}: {arguments:?} prints no {missing:?}");
    }
}

#[test]
fn comparisons_and_wakers_print_the_documented_keys() {
    let lab = lab();
    let missing = undocumented("diff", &[lab.json(&["diff", "x.culprit", "x.culprit"])]);
    // One pair of runs has no interval, and what is the same has no overweight.
    let optional = |key: &String| key.contains("interval.") || key.starts_with("overweight");
    assert!(missing.iter().all(optional), "{missing:?}");
    let missing = undocumented("wakers", &[lab.json(&["wakers", "x.culprit"])]);
    assert!(missing.iter().all(|key| key == "rows[].waker_stack[]"), "{missing:?}");
    let missing = undocumented("activities", &[lab.json(&["activities", "x.culprit"])]);
    assert!(missing.is_empty(), "{missing:?}");
    let missing = undocumented("critical-path", &[lab.json(&["critical-path", "x.culprit"])]);
    assert!(missing.iter().all(|key| key == "links[].waiting[]"), "{missing:?}");
    let missing = undocumented("phases", &[lab.json(&["phases", "x.culprit"])]);
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn explain_and_doctor_print_the_documented_keys() {
    let lab = Lab::new();
    let both = [lab.json(&["explain", "fsync-storm"]), lab.json(&["explain"])];
    assert!(undocumented("explain", &both).is_empty());
    let mut told = vec![lab.json(&["doctor", "--place", "host"])];
    told.extend(Image::wasteful(&lab, "doctor").map(|image| {
        let place = format!("docker:{}", image.0);
        lab.json(&["doctor", "--no-probes", "--place", &place])
    }));
    let missing = undocumented("doctor", &told);
    // Reasons and notes are there only on machines that have any, an image only with an engine.
    let optional = [
        if told.len() > 1 { "image.layers[].problem" } else { "image" },
        // No thread stores a layer.
        "image.findings[].where[]",
        "degraded[]",
        "place.notes[]",
        // The host is not measured against itself.
        "measured.probes[]",
        "measured.findings[]",
        "measured.facts[]",
        "measured.left_out[]",
    ];
    let is_optional = |key: &String| optional.iter().any(|optional| key.starts_with(optional));
    assert!(missing.iter().all(is_optional), "{missing:?}");
}

#[test]
fn import_and_export_print_the_documented_keys() {
    let lab = Lab::new();
    // Read with losses on every machine: one of its events was sampled.
    let file = fixtures().join("../crates/exchange/tests/fixtures/perf-data/points.data");
    let arguments = ["import", &file.to_string_lossy(), "-o", "x.culprit"];
    let imported = lab.json(&arguments);
    assert!(imported["samples"].as_u64().is_some_and(|samples| samples > 0), "{imported}");
    assert!(undocumented("import", &[imported]).is_empty());
    let exported = lab.json(&["export", "x.culprit", "--to", "collapsed", "-o", "x.folded"]);
    assert!(exported["rows"].as_u64().is_some_and(|rows| rows > 0), "{exported}");
    assert!(undocumented("export", &[exported]).is_empty());
}

#[test]
fn record_and_why_print_the_documented_keys() {
    if !all_rights() {
        return skip("json of record and why", "recording without polling needs root");
    }
    let lab = Lab::new();
    let record = ["record", "-o", "x.culprit", "--json", "--", "sh", "-c", "echo to stdout"];
    let output = lab.culprit().args(record).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document and no more");
    assert!(stderr(&output).contains("to stdout\n"), "{}", stderr(&output));
    let missing = undocumented("record", &[document]);
    assert!(missing.iter().all(|key| key.starts_with("missing[]")), "{missing:?}");
    let output = lab
        .culprit()
        .args(["why", "--runs", "1", "-o", "w", "--json", "--place", "host"])
        .args([
            "--place",
            "host:/dev/shm",
            "--work",
            "1:go",
            "--instead",
            "true",
            "--",
            "sleep",
            "0.05",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    // Two places that differ in a file system alone have no findings and perhaps no difference.
    let optional =
        ["findings[]", "difference[]", "notes[]", "place_runs[].exit", "instead.place_runs[].exit"];
    for key in undocumented("why", &[document]) {
        assert!(optional.iter().any(|optional| key.starts_with(optional)), "{key}");
    }
}

#[test]
fn bench_and_verify_print_the_documented_keys() {
    let lab = Lab::new();
    let bench =
        lab.json(&["bench", "cmd", "-r", "3", "-L", "n", "1,2", "sleep 0.0{n}", "sleep 0.01"]);
    let without = |document, section, missing: &[&str]| {
        for key in undocumented(section, &[document]) {
            assert!(missing.iter().any(|optional| key.starts_with(optional)), "{section}: {key}");
        }
    };
    // A quiet machine disturbs nothing; only recorded rounds say what is inside.
    let disturbed = ["contended_rounds[]", "disturbances[]"];
    without(bench, "bench-cmd", &[&disturbed[..], &["inside[]"]].concat());
    let verify = ["verify", "-r", "3", "--no-record", "--before", "sleep 0.01", "--after", "true"];
    let verify = lab.json(&verify);
    without(verify, "verify", &[&disturbed[..], &["findings[]"]].concat());
    if !all_rights() {
        return skip("json of recorded rounds", "recording without polling needs root");
    }
    let arguments = ["-r", "2", "--record", "r", "--record-rounds", "1", "true", "sleep 0.05"];
    let recorded = lab.json(&[&["bench", "cmd"][..], &arguments].concat());
    assert_eq!(recorded["recordings"], "r");
    // What the findings of so short a command are is the machine's to say.
    let optional =
        [&disturbed[..], &["inside[].findings[]", "inside[].changes[]", "places[].parameters"]];
    without(recorded, "bench-cmd", &optional.concat());
}

#[test]
fn the_casebook_prints_the_documented_keys() {
    let lab = Lab::new();
    // What is missing is this machine's to say, and not every case needs a build.
    let without = |document, section, optional: &[&str]| {
        for key in undocumented(section, &[document]) {
            assert!(optional.iter().any(|optional| key.starts_with(optional)), "{section}: {key}");
        }
    };
    without(lab.json(&["casebook", "list"]), "casebook-list", &["cases[].missing"]);
    let shown = ["startup-waits", "docker-profile"];
    let shown = shown.map(|name| lab.json(&["casebook", "show", name]));
    let missing = undocumented("casebook-show", &shown);
    assert!(missing.iter().all(|key| key == "missing[]"), "{missing:?}");
    if !all_rights() {
        return skip("json of casebook run", "recording in full needs root");
    }
    let folder = lab.path("cases/pause");
    std::fs::create_dir_all(&folder).unwrap();
    let case = "title = 't'\nstory = 's'\nfix = 'f'\n[guilty]\ncommand = ['sleep', '0.2']\n\
        finding = 'idle-await'\n[fixed]\ncommand = ['sleep', '0.01']\n";
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let folder = lab.path("cases/ask");
    std::fs::create_dir_all(&folder).unwrap();
    let case = "title = 't'\nstory = 's'\nfix = 'f'\n[[question]]\n\
        command = ['explain', 'idle-await']\n\
        [[question.expect]]\nsays = 'it is known'\nat = '/id'\ntext = 'idle-await'\n";
    std::fs::write(folder.join("case.toml"), case).unwrap();
    let arguments = ["casebook", "run", "--all", "--dir", "cases", "--short", "--json"];
    let output = lab.culprit().args(arguments).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let optional = ["cases[].missing", "cases[].findings[]"];
    without(document, "casebook-run", &optional);
}

#[test]
fn a_probe_prints_the_documented_keys() {
    let document = Lab::new().json(&["bench", "syscall", "-r", "2", "--calls", "1000"]);
    // What two rounds tell is the machine's to say.
    let told = ["contended_rounds", "disturbances", "findings[]"];
    let optional = [&told[..], &["places[].facts", "places[].latency_buckets"]].concat();
    for key in undocumented("bench-probe", &[document]) {
        assert!(optional.iter().any(|optional| key.starts_with(optional)), "{key}");
    }
}

#[test]
fn explained_and_compared_probes_print_the_documented_keys() {
    let lab = Lab::new();
    let explained = lab.json(&["bench", "disk", "--diskspd", "-b4K -w10", "--explain"]);
    let undocumented_keys = undocumented("bench-disk---explain", &[explained]);
    assert!(undocumented_keys.is_empty(), "{undocumented_keys:?}");
    for file in ["a.json", "b.json"] {
        lab.json(&["bench", "syscall", "-r", "2", "--calls", "1000", "--save", file]);
    }
    let compared = lab.json(&["bench", "compare", "a.json", "b.json"]);
    // The same machine, a moment later.
    let same = ["after[].environment", "after[].unmatched"];
    for key in undocumented("bench-compare", &[compared]) {
        assert!(same.iter().any(|optional| key.starts_with(optional)), "{key}");
    }
}

#[test]
fn a_failure_is_one_document_too() {
    let lab = Lab::new();
    std::fs::write(lab.path("broken.toml"), "x").unwrap();
    for (arguments, code) in [
        (&["report", "nowhere.culprit", "--json"][..], 2),
        (&["recrod", "--json"], 2),
        (&["top", "--json"], 2),
        (&["--json", "record", "-o", "/proc/x.culprit", "--", "true"], 3),
        (&["--json", "record", "-o", "x.culprit", "--", "no-such-program"], 2),
    ] {
        let output = lab.culprit().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {output:?}"));
        assert_eq!(document["error"]["exit_code"], code, "{document}");
        let message = document["error"]["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains("\u{1b}"), "{document}");
        assert!(document["error"]["hint"].is_string(), "{document}");
        assert!(undocumented("a-failure", &[document]).is_empty());
        assert!(!stderr(&output).is_empty());
    }
    let output = lab.culprit().arg("recrod").env("CULPRIT_JSON", "1").output().unwrap();
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), "{output:?}");
    let output = lab.culprit().args(["recrod", "--", "--json"]).output().unwrap();
    assert!(output.stdout.is_empty(), "{output:?}");
}
