//! `culprit config` of what a cluster has, and of images of services.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{Lab, stderr, stdout};

/// A secret that only its source gives away.
const SECRET: &str = "correct-horse";

/// What `kubectl get deploy,cm,secret -o json` prints. The secret is `correct-horse`.
const OBJECTS: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app"}, "data": {"LEVEL": "info"}},
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"WORD": "Y29ycmVjdC1ob3JzZQ=="}},
  {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec":
    {"containers": [{"name": "app", "image": "x", "env": [{"name": "LEVEL", "value": "debug"}],
      "envFrom": [{"configMapRef": {"name": "app"}}, {"secretRef": {"name": "db"}}]}]}}}}
]}"#;

fn is_answered(output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = found["profiles"][0]["keys"].as_array().unwrap();
    let winner = |key: &str| {
        let key = keys.iter().find(|one| one["key"] == key);
        key.unwrap_or_else(|| panic!("{found}"))["winner"]["value"]["text"].clone()
    };
    assert_eq!(winner("deployment/web/app.LEVEL"), "debug");
    assert_eq!(winner("deployment/web/app.WORD"), Value::Null);
    assert!(!stdout(output).contains(SECRET) && !stdout(output).contains("Y29ycmVjd"), "{found}");
}

#[test]
fn objects_of_a_cluster_are_read_from_a_file_and_from_standard_input() {
    let lab = Lab::new();
    std::fs::write(lab.path("objects.txt"), OBJECTS).unwrap();
    let of_file = ["config", "show", "--manifests", "objects.txt", "--json"];
    is_answered(&lab.culprit().args(of_file).output().unwrap());
    let mut culprit = lab.culprit();
    culprit.args(["config", "show", "--manifests", "-", "--json"]);
    let mut child = culprit.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(OBJECTS.as_bytes()).unwrap();
    is_answered(&child.wait_with_output().unwrap());
    std::fs::write(lab.path("empty.json"), "{}").unwrap();
    let empty = lab.culprit().args(["config", "show", "--manifests", "empty.json"]).output();
    let empty = empty.unwrap();
    assert_eq!(empty.status.code(), Some(2));
    assert!(stderr(&empty).contains("no objects with configuration"), "{}", stderr(&empty));
}

/// A program `kubectl` in the lab that does these lines.
fn kubectl(lab: &Lab, lines: &str) {
    let path = lab.path("bin/kubectl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn of_context(lab: &Lab, more: &[&str]) -> Output {
    let mut culprit = lab.culprit();
    culprit.env("PATH", format!("{}:/usr/bin:/bin", lab.path("bin").display()));
    culprit.args(["config", "show", "--kube-context", "test/one", "--json"]).args(more);
    culprit.output().unwrap()
}

#[test]
fn kubectl_is_asked_for_the_objects_of_a_context() {
    let lab = Lab::new();
    std::fs::write(lab.path("objects.json"), OBJECTS).unwrap();
    kubectl(&lab, "echo \"$@\" > asked.txt; cat objects.json");
    is_answered(&of_context(&lab, &[]));
    let asked = || std::fs::read_to_string(lab.path("asked.txt")).unwrap();
    assert!(asked().starts_with("--context test/one get deployments,"), "{}", asked());
    assert!(asked().trim_end().ends_with("-o json --all-namespaces"), "{}", asked());
    is_answered(&of_context(&lab, &["--namespace", "shop"]));
    assert!(asked().trim_end().ends_with("-o json --namespace shop"), "{}", asked());

    kubectl(&lab, "echo 'no such context' >&2; exit 1");
    let failed = of_context(&lab, &[]);
    assert_eq!(failed.status.code(), Some(3), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("`kubectl` ended with 1"), "{}", stderr(&failed));
    std::fs::remove_file(lab.path("bin/kubectl")).unwrap();
    let missing = of_context(&lab, &[]);
    assert_eq!(missing.status.code(), Some(3), "{}", stderr(&missing));
}

/// An archive as `docker save` writes it, of an image without layers.
fn archive(lab: &Lab, name: &str, tag: &str, environment: &[&str]) {
    let folder = lab.path("archive");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = serde_json::json!([{"Config": "c.json", "RepoTags": [tag], "Layers": []}]);
    std::fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    let description = serde_json::json!({"config": {"Env": environment}});
    std::fs::write(folder.join("c.json"), description.to_string()).unwrap();
    let mut tar = crate::support::program("tar");
    tar.arg("-cf").arg(lab.path(name)).arg("-C").arg(&folder).args(["manifest.json", "c.json"]);
    assert!(tar.status().unwrap().success());
}

#[test]
fn with_compose_files_an_image_is_that_of_their_services() {
    let lab = Lab::new();
    archive(&lab, "shop.tar", "shop:1", &["LEVEL=info", "ONLY=image", "DB_PASSWORD=correct-horse"]);
    let compose = "services:\n  web:\n    image: shop:1\n    environment: {LEVEL: debug}\n";
    std::fs::write(lab.path("compose.yaml"), compose).unwrap();
    let with = ["--compose", "compose.yaml", "--image", "shop.tar", "--no-env"];
    let show = lab.culprit().args(["config", "show"]).args(with).output().unwrap();
    let text = stdout(&show);
    assert!(show.status.success(), "{}", stderr(&show));
    assert!(text.contains("image shop:1") && !text.contains(SECRET), "{text}");
    let explain = lab.culprit().args(["config", "explain", "web.LEVEL"]).args(with).output();
    let text = stdout(&explain.unwrap());
    assert!(
        text.contains("won       compose.yaml:4") && text.contains("shadowed  image shop:1"),
        "{text}"
    );
    let explain = lab.culprit().args(["config", "explain", "web.ONLY"]).args(with).output();
    assert!(stdout(&explain.unwrap()).contains("won  image shop:1"));
}
