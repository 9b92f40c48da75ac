//! What a program refuses of a file, or leaves out of it, is a finding at its line.

use culprit_config::{Certainty, Configuration, SourceState};

use crate::support::{chain, effective, findings, inspected};

/// The place and the reason of each `config-start-fails`.
fn refused(configuration: &Configuration) -> Vec<String> {
    let found = configuration.findings.iter().filter(|one| one.id == "config-start-fails");
    found.map(|one| format!("{} {}", one.evidence.join(","), one.why)).collect()
}

fn of_compose(text: &str) -> Configuration {
    inspected("compose", &[("compose.yaml", text)], &[])
}

#[test]
fn compose_refuses_keys_that_it_does_not_know() {
    for (text, place, word) in [
        (
            "services:\n  a:\n    image: x\n    enviroment:\n      A: \"1\"\n",
            ":4:5",
            "`environment`",
        ),
        ("services:\n  a:\n    image: x\n    env_files: .env\n", ":4:5", "`env_file`"),
        ("service:\n  a:\n    image: x\n", ":1:1", "`services`"),
        (
            "services:\n  a:\n    image: x\n    environment:\n      - B: \"2\"\n      - C=1\n",
            ":5:9",
            "`- B=...`",
        ),
        (
            "services:\n  a:\n    image: x\n    environment:\n      - MAX = 2\n",
            ":5:9",
            "`- MAX=...`",
        ),
        ("services:\n  a:\n    image: x\n    environment:\n      A: [1]\n", ":5", "`A` is a list"),
    ] {
        let found = of_compose(text);
        let reasons = refused(&found);
        assert_eq!(reasons.len(), 1, "{text}: {reasons:?}");
        assert!(reasons[0].starts_with(&format!("compose.yaml{place}")), "{text}: {reasons:?}");
        assert!(reasons[0].contains(word), "{text}: {reasons:?}");
        let exact = found.effective.iter().filter(|one| one.certainty != Certainty::Unknown);
        assert_eq!(exact.count(), 0, "{text}");
        assert!(found.effective.iter().all(|one| one.key != "a.2"), "{text}: {found:?}");
    }
    for text in [
        "x-a: 1\nservices:\n  a:\n    image: x\n    x-enviroment: 1\n    environment:\n      - A=1\n      - B\n",
        "services:\n  a:\n    extends: b\n  b:\n    build: .\n    a_new_key: 1\n",
        "services:\n  a:\n    profiles: [x]\n",
        "include: [b.yaml]\nservices:\n  a:\n    environment: [A=1]\n",
    ] {
        let found = of_compose(text);
        let own = refused(&found).into_iter().filter(|one| one.starts_with("compose.yaml"));
        assert_eq!(own.collect::<Vec<_>>(), [""; 0], "{text}");
    }
}

#[test]
fn compose_refuses_a_service_that_nothing_gives_an_image() {
    let own = "services:\n  worker:\n    image: x\n";
    let more = "services:\n  workers:\n    environment:\n      A: \"1\"\n";
    let files = [("compose.yaml", own), ("compose.override.yaml", more)];
    let reasons = refused(&inspected("compose", &files, &[]));
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].starts_with("compose.override.yaml:2:3"), "{reasons:?}");
    assert!(reasons[0].contains("did you mean `worker`?"), "{reasons:?}");
}

#[test]
fn compose_files_that_are_not_read_list_what_they_would_set() {
    let own = "services:\n  a:\n    image: x\n    environment:\n      A: \"1\"\n";
    let more = "services:\n  a:\n    environment:\n      - A=2\n";
    let files = [("compose.yaml", own), ("compose.prod.yaml", more)];
    let found = inspected("compose", &files, &[]);
    assert_eq!(effective(&found), ["a.A=1 < compose.yaml:5"]);
    assert_eq!(chain(&found, "a.A"), ["compose.yaml:5 won", "compose.prod.yaml:4 unread"]);
    let choices = found.choices_of(&found.effective[0]);
    let value = "COMPOSE_FILE=compose.yaml:compose.prod.yaml".to_owned();
    assert_eq!(choices, [("compose.prod.yaml", value)]);
}

#[test]
fn what_a_compose_file_that_is_not_there_may_ask_for_is_unknown() {
    let mut request = crate::support::request(std::path::Path::new("."), &[]);
    let folder = crate::support::folder(&[(".env", "A=1\nB=2\n")]);
    request.root = folder.path().to_owned();
    request.compose_files = vec!["nope.yml".into()];
    let profile = crate::support::profile("compose");
    let found = culprit_config::inspect(&profile, &request, crate::support::redactor());
    assert_eq!(findings(&found), ["config-start-fails "]);
}

const CONTAINER: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers:\n    - name: c\n      image: x\n";

fn of_kubernetes(container: &str, others: &str) -> Configuration {
    let text = format!("{CONTAINER}{container}---\n{others}");
    inspected("kubernetes", &[("a.yaml", &text)], &[])
}

