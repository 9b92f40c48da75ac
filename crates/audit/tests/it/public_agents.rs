//! The lists in the program against collections of user agents that others have published.
//!
//! `make accuracy` prints the table of docs/audit-robots.md. The collections come from packages of PyPI:
//! CrawlerDetect's test data (MIT), the examples of crawler-user-agents (MIT), and the browsers of
//! fake-useragent (Apache-2.0), which are weighted by how often they were seen.

use std::path::Path;

use culprit_audit::lists::{ListSet, stock_lists};
use culprit_testkit::python::venv;
use culprit_testkit::{program, skip, stderr, stdout};
use serde_json::Value;

const PACKAGES: [&str; 2] = ["crawler-user-agents==1.67.0", "fake-useragent==2.2.0"];

/// Prints `[[name, robots, [[text, weight]...]]...]`.
const SCRIPT: &str = r#"
import importlib.resources, json, subprocess, sys, tarfile
folder, package = sys.argv[1], "crawlerdetect==0.4.2"
subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                "--disable-pip-version-check", "--dest", folder, package], check=True, stdout=sys.stderr)
with tarfile.open(f"{folder}/crawlerdetect-0.4.2.tar.gz") as source:
    lines = lambda name: source.extractfile(
        f"crawlerdetect-0.4.2/tests/fixtures/user_agent/{name}.txt").read().decode().splitlines()
    crawlers, devices = lines("crawlers"), lines("devices")
import crawleruseragents
known = json.load(open(importlib.resources.files(crawleruseragents) / "crawler-user-agents.json"))
instances = [text for entry in known for text in entry.get("instances", [])]
import fake_useragent
browsers = open(importlib.resources.files(fake_useragent) / "data/browsers.jsonl").read().splitlines()
browsers = [json.loads(line) for line in browsers if line]
once = lambda texts: [[text, 1] for text in sorted(set(filter(None, texts)))]
json.dump([
    ["CrawlerDetect's robots", True, once(crawlers)],
    ["examples of crawler-user-agents", True, once(instances)],
    ["CrawlerDetect's devices", False, once(devices)],
    ["browsers of fake-useragent, by use", False, [[b["useragent"], b["percent"]] for b in browsers]],
], sys.stdout)
"#;

fn collections(folder: &Path) -> Result<Vec<Value>, String> {
    let python = venv("python-agents", &PACKAGES)?;
    let output = program(python).args(["-c", SCRIPT]).arg(folder).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(stderr(&output));
    }
    let text = stdout(&output);
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The weight of all user agents, of those in one list or more, in two or more, and in three.
fn shares(lists: &ListSet, agents: &[Value]) -> [f64; 4] {
    let mut sums = [0.0; 4];
    for agent in agents {
        let (text, weight) = (agent[0].as_str().unwrap(), agent[1].as_f64().unwrap());
        let votes = lists.votes(text).count();
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += if votes >= at { weight } else { 0.0 };
        }
    }
    sums
}

#[test]
#[ignore = "statistical: make accuracy"]
fn lists_find_public_robots_and_spare_public_browsers() {
    let folder = tempfile::tempdir().unwrap();
    let collections = match collections(folder.path()) {
        Ok(collections) => collections,
        Err(why) => {
            return skip("public agents", &format!("python3 with venv, and pip install ({why})"));
        }
    };
    let lists = ListSet::new(stock_lists(), Vec::new());
    println!("| collection | user agents | in a list | in two | in three |\n|---|---|---|---|---|");
    for collection in &collections {
        let agents = collection[2].as_array().unwrap();
        let [all, one, two, three] = shares(&lists, agents);
        let part = |sum: f64| sum / all * 100.0;
        let (name, count) = (collection[0].as_str().unwrap(), agents.len());
        let (one, two, three) = (part(one), part(two), part(three));
        println!("| {name} | {count} | {one:.2} % | {two:.2} % | {three:.2} % |");
        if collection[1] == true {
            assert!(count > 1000 && one > 90.0 && two > 70.0, "{name}: {one} {two}");
        } else {
            // Two lists make a robot.
            assert!(count > 1000 && two < 1.0, "{name}: {one} {two}");
        }
    }
}
