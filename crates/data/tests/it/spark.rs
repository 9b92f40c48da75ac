//! `--engine`: another engine answers, a slice is compared, and what goes wrong is said.
//!
//! Sail answers here; it speaks the protocol of Apache Spark.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Output;

use culprit_testkit::skip;
use culprit_testkit::spark::SparkServer;
use serde_json::Value;

use crate::support::{Lab, program, stderr, stdout};

/// A folder with the store `store` of a sample.
fn lab() -> Lab {
    let lab = Lab::new();
    for line in [
        "audit sample -o sample --interactions 2000 --seed 5 --formats xdb-json",
        "audit import --from xdb-json sample/xdb-json -o store --shards 2 --quiet",
    ] {
        let output = run(&lab, &line.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    lab
}

fn run(lab: &Lab, arguments: &[&str]) -> Output {
    let mut culprit = program(env!("CARGO_BIN_EXE_culprit-data"));
    culprit.current_dir(lab.path(".")).args(arguments).output().unwrap()
}

/// A question, and what `stderr` must have of it.
fn fails(lab: &Lab, engine: &str, question: &str, code: i32, words: &[&str]) {
    let output = run(lab, &["sql", "--engine", engine, "store", question]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{engine} {question}: {text}");
    assert!(output.stdout.is_empty());
    for word in words {
        assert!(text.contains(word), "{engine} {question}: `{word}` is not in: {text}");
    }
}

fn sail() -> Option<SparkServer> {
    let started = SparkServer::sail();
    let missing = |why: &String| {
        skip("spark", &format!("pysail: python3 with venv, and pip install ({why})"));
    };
    started.inspect_err(missing).ok()
}

#[test]
fn an_engine_answers_as_this_machine_does() {
    let Some(server) = sail() else { return };
    let (lab, engine) = (lab(), server.address());
    let question = "SELECT shard, count(*) AS visits, 'it''s \\' AS \"from\" FROM interactions \
                    GROUP BY shard ORDER BY shard LIMIT 5";
    let here = run(&lab, &["sql", "--json", "store", question]);
    let there = run(&lab, &["sql", "--json", "--engine", &engine, "store", question]);
    let (here, talk) = (document(&here), stderr(&there));
    let there = document(&there);
    assert_eq!(here["rows"], there["rows"]);
    assert_eq!(here["rows"].as_array().unwrap().len(), 2);
    assert_eq!(there["engine"]["address"], engine.as_str());
    assert_eq!(there["engine"]["questions"], 1);
    assert!(talk.contains("computed the slice `day="), "{talk}");
    assert!(here.get("engine").is_none());
    let tables = run(&lab, &["sql", "--engine", &engine, "store", "DESCRIBE contacts"]);
    assert!(stdout(&tables).contains("contact_id"), "{}", stderr(&tables));
}

#[test]
fn reports_of_an_engine_are_those_of_this_machine() {
    let Some(server) = sail() else { return };
    let (lab, engine) = (lab(), server.address());
    for line in [
        "audit visits store --place country=UA --tz Europe/Kyiv --robots split",
        "audit robots store --by ua-net",
        "audit orphans store",
        "audit bloat store",
        "audit cap store --path InteractionsCache.Referrers[]",
        "audit impact store",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let here = run(&lab, &[&words[..], &["--json"]].concat());
        let there = run(&lab, &[&words[..], &["--json", "--engine", &engine]].concat());
        assert!(there.status.success(), "{line}: {}", stderr(&there));
        let (here, mut there) = (document(&here), document(&there));
        let asked = there.as_object_mut().unwrap().remove("engine").unwrap();
        assert!(asked["questions"].as_u64().unwrap() > 0, "{line}");
        assert_eq!(rounded(&here), rounded(&there), "{line}");
    }
}

/// Engines add up fractions in different orders.
fn rounded(document: &Value) -> Value {
    match document {
        Value::Number(number) if number.is_f64() => {
            format!("{:.9e}", number.as_f64().unwrap()).into()
        }
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(values) => {
            values.iter().map(|(key, value)| (key.clone(), rounded(value))).collect()
        }
        other => other.clone(),
    }
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("a document")
}

#[test]
fn an_engine_that_sees_other_rows_is_not_believed() {
    let Some(server) = sail() else { return };
    let lab = lab();
    // A contact more in every file: what the engine sees is not what is here.
    std::fs::create_dir(lab.path("other")).unwrap();
    let copied =
        program("cp").args(["-r", "store", "other/store"]).current_dir(lab.path(".")).status();
    assert!(copied.unwrap().success());
    let line = "audit sample -o more --interactions 2000 --seed 6 --formats xdb-json";
    assert!(run(&lab, &line.split(' ').collect::<Vec<_>>()).status.success());
    let line = "audit import --from xdb-json more/xdb-json -o again --shards 2 --quiet";
    assert!(run(&lab, &line.split(' ').collect::<Vec<_>>()).status.success());
    let path = format!("file://{}", lab.path("again").display());
    let question = "SELECT count(*) AS contacts, sum(contact_id) AS keys FROM contacts";
    let engine = server.address();
    let words = ["sql", "--engine", &engine, "--engine-path", &path, "store", question];
    let output = run(&lab, &words);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("slice `day=") && text.contains("1 row, (") || text.contains(") there, ("),
        "{text}"
    );
    assert!(text.contains(") here"), "{text}");
    assert!(output.stdout.is_empty());
    let path = format!("file://{}", lab.path("nowhere").display());
    let words = ["sql", "--engine", &engine, "--engine-path", &path, "store", question];
    let output = run(&lab, &words);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("the table `contacts`") && text.contains("--engine-path"), "{text}");
}

#[test]
fn what_is_wrong_with_a_question_is_said_before_and_after_it_is_sent() {
    let Some(server) = sail() else { return };
    let (lab, engine) = (lab(), server.address());
    fails(&lab, &engine, "SELECT * FROM interaction", 2, &["unknown table", "`interactions`"]);
    fails(&lab, &engine, "DROP TABLE contacts", 2, &["can only read"]);
    fails(&lab, &engine, "SELECT nosuch FROM contacts", 2, &["`nosuch`"]);
    fails(&lab, &engine, "EXPLAIN SELECT nosuch FROM contacts", 2, &[&engine, "nosuch"]);
    let output = run(&lab, &["sql", "--engine", &engine, "run.culprit", "SELECT 1 FROM threads"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--to tables"), "{}", stderr(&output));
}

#[test]
fn an_engine_that_cannot_be_used_says_why() {
    let lab = lab();
    let question = "SELECT count(*) FROM contacts";
    // Nobody listens on a port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gone = format!("sc://127.0.0.1:{port}");
    fails(&lab, &gone, question, 3, &[&gone, "refused", "docs/spark.md"]);
    fails(&lab, "sc://127.0.0.1/;use_tls=true", question, 2, &["`use_tls`", "`use_ssl`"]);
    fails(&lab, "127.0.0.1:15002", question, 2, &["sc://"]);
    fails(&lab, "sc://h/;token=topsecret;use_ssl=false", question, 2, &["use_ssl=true"]);
    // A web server answers in another protocol.
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("sc://127.0.0.1:{}", web.local_addr().unwrap().port());
    let serve = std::thread::spawn(move || {
        let (mut client, _) = web.accept().unwrap();
        let _ = client.read(&mut [0; 64]);
        client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    fails(&lab, &address, question, 3, &["cannot use", &address]);
    serve.join().unwrap();
    let output =
        run(&lab, &["sql", "--engine", &gone, "--engine-token-file", "none", "store", "x"]);
    assert!(stderr(&output).contains("cannot read the token"), "{}", stderr(&output));
}

/// A way to a server that ends its first connection after so many bytes of answers.
fn cutting(port: u16, after: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut left = Some(after);
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || copy(from, to, None));
            let left = left.take();
            std::thread::spawn(move || copy(server, client, left));
        }
    });
    own
}

/// Copies bytes until one side ends, or until so many were copied.
fn copy(mut from: TcpStream, mut to: TcpStream, mut left: Option<usize>) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if left.is_some_and(|left| left < count) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
        left = left.map(|left| left - count);
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn an_answer_goes_on_after_its_connection_has_ended() {
    let Some(server) = sail() else { return };
    let lab = lab();
    let question = "SELECT i.interaction_id AS visit, c.contact_id AS contact FROM interactions i \
                    JOIN contacts c ON c.contact_id < 300 ORDER BY visit, contact";
    let here = document(&run(&lab, &["sql", "--json", "--limit", "0", "store", question]));
    assert!(here["rows"].as_array().unwrap().len() > 250_000);
    // In the middle of the answer about all rows, which is the longest: 16 bytes a row, of which 2 MiB may be
    // on their way before anybody takes one.
    let engine = format!("sc://127.0.0.1:{}", cutting(server.port, 3 << 20));
    let words = ["sql", "--json", "--limit", "0", "--engine", &engine, "store", question];
    let there = document(&run(&lab, &words));
    assert_eq!(here["rows"], there["rows"]);
    // Nobody listens any more: the run ends.
    drop(server);
    let output = run(&lab, &words);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}
