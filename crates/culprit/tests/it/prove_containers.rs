//! `culprit config prove` on commands in containers: of glibc and of musl, new ones and one that runs.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Image, Lab, all_rights, engine_answers, fixtures, program, skip, stderr};

const STEPS: &str = "FROM scratch\nCOPY . /\nENV QAX_READ=value QAX_READ_NOT=other-value\n";
const NEVER: &str = "armed_whole_life_no_access";

/// An image with the program that reads, and two variables.
fn image(lab: &Lab, test: &str, compiler: &str, flags: &[&str]) -> Result<Image, String> {
    let source = fixtures().join("prove/reads.c");
    let built = culprit_testkit::compiled_from(compiler, &[&source], "reads", flags)?;
    let root = lab.path("image");
    std::fs::create_dir(&root).map_err(|error| error.to_string())?;
    std::fs::copy(built, root.join("reads")).map_err(|error| error.to_string())?;
    if !flags.contains(&"-static") {
        for library in ["lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/libc.so.6"] {
            let to = root.join(library);
            std::fs::create_dir_all(to.parent().unwrap_or(&root)).map_err(|e| e.to_string())?;
            let from = Path::new("/").join(library);
            std::fs::copy(from, to).map_err(|error| format!("{library}: {error}"))?;
        }
    }
    std::fs::write(root.join("Dockerfile"), STEPS).map_err(|error| error.to_string())?;
    let name = format!("culprit-test-{test}-{}:1", std::process::id());
    let mut build = program("docker");
    build.args(["build", "--network", "none", "-t", &name]).arg(&root);
    build.env("DOCKER_BUILDKIT", "0").stdout(Stdio::null()).stderr(Stdio::null());
    assert!(build.status().expect("docker build").success());
    Ok(Image(name))
}

fn grade<'a>(found: &'a Value, name: &str) -> &'a str {
    let mut rows = found["variables"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("{name}: {found:#}"))["grade"].as_str().expect("a grade")
}

/// Whether records were lost, which leaves grades open.
fn is_lossy(found: &Value) -> bool {
    found["gaps"].as_array().expect("gaps").iter().any(|gap| gap["kind"] == "lost")
}

fn containers() -> String {
    let listed = program("docker").args(["ps", "-aq"]).output().expect("docker ps");
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

fn can(test: &str) -> bool {
    let can = all_rights() && engine_answers();
    if !can {
        skip(test, "a container engine, and root for its processes");
    }
    can
}

fn is_proved(test: &str, compiler: &str, flags: &[&str], read: &[&str]) {
    if !can(test) {
        return;
    }
    let lab = Lab::new();
    let image = match image(&lab, test, compiler, flags) {
        Ok(image) => image,
        Err(missing) => return skip(test, &missing),
    };
    let place = format!("docker:{}", image.0);
    let mut culprit = lab.culprit();
    // Without `--vars`, those of the image are watched.
    culprit.args(["config", "prove", "--json"]);
    let output = culprit.args(["--place", &place, "--", "/reads", "get:QAX_READ"]).output();
    let output = output.expect("culprit runs");
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    if !is_lossy(&found) {
        assert!(read.contains(&grade(&found, "QAX_READ")), "{found:#}");
        assert_eq!(grade(&found, "QAX_READ_NOT"), NEVER, "{found:#}");
    }
    let own = |line: &&str| line.contains(&image.0);
    assert_eq!(containers().lines().filter(own).count(), 0, "the container is left");
}

#[test]
fn a_container_with_glibc_is_observed_from_its_first_instruction() {
    is_proved("prove-glibc", "cc", &["-O2", "-g", "-pthread"], &["value_read"]);
}

#[test]
fn a_container_with_musl_is_observed_from_its_first_instruction() {
    is_proved("prove-musl", "musl-gcc", &["-O2", "-g", "-static"], &["value_read"]);
}

#[test]
fn a_container_that_runs_is_never_said_not_to_read() {
    let test = "prove-running";
    if !can(test) {
        return;
    }
    let lab = Lab::new();
    let image = match image(&lab, test, "cc", &["-O2", "-g", "-pthread"]) {
        Ok(image) => image,
        Err(missing) => return skip(test, &missing),
    };
    let name = format!("culprit-test-{test}-{}", std::process::id());
    let mut run = program("docker");
    run.args(["run", "-d", "--rm", "--net=none", "--name", &name, &image.0]);
    assert!(run.args(["/reads", "until:/go"]).output().expect("docker run").status.success());
    // A command in it is observed from its first instruction, with the variables of the image.
    let place = format!("container:{name}");
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "--place", &place, "--", "/reads"]);
    let inside = culprit.arg("get:QAX_READ").output().expect("culprit runs");
    let mut culprit = lab.culprit();
    culprit.args(["config", "prove", "--json", "-d", "1", "--container", &name]);
    let output = culprit.args(["--vars", "QAX_READ,QAX_READ_NOT"]).output().expect("culprit runs");
    let removed = program("docker").args(["rm", "-f", &name]).output().expect("docker rm");
    assert!(removed.status.success());
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let inside: Value =
        serde_json::from_slice(&inside.stdout).unwrap_or_else(|_| panic!("{}", stderr(&inside)));
    if !is_lossy(&inside) {
        assert_eq!(grade(&inside, "QAX_READ"), "value_read", "{inside:#}");
        assert_eq!(grade(&inside, "QAX_READ_NOT"), NEVER, "{inside:#}");
    }
    for name in ["QAX_READ", "QAX_READ_NOT"] {
        assert_eq!(grade(&found, name), "present_only", "{found:#}");
    }
    let late = |gap: &Value| gap["why"].as_str().is_some_and(|why| why.contains("late_attach"));
    assert!(found["gaps"].as_array().expect("gaps").iter().any(late), "{found:#}");
    assert_eq!(output.status.code(), Some(3), "an answer with gaps");
}
