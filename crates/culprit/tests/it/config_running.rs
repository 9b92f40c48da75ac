//! `culprit config` of what runs: processes, containers, images; drift, snapshots and their comparison.

use std::io::BufRead as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::json::undocumented;
use crate::support::{
    Image, Lab, all_rights, build, engine_answers, program, skip, stderr, stdout,
};

/// A secret that only its key gives away.
const SECRET: &str = "correct-horse";

fn write(lab: &Lab, name: &str, text: &str) {
    let path = lab.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// `culprit ARGUMENTS` without variables, in the lab's folder.
fn run(lab: &Lab, arguments: &[&str]) -> Output {
    lab.culprit().env_clear().args(arguments).output().unwrap()
}

fn json(lab: &Lab, arguments: &[&str]) -> Value {
    let output = lab.culprit().env_clear().args(arguments).arg("--json").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// The `changes_env` program while it waits.
struct Running(Child);

impl Running {
    /// Starts it in a folder with these variables.
    fn start(folder: &Path, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = program(build("config/changes_env.c", flags));
        command.env_clear().envs(variables.iter().copied()).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const VARIABLES: &[(&str, &str)] =
    &[("CHANGED", "before"), ("REMOVED", "1"), ("Level", "Error"), ("DB_PASSWORD", SECRET)];

/// A .NET project with a secret.
fn project(lab: &Lab) {
    write(
        lab,
        "p/appsettings.json",
        &format!("{{\"Db\": {{\"Password\": \"{SECRET}\"}}, \"Level\": \"Info\"}}"),
    );
}

fn outcomes(document: &Value, key: &str) -> Vec<String> {
    let keys = document["keys"].as_array().unwrap().iter();
    let chain =
        keys.filter(|one| one["key"] == key).flat_map(|one| one["chain"].as_array().unwrap());
    let word = |one: &Value, name: &str| one[name].as_str().unwrap_or("-").to_owned();
    let text = |one: &Value| one["value"]["text"].as_str().unwrap_or("•••").to_owned();
    chain
        .map(|one| format!("{} {} {}", word(one, "outcome"), text(one), word(one, "reason")))
        .collect()
}

#[test]
fn a_process_has_the_variables_of_its_start_and_those_of_now() {
    let lab = Lab::new();
    project(&lab);
    for flags in [&["-static"][..], &[]] {
        let running = Running::start(&lab.path("p"), flags, VARIABLES);
        let explain = |key: &str| json(&lab, &["config", "explain", key, "--pid", &running.pid()]);
        let changed = outcomes(&explain("CHANGED"), "CHANGED");
        assert!(changed[0].starts_with("shadowed before PID "), "{changed:?}");
        assert_eq!(changed[1], "won after changed by the program since its start");
        let removed = outcomes(&explain("REMOVED"), "REMOVED");
        assert!(removed[0].ends_with("now does not have it"), "{removed:?}");
        let added = outcomes(&explain("ADDED"), "ADDED");
        assert_eq!(added, ["won new added by the program since its start"]);
        // The file of its working folder, with its variables over it.
        let level = json(&lab, &["config", "explain", "Level", "--pid", &running.pid()]);
        let of_files: Vec<&Value> = level["keys"].as_array().unwrap().iter().collect();
        assert!(of_files.iter().any(|one| one["profile"] == "dotnet"), "{level}");
    }
}

#[test]
fn what_is_wrong_with_a_process_is_found_and_its_secrets_are_hidden() {
    let lab = Lab::new();
    project(&lab);
    let running = Running::start(&lab.path("p"), &["-static"], VARIABLES);
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&lab.path("."), 0o755);
    open(&lab.path("p/appsettings.json"), 0o644);
    let file = std::fs::File::options().append(true).open(lab.path("p/appsettings.json")).unwrap();
    file.set_modified(later(3600)).unwrap();
    let output = run(&lab, &["config", "show", "--pid", &running.pid()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.starts_with(&format!("Process {}", running.pid())), "{text}");
    assert!(text.contains("config-newer-than-process") && text.contains("h 0 min"), "{text}");
    assert!(text.contains("config-secret-exposed") && text.contains("`chmod o-r"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
    // Neither: not open to others, and older than the process.
    open(&lab.path("p"), 0o700);
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    let text = stdout(&run(&lab, &["config", "show", "--pid", &running.pid()]));
    assert!(!text.contains("config-newer") && !text.contains("config-secret-exposed"), "{text}");
}

#[expect(clippy::disallowed_methods, reason = "a file's time is compared with the machine's clock")]
fn later(seconds: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(seconds)
}

#[test]
fn a_process_that_is_not_there_or_not_ours_is_called_so() {
    let lab = Lab::new();
    project(&lab);
    let output = run(&lab, &["config", "show", "--pid", "4294967295"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("process 4294967295 does not exist"), "{}", stderr(&output));
    if !all_rights() {
        return skip("another user's process", "root, to become another user");
    }
    let running = Running::start(&lab.path("p"), &["-static"], VARIABLES);
    let copy = lab.path("culprit");
    std::fs::copy(env!("CARGO_BIN_EXE_culprit"), &copy).unwrap();
    std::fs::set_permissions(lab.path("."), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut other = program("setpriv");
    other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy);
    other.args(["config", "show", "--pid", &running.pid()]).env_clear().current_dir("/");
    let output = match other.env("PATH", "/usr/bin:/bin").output() {
        Ok(output) => output,
        Err(_) => return skip("another user's process", "setpriv of util-linux"),
    };
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("CAP_SYS_PTRACE"), "{}", stdout(&output));
    assert!(!stdout(&output).contains("before"), "{}", stdout(&output));
}

/// What `docker inspect` prints of `count` replicas; one of three was made from another configuration.
fn inspected(count: usize) -> String {
    let container = |at: usize| {
        let level = if at.is_multiple_of(3) { "old" } else { "info" };
        serde_json::json!({
            "Id": format!("c{at}"), "Name": format!("/web-{at}"), "Image": "sha256:i",
            "Created": "2026-01-01T00:00:00Z", "State": {"Running": false, "Pid": 0},
            "Config": {
                "Image": "web:1",
                "Env": [format!("LEVEL={level}"), format!("DB_PASSWORD={SECRET}"), "PATH=/bin"],
                "Labels": {"com.docker.compose.service": "web", "com.docker.compose.config-hash": level},
            },
        })
    };
    let image = serde_json::json!({"Id": "sha256:i", "RepoTags": ["web:1"], "Config": {"Env": ["PATH=/bin"]}});
    let all: Vec<Value> = (0..count).map(container).chain([image]).collect();
    serde_json::to_string(&all).unwrap()
}

fn compose_lab(count: usize) -> Lab {
    let lab = Lab::new();
    write(
        &lab,
        "compose.yaml",
        &format!(
            "services:\n  web:\n    environment:\n      LEVEL: info\n      DB_PASSWORD: {SECRET}\n"
        ),
    );
    write(&lab, "all.json", &inspected(count));
    write(&lab, "hashes", "web info\n");
    lab
}

const DRIFT: &[&str] = &[
    "config",
    "drift",
    "--inspect",
    "all.json",
    "--compose",
    "compose.yaml",
    "--hashes",
    "hashes",
];

#[test]
fn drift_between_a_compose_file_and_containers_is_found_in_a_file() {
    let lab = compose_lab(2);
    let output = run(&lab, DRIFT);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        text.contains("`LEVEL` has another value in created-with than in compose, service web.")
    );
    assert!(text.contains("The container was not made from what the compose file says now."));
    assert!(text.contains("LEVEL        same  differs  missing  info"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
    let failing = [DRIFT, &["--fail-on", "config-drift"]].concat();
    assert_eq!(run(&lab, &failing).status.code(), Some(1));
    let document = json(&lab, &[DRIFT, &["--all"]].concat());
    let missing = undocumented("config-drift", &[document]);
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_thousand_containers_are_one_table() {
    let lab = compose_lab(1000);
    let document = json(&lab, DRIFT);
    let subjects = document["subjects"].as_array().unwrap();
    assert_eq!(subjects.len(), 1000);
    let with_findings =
        subjects.iter().filter(|one| !one["findings"].as_array().unwrap().is_empty());
    assert_eq!(with_findings.count(), 334);
    let text = stdout(&run(&lab, DRIFT));
    assert!(text.lines().filter(|line| line.starts_with("container `web-")).count() >= 1000);
}

#[test]
fn drift_that_cannot_be_compared_says_why() {
    let lab = compose_lab(1);
    for (arguments, reason) in [
        (&["config", "drift"][..], "nothing that runs is named"),
        (&["config", "drift", "--inspect", "hashes"], "not the output of `docker inspect`"),
        (&["config", "drift", "--inspect", "none"], "No such file"),
        (&["config", "drift", "--pid", "4294967295"], "does not exist"),
    ] {
        let output = run(&lab, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

#[test]
fn a_snapshot_is_explained_compared_and_holds_no_secret() {
    let lab = Lab::new();
    project(&lab);
    let made = run(&lab, &["config", "snapshot", "--root", "p", "-o", "a.jsonl"]);
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(stderr(&made).contains("wrote a.jsonl: 2 keys of the folder `p`"), "{}", stderr(&made));
    let snapshot = std::fs::read_to_string(lab.path("a.jsonl")).unwrap();
    assert!(!snapshot.contains(SECRET), "{snapshot}");
    let live = stdout(&run(&lab, &["config", "explain", "level", "--root", "p"]));
    let kept = stdout(&run(&lab, &["config", "explain", "level", "--snapshot", "a.jsonl"]));
    assert_eq!(live, kept);
    let wrong = run(&lab, &["config", "explain", "levle", "--snapshot", "a.jsonl"]);
    assert!(stderr(&wrong).contains("did you mean `Level`"), "{}", stderr(&wrong));

    write(
        &lab,
        "p/appsettings.json",
        "{\"Db\": {\"Password\": \"another-one!!\"}, \"Level\": \"Info\"}",
    );
    let like = ["config", "snapshot", "--root", "p", "--like", "a.jsonl", "-o", "b.jsonl"];
    assert!(run(&lab, &like).status.success());
    let sides: &[&[&str]] = &[&["a.jsonl", "b.jsonl"], &["a.jsonl", "p"]];
    for sides in sides {
        let document = json(&lab, &[&["config", "diff"], *sides].concat());
        assert_eq!(document["keys"][0]["key"], "Db:Password", "{document}");
        assert_eq!(
            (&document["keys"][0]["change"], &document["same"]),
            (&"changed".into(), &1.into())
        );
        let missing = undocumented("config-diff", &[document]);
        let missing: Vec<_> = missing.iter().map(String::as_str).collect();
        assert_eq!(missing, ["alone[].profile", "alone[].side"]);
    }
    let failing = ["config", "diff", "a.jsonl", "b.jsonl", "--fail-on-difference"];
    assert_eq!(run(&lab, &failing).status.code(), Some(1));
    let no_key = ["config", "snapshot", "--root", "p", "--no-key", "-o", "c.jsonl"];
    assert!(run(&lab, &no_key).status.success());
    let text = stdout(&run(&lab, &["config", "diff", "b.jsonl", "c.jsonl"]));
    assert!(text.contains("unknown") && text.contains("`--like`"), "{text}");
}

#[test]
fn plaintext_goes_to_a_terminal_alone() {
    let lab = Lab::new();
    project(&lab);
    let reveal = ["config", "explain", "Db:Password", "--root", "p", "--reveal", "Db:Password"];
    let output = run(&lab, &reveal);
    assert_eq!(output.status.code(), Some(2));
    let printed = stdout(&output) + &stderr(&output);
    assert!(printed.contains("is not a terminal") && !printed.contains(SECRET), "{printed}");
    let page = ["config", "show", "--root", "p", "--html", "x.html", "--reveal", "Db:Password"];
    assert_eq!(run(&lab, &page).status.code(), Some(2));
    assert!(!lab.path("x.html").exists());
    let mut script = program("script");
    let line = format!("{} {}", env!("CARGO_BIN_EXE_culprit"), reveal.join(" "));
    script.args(["-qec", &line, "/dev/null"]).current_dir(lab.path(".")).stdin(Stdio::null());
    match script.output() {
        Ok(output) => assert!(stdout(&output).contains(SECRET), "{}", stdout(&output)),
        Err(_) => skip("plaintext on a terminal", "script of util-linux"),
    }
}

#[test]
fn the_page_has_the_keys_and_no_secret() {
    let lab = Lab::new();
    project(&lab);
    write(
        &lab,
        "p/appsettings.Production.json",
        "{\"<script>alert(1)</script>\": \"<img src=x>\"}",
    );
    let output = run(&lab, &["config", "show", "--root", "p", "--html", "page.html"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("Db:Password") && page.contains("•••"));
    assert!(!page.contains(SECRET) && !page.contains("<script") && !page.contains("<img"));
    assert!(page.contains("default-src &#39;none&#39;"));
}

#[test]
fn own_settings_say_which_file_or_variable_wins() {
    let lab = Lab::new();
    write(&lab, "home/culprit/culprit.toml", "[record]\nfrequency = 99\nmax-mib = 5\n");
    write(&lab, "culprit.toml", "color = \"never\"\n[record]\nfrequency = 499\n");
    let mut culprit = lab.culprit();
    culprit.env_clear().env("XDG_CONFIG_HOME", lab.path("home")).env("CULPRIT_MAX_MIB", "7");
    culprit.env("CULPRIT_FREQUENCEY", "1");
    let output = culprit.args(["config", "show", "--self", "--json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let keys = document["profiles"][0]["keys"].as_array().unwrap();
    let winner = |key: &str| {
        let found = keys.iter().find(|one| one["key"] == key);
        let winner = &found.unwrap_or_else(|| panic!("no {key}: {document}"))["winner"];
        let source = winner["source"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        (source, winner["value"]["text"].as_str().unwrap().to_owned(), winner["line"].as_u64())
    };
    assert_eq!(winner("record.frequency"), ("culprit.toml".into(), "499".into(), Some(3)));
    assert_eq!(winner("record.max-mib"), ("environment".into(), "7".into(), None));
    assert_eq!(winner("color"), ("culprit.toml".into(), "never".into(), Some(1)));
    let left = document["profiles"][0]["leaves_out"].to_string();
    assert!(left.contains("CULPRIT_FREQUENCEY"), "{left}");
}

/// A container that was started for a test, by its name.
struct Container(String);

impl Drop for Container {
    fn drop(&mut self) {
        let _ = program("docker").args(["rm", "-f", &self.0]).stdout(Stdio::null()).status();
    }
}

/// An image of `changes_env` with a variable, and a container of it with others.
fn container(lab: &Lab, test: &str) -> Option<(Image, Container)> {
    if !all_rights() || !engine_answers() {
        skip(test, "a container engine, and root for its processes");
        return None;
    }
    let built = build("config/changes_env.c", &["-static"]);
    let folder = lab.path("image");
    std::fs::create_dir_all(folder.join("app")).unwrap();
    std::fs::copy(built, folder.join("changes_env")).unwrap();
    std::fs::write(folder.join("app/appsettings.json"), "{\"Level\": \"Info\"}").unwrap();
    let tar = lab.path("image.tar");
    let packed = program("tar").arg("-cf").arg(&tar).arg("-C").arg(&folder).arg(".").status();
    assert!(packed.unwrap().success());
    let name = format!("culprit-test-{test}-{}:1", std::process::id());
    let mut import = program("docker");
    import.args(["import", "-c", "ENV FROM_IMAGE=1 CHANGED=image", "-c", "WORKDIR /app"]);
    import.args(["-c", &format!("ENV API_TOKEN={SECRET}")]).arg(&tar).arg(&name);
    assert!(import.stdout(Stdio::null()).status().unwrap().success());
    let image = Image(name);
    let container = Container(format!("culprit-test-{test}-{}", std::process::id()));
    let mut run = program("docker");
    run.args(["run", "-d", "--net=none", "--name", &container.0, "-e", "REMOVED=1"]);
    run.args(["-e", "Level=Error", &image.0, "/changes_env"]).stdout(Stdio::null());
    assert!(run.status().unwrap().success());
    crate::support::wait_until("the program is ready", || {
        let logs = program("docker").args(["logs", &container.0]).output().unwrap();
        stdout(&logs).contains("ready")
    });
    Some((image, container))
}

#[test]
fn a_container_is_inspected_from_its_image_to_its_memory() {
    let lab = Lab::new();
    let Some((image, container)) = container(&lab, "config-container") else { return };
    let explain = |key: &str| {
        outcomes(&json(&lab, &["config", "explain", key, "--container", &container.0]), key)
    };
    let changed = explain("CHANGED");
    assert!(changed[0].starts_with("shadowed image"), "{changed:?}");
    assert!(changed[1].contains("taken from the image (assumed"), "{changed:?}");
    assert_eq!(changed[3], "won after changed by the program since its start");
    assert!(explain("REMOVED")[0].contains("given when the container was created"));
    let text = stdout(&run(&lab, &["config", "show", "--container", &container.0]));
    assert!(text.contains("The secret `API_TOKEN` is a variable of the image"), "{text}");
    assert!(text.contains("appsettings.json:1") && text.contains("(dotnet)"), "{text}");
    assert!(!text.contains(SECRET), "{text}");

    let drift = stdout(&run(&lab, &["config", "drift", "--container", &container.0]));
    assert!(drift.contains("`CHANGED` has another value in PID 1 (changes_env) now"), "{drift}");
    let of_image = stdout(&run(&lab, &["config", "show", "--image", &image.0]));
    assert!(
        of_image.contains("FROM_IMAGE") && of_image.contains("appsettings.json:1"),
        "{of_image}"
    );
    let saved = lab.path("saved.tar");
    let save = program("docker").arg("save").arg("-o").arg(&saved).arg(&image.0).status();
    assert!(save.unwrap().success());
    let archive = stdout(&run(&lab, &["config", "show", "--image", "saved.tar"]));
    assert!(archive.contains("FROM_IMAGE") && archive.contains("appsettings.json:1"), "{archive}");

    assert!(
        program("docker")
            .args(["kill", &container.0])
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    let gone = run(&lab, &["config", "show", "--container", &container.0]);
    assert_eq!(gone.status.code(), Some(3), "{}", stdout(&gone));
    // The table wraps reasons.
    let words = stdout(&gone).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the container is not running (it is exited)"), "{words}");
}

#[test]
fn without_an_engine_the_way_out_is_named() {
    let lab = Lab::new();
    let mut culprit = lab.culprit();
    culprit.env("DOCKER_HOST", "/none.sock").env("CONTAINER_HOST", "/none.sock");
    let output = culprit.args(["config", "show", "--container", "web"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
}