#[test]
fn kubernetes_refuses_values_that_are_no_text_and_fields_that_it_does_not_know() {
    for (container, line, word) in [
        ("      env:\n        - {name: A, value: 5}\n", 9, "`A` is a number"),
        ("      env:\n        - {name: A, value: true}\n", 9, "`A` is a truth value"),
        ("      env:\n        - {name: A, value: off}\n", 9, "`A` is a truth value"),
        ("      env_from:\n        - configMapRef: {name: m}\n", 8, "`envFrom`"),
        ("      envFrom:\n        - configmapRef: {name: m}\n", 9, "`configMapRef`"),
    ] {
        let found = of_kubernetes(container, "");
        let reasons = refused(&found);
        assert_eq!(reasons.len(), 1, "{container}: {reasons:?}");
        assert!(reasons[0].starts_with(&format!("a.yaml:{line}:")), "{container}: {reasons:?}");
        assert!(reasons[0].contains(word), "{container}: {reasons:?}");
    }
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: shop}\ndata:\n  TIMEOUT: 30\n";
    let found = of_kubernetes("      envFrom: [{configMapRef: {name: m}}]\n", map);
    let reasons = refused(&found);
    assert!(reasons.len() == 1 && reasons[0].contains("`TIMEOUT` is a number"), "{reasons:?}");
    let sound = "      env:\n        - {name: A, value: \"5\"}\n        - {name: B, value: a}\n";
    assert_eq!(refused(&of_kubernetes(sound, "")), [""; 0]);
}

#[test]
fn a_secret_that_is_no_base64_is_refused_and_not_missing() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\ndata:\n  TOKEN: correct-horse\n  OTHER: aHVudGVyMgo=\n";
    let found = of_kubernetes("      envFrom: [{secretRef: {name: s}}]\n", secret);
    let reasons = refused(&found);
    assert!(reasons.len() == 1 && reasons[0].contains("`TOKEN` in `data`"), "{reasons:?}");
    assert!(reasons[0].starts_with("a.yaml:14:"), "{reasons:?}");
    let all = format!("{found:?}");
    assert!(!all.contains("correct-horse"), "{all}");
    assert!(found.sources.iter().all(|one| one.state != SourceState::MissingRequired));
    assert_eq!(chain(&found, "shop/pod/p/c.TOKEN"), ["a.yaml:14 unknown"]);
    // `echo hunter2 | base64`.
    assert!(findings(&found).contains(&"config-bad-env-file-value OTHER".to_owned()), "{all}");
}

#[test]
fn a_reference_as_shells_write_it_stays_as_text() {
    let text = "      env:\n        - {name: PW, value: x}\n        - {name: URL, value: \"postgres://u:${PW}@db/x\"}\n";
    let found = of_kubernetes(text, "");
    assert!(findings(&found).contains(&"config-blank-interpolation PW".to_owned()));
    let shown = effective(&found);
    assert!(shown[1].contains("=postgres://u:${PW}@db/x <"), "{shown:?}");
}

#[test]
fn an_object_of_another_namespace_is_named_with_it() {
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  namespace: other\ndata: {A: b}\n";
    let found = of_kubernetes("      envFrom: [{configMapRef: {name: m}}]\n", map);
    let source = found.sources.iter().find(|one| one.name == "configmap/m").unwrap();
    assert_eq!(source.state, SourceState::MissingRequired);
    assert!(source.why.contains("a.yaml:14 has one of this name in the namespace `other`"));
    assert!(!source.why.contains("did you mean"), "{}", source.why);
}

#[test]
fn a_value_that_nothing_takes_and_a_reference_to_nothing_are_one_finding() {
    let text = "services:\n  a:\n    image: x\n    environment:\n      HOST: ${PUBLIC_HOST}\n";
    let files = [("compose.yaml", text), (".env", "PUBLIC_HOSTNAME=x\n")];
    let found = inspected("compose", &files, &[]);
    assert_eq!(findings(&found), ["config-near-miss-name ${PUBLIC_HOSTNAME}"]);
    assert_eq!(
        found.findings[0].fix,
        ["Rename `PUBLIC_HOSTNAME` to `PUBLIC_HOST`, if this is meant."]
    );
}

#[test]
fn blanks_proxies_and_the_shell_of_compose_are_said() {
    let text = "services:\n  a:\n    image: x\n    environment:\n      - RATE= 100\n      - HTTP_PROXY\n      - PW=${DB}\n";
    let found = inspected("compose", &[("compose.yaml", text), (".env", "DB=a\n")], &[("DB", "b")]);
    assert_eq!(findings(&found), ["config-bad-env-file-value RATE", "config-shadowed ${DB}"]);
    let pw = found.assignments.iter().find(|one| one.key == "a.PW").unwrap();
    assert_eq!(pw.reason, "made from `${DB}` of the shell, over .env:1");
}
