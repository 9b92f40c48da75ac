//! Variables of containers from manifests.

use culprit_config::{Certainty, Configuration, Request, SourceState, detects, inspect};

use crate::support::{chain, effective, findings, folder, inspected, profile, redactor, request};

/// A deployment `web` whose container `app` has these lines below its name.
fn deployment(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("        {line}\n")).collect();
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    \
         metadata:\n      labels: {{app: shop}}\n    spec:\n      containers:\n      - name: app\n{lines}"
    )
}

const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  \
                        LEVEL: info\n  REGION: eu\n";

/// What the files say of the keys of `deployment/web/app`.
fn of_app(files: &[(&str, &str)]) -> (Vec<String>, Configuration) {
    let found = inspected("kubernetes", files, &[]);
    let rows = effective(&found).into_iter();
    let rows =
        rows.filter_map(|row| row.strip_prefix("deployment/web/app.").map(str::to_owned)).collect();
    (rows, found)
}

fn reason<'a>(found: &'a Configuration, key: &str) -> &'a str {
    let key = found.effective.iter().find(|one| one.key == key).unwrap();
    &found.assignments[*key.chain.last().unwrap()].reason
}

#[test]
fn env_is_stronger_than_env_from_and_the_last_of_each_wins() {
    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {LEVEL: debug}\n";
    let deployment = deployment(
        "envFrom:\n- configMapRef: {name: settings}\n- configMapRef: {name: more}\n- prefix: S_\n  \
         configMapRef: {name: settings}\nenv:\n- name: REGION\n  value: us\n- name: REGION\n  value: ap\n",
    );
    let maps = format!("{SETTINGS}---\n{more}");
    let (rows, found) = of_app(&[("k8s/app.yaml", &deployment), ("k8s/maps.yaml", &maps)]);
    assert_eq!(
        rows,
        [
            "LEVEL=debug < k8s/maps.yaml:12",
            "REGION=ap < k8s/app.yaml:20",
            "S_LEVEL=info < k8s/maps.yaml:6",
            "S_REGION=eu < k8s/maps.yaml:7"
        ]
    );
    assert_eq!(
        chain(&found, "deployment/web/app.REGION"),
        ["k8s/maps.yaml:7 shadowed", "k8s/app.yaml:18 shadowed", "k8s/app.yaml:20 won"]
    );
    assert_eq!(chain(&found, "deployment/web/app.LEVEL")[0], "k8s/maps.yaml:6 shadowed");
    assert_eq!(found.find("LEVEL").len(), 1);
    let names: Vec<&str> = found.variables.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "REGION").count(), 3, "{names:?}");
}

#[test]
fn references_see_only_what_stands_above_them() {
    let deployment = deployment(
        "envFrom:\n- configMapRef: {name: settings}\nenv:\n- name: A\n  value: $(LEVEL)-$(LATER)\n\
         - name: LATER\n  value: x\n- name: B\n  value: $(LATER)\n- name: C\n  value: $$(LATER)\n\
         - name: D\n  value: $(REDIS_SERVICE_HOST):1\n- name: E\n  value: '<$(D)>'\n",
    );
    let (rows, found) = of_app(&[("a.yaml", &deployment), ("b.yaml", SETTINGS)]);
    assert_eq!(
        rows,
        [
            "A=info-$(LATER) < a.yaml:15",
            "B=x < a.yaml:19",
            "C=$(LATER) < a.yaml:21",
            "LATER=x < a.yaml:17",
            "LEVEL=info < b.yaml:6",
            "REGION=eu < b.yaml:7"
        ]
    );
    let of_a = reason(&found, "deployment/web/app.A");
    assert!(of_a.contains("`LATER` is set further below"), "{of_a}");
    for name in ["D", "E"] {
        let key = found.find(name)[0];
        assert_eq!((key.winner, key.certainty), (None, Certainty::Unknown), "{name}");
    }
    assert_eq!(findings(&found), ["config-blank-interpolation LATER"]);
}

#[test]
fn secrets_are_hidden_wherever_they_come_to() {
    // `aHVudGVyMg==` is `hunter2`.
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata:\n  user: YXBw\n  \
                  word: aHVudGVyMg==\nstringData:\n  user: admin\n  flag: \"true\"\n";
    let deployment = deployment(
        "envFrom:\n- secretRef: {name: db}\nenv:\n- name: URL\n  value: db://host/$(word)/x\n\
         - name: COPY\n  valueFrom: {secretKeyRef: {name: db, key: word}}\n",
    );
    let (rows, found) = of_app(&[("a.yaml", &deployment), ("b.yaml", secret)]);
    assert_eq!(
        rows,
        [
            "COPY=••• < a.yaml:17",
            "URL=••• < a.yaml:15",
            "flag=••• < b.yaml:9",
            "user=••• < b.yaml:8",
            "word=••• < b.yaml:6"
        ]
    );
    assert_eq!(
        chain(&found, "deployment/web/app.user"),
        ["b.yaml:5 shadowed", "b.yaml:8 won"],
        "stringData wins over data"
    );
    let shown = format!("{found:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVyMg"));
    let [copy, word] = ["COPY", "word"].map(|name| {
        let winner = found.find(name)[0].winner.unwrap();
        found.assignments[winner].value.clone()
    });
    assert!(copy.equals(&word), "the value is decoded");
}

#[test]
fn what_no_file_has_is_missing_and_optional_or_not() {
    let of = |optional: &str| {
        let deployment = deployment(&format!(
            "envFrom:\n- secretRef: {{name: none{optional}}}\nenv:\n- name: A\n  value: x\n"
        ));
        of_app(&[("a.yaml", &deployment)]).1
    };
    let found = of("");
    let state = |found: &Configuration| {
        found.sources.iter().find(|source| source.name == "secret/none").unwrap().state
    };
    assert_eq!((state(&found), found.has_gaps()), (SourceState::MissingRequired, true));
    assert_eq!(found.find("A")[0].certainty, Certainty::Unknown, "the container does not start");
    let found = of(", optional: true");
    assert_eq!((state(&found), found.has_gaps()), (SourceState::Missing, false));
    assert_eq!(found.find("A")[0].certainty, Certainty::Exact);
}

#[test]
fn a_key_that_does_not_exist_is_explained() {
    let deployment = deployment(
        "env:\n- name: LOG\n  valueFrom: {configMapKeyRef: {name: settings, key: LEVLE}}\n\
         - name: ZONE\n  valueFrom: {configMapKeyRef: {name: settings, key: ZONE, optional: true}}\n\
         - name: R\n  valueFrom: {configMapKeyRef: {name: settings, key: REGION}}\n",
    );
    let (rows, found) = of_app(&[("a.yaml", &deployment), ("b.yaml", SETTINGS)]);
    assert_eq!(rows, ["R=eu < a.yaml:17"]);
    let why = reason(&found, "deployment/web/app.LOG");
    assert_eq!(
        why,
        "configmap/settings has no key `LEVLE`, without which the container does not start; did you mean `LEVEL`?"
    );
    assert_eq!(
        findings(&found),
        ["config-target-missing deployment/web/app.LOG", "config-never-applied ZONE"]
    );
    // Nothing takes this key, and that is no mistake.
    assert_eq!(chain(&found, "configmap/settings.LEVEL"), ["b.yaml:6 unread"]);
}

#[test]
fn fields_of_the_pod_are_known_where_the_manifest_has_them() {
    let field = |name: &str, path: &str| {
        format!("- name: {name}\n  valueFrom: {{fieldRef: {{fieldPath: \"{path}\"}}}}\n")
    };
    let lines = [
        field("APP", "metadata.labels['app']"),
        field("IP", "status.podIP"),
        "- name: CPU\n  valueFrom: {resourceFieldRef: {resource: limits.cpu}}\n".to_owned(),
    ];
    let (rows, found) = of_app(&[("a.yaml", &deployment(&format!("env:\n{}", lines.concat())))]);
    assert_eq!(rows, ["APP=shop < a.yaml:13"]);
    for (name, why) in [("IP", "status.podIP"), ("CPU", "limits.cpu")] {
        assert_eq!(found.find(name)[0].certainty, Certainty::Unknown);
        let key = format!("deployment/web/app.{name}");
        assert!(reason(&found, &key).contains(why), "{}", reason(&found, &key));
    }
}

#[test]
fn names_that_no_variable_can_have_are_said() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {1ST: a, ok.name: b}\n\
               binaryData: {BIN: AAAA}\n";
    let deployment = deployment(
        "envFrom:\n- configMapRef: {name: m}\n- {prefix: 'ä', configMapRef: {name: m}}\n",
    );
    let (rows, found) = of_app(&[("a.yaml", &deployment), ("b.yaml", map)]);
    assert_eq!(rows, ["1ST=a < b.yaml:4", "ok.name=b < b.yaml:4"]);
    assert!(reason(&found, "deployment/web/app.1ST").contains("before 1.32"));
    assert_eq!(chain(&found, "deployment/web/app.BIN"), ["b.yaml:5 never_applied"]);
    assert_eq!(chain(&found, "deployment/web/app.äok.name"), ["b.yaml:4 never_applied"]);
}

#[test]
fn every_kind_of_workload_has_its_containers() {
    let pod = "spec: {initContainers: [{name: init, env: [{name: I, value: i}]}], containers: \
               [{name: app, env: [{name: A, value: a}]}]}";
    let mut text =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: x, namespace: n}}\n{pod}\n");
    for kind in ["StatefulSet", "DaemonSet", "Job", "Rollout"] {
        text.push_str(&format!(
            "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{template: {{{pod}}}}}\n"
        ));
    }
    text.push_str(&format!(
        "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: x}}\nspec: {{jobTemplate: \
         {{spec: {{template: {{{pod}}}}}}}}}\n"
    ));
    let found = inspected("kubernetes", &[("all.yaml", &text)], &[]);
    let keys: Vec<&str> = found.effective.iter().map(|one| one.key.as_str()).collect();
    let kinds = ["cronjob", "daemonset", "job", "n/pod", "rollout", "statefulset"];
    let expected: Vec<String> = kinds
        .iter()
        .flat_map(|kind| [format!("{kind}/x/app.A"), format!("{kind}/x/init.I")])
        .collect();
    assert_eq!(keys, expected);
    let folder = folder(&[("all.yaml", text.as_str())]);
    let defines = vec![("container".to_owned(), vec!["init".to_owned()])];
    let request = Request { defines, ..request(folder.path(), &[]) };
    let found = inspect(&profile("kubernetes"), &request, redactor());
    assert!(found.effective.iter().all(|one| one.key.ends_with("/init.I")));
    assert_eq!(found.effective.len(), 6);
}

#[test]
fn what_kubectl_writes_is_a_manifest() {
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "p"},
         "data": {"A": "1"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": "p"},
         "spec": {"template": {"spec": {"containers": [
           {"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}]}}}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "q"},
         "data": {"A": "2"}}]}"#;
    let found = inspected("kubernetes", &[("cluster.json", json)], &[]);
    assert_eq!(effective(&found), ["p/deployment/w/c.A=1 < cluster.json:3"]);
    assert_eq!(chain(&found, "q/configmap/m.A"), ["cluster.json:8 unread"]);
}

#[test]
fn of_two_objects_of_one_name_the_later_file_counts() {
    let other = SETTINGS.replace("info", "debug");
    let deployment = deployment("envFrom:\n- configMapRef: {name: settings}\n");
    let files = [("a.yaml", SETTINGS), ("b.yaml", other.as_str()), ("c.yaml", deployment.as_str())];
    let (rows, found) = of_app(&files);
    assert_eq!(rows, ["LEVEL=debug < b.yaml:6", "REGION=eu < b.yaml:7"]);
    assert_eq!(chain(&found, "deployment/web/app.LEVEL")[0], "a.yaml:6 unread");
    assert_eq!(found.find("LEVEL")[0].certainty, Certainty::Assumed);
}

#[test]
fn generators_of_kustomize_make_objects() {
    let kustomization = "configMapGenerator:\n- name: settings\n  literals:\n  - LEVEL=\"debug\"\n  \
                         envs: [base.env]\n  files: [motd=text/motd.txt]\nsecretGenerator:\n- name: db\n  \
                         literals: [PIN=1234]\n";
    let deployment =
        deployment("envFrom:\n- configMapRef: {name: settings}\n- secretRef: {name: db}\n");
    let (rows, _) = of_app(&[
        ("kustomization.yaml", kustomization),
        ("base.env", "# a comment\nLEVEL=info\nMODE=a b\n"),
        ("text/motd.txt", "hello"),
        ("deployment.yaml", &deployment),
    ]);
    assert_eq!(
        rows,
        [
            "LEVEL=debug < kustomization.yaml:4",
            "MODE=a b < base.env:3",
            "PIN=••• < kustomization.yaml:9",
            "motd=hello < text/motd.txt:1"
        ]
    );
}

#[test]
fn a_patch_of_kustomize_and_a_template_of_helm_are_left_and_said() {
    let whole = deployment("env:\n- name: A\n  value: x\n");
    let (rows, found) = of_app(&[
        ("base/deployment.yaml", &whole),
        ("prod/kustomization.yaml", "configMapGenerator: []\npatches:\n- path: patch.yaml\n"),
        ("prod/patch.yaml", &deployment("env:\n- name: A\n  value: y\n")),
        ("chart/Chart.yaml", "apiVersion: v2\nname: x\n"),
        ("chart/templates/web.yaml", &deployment("env:\n- name: A\n  value: {{ .Values.a }}\n")),
    ]);
    assert_eq!(rows, ["A=x < base/deployment.yaml:13"]);
    let state = |name: &str| found.sources.iter().find(|source| source.name == name).unwrap().state;
    assert_eq!(state("prod/patch.yaml"), SourceState::Unsupported);
    assert_eq!(state("chart/templates/web.yaml"), SourceState::Unread);
}

#[test]
fn a_folder_of_manifests_is_found_by_itself() {
    let kubernetes = profile("kubernetes");
    let detected = |files: &[(&str, &str)]| detects(&kubernetes, folder(files).path());
    assert!(detected(&[("deploy/k8s/prod/a.yml", SETTINGS)]));
    assert!(detected(&[("kustomization.yaml", "configMapGenerator: []\n")]));
    for (name, text) in [
        ("compose.yaml", "services: {web: {image: x}}\n"),
        ("package.json", "{\"name\": \"x\"}"),
        ("chart/Chart.yaml", "apiVersion: v2\n"),
        (".github/a.yaml", SETTINGS),
        ("node_modules/x/a.yaml", SETTINGS),
    ] {
        assert!(!detected(&[(name, text)]), "{name}");
    }
}

#[test]
fn a_malformed_object_is_refused_alone() {
    let bad = "apiVersion: v1\nkind: Secret\nmetadata: {name: bad}\ndata: {A: '%%'}\n---\n";
    let deployment = deployment("env:\n- name: A\n  value: x\n");
    let (rows, found) = of_app(&[
        ("a.yaml", &format!("{bad}{deployment}")),
        ("b.yaml", "kind: [\napiVersion: containers\n"),
    ]);
    assert_eq!(rows, ["A=x < a.yaml:18"]);
    let states: Vec<String> = found
        .sources
        .iter()
        .filter(|source| source.state.is_gap())
        .map(|source| format!("{}: {}", source.name, source.why))
        .collect();
    assert!(
        states.iter().any(|row| row.contains("line 4: `A` in `data` is no base64")),
        "{states:?}"
    );
    assert_eq!(states.len(), 2, "{states:?}");
}

#[test]
fn an_object_that_no_pod_uses_is_found_and_one_that_anything_names_is_not() {
    let map = |name: &str, more: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{A: x}}\n{more}"
        )
    };
    let secret = |name: &str, of: &str| {
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\ntype: {of}\nstringData: {{K: v}}\n"
        )
    };
    let deployment = deployment("envFrom:\n- configMapRef: {name: used}\n");
    let objects = [
        map("used", ""),
        map("forgotten", ""),
        map("of-route", ""),
        secret("left-over", "Opaque"),
        secret("certificate", "kubernetes.io/tls"),
        secret("of-ingress", "Opaque"),
    ];
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  \
                   tls: [{secretName: of-ingress}]\n";
    let route = "apiVersion: x/v1\nkind: Route\nspec: {from: of-route}\n";
    let found = inspected(
        "kubernetes",
        &[
            ("app.yaml", &deployment),
            ("objects.yaml", &objects.concat()),
            ("ingress.yaml", ingress),
            ("route.yaml", route),
        ],
        &[],
    );
    let titles: Vec<&str> = found.findings.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "`configmap/forgotten` is used by no pod of these manifests.",
            "`secret/left-over` is used by no pod of these manifests."
        ]
    );
    assert!(!found.has_gaps());
    // Without a workload, nothing is known of who uses it.
    let found = inspected("kubernetes", &[("objects.yaml", &map("alone", ""))], &[]);
    assert_eq!(findings(&found), [""; 0]);
}

#[test]
fn a_reference_to_an_object_that_is_not_there_names_the_nearest() {
    let deployment = deployment(
        "envFrom:\n- configMapRef: {name: setings}\nenv:\n- name: W\n  \
         valueFrom: {secretKeyRef: {name: db-pass, key: word}}\n- name: V\n  \
         valueFrom: {secretKeyRef: {name: other, key: word}}\n",
    );
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: db-passw}\nstringData: {word: x}\n";
    let found = inspected(
        "kubernetes",
        &[("app.yaml", &deployment), ("maps.yaml", SETTINGS), ("secret.yaml", secret)],
        &[],
    );
    let why = |name: &str| {
        let source = found.sources.iter().find(|source| source.name == name).unwrap();
        assert_eq!(source.state, SourceState::MissingRequired);
        source.why.as_str()
    };
    assert_eq!(
        why("configmap/setings"),
        "no file has it; deployment/web (app.yaml:13) needs it; did you mean `settings`?"
    );
    assert_eq!(
        why("secret/db-pass"),
        "no file has it; deployment/web (app.yaml:15) needs it; did you mean `db-passw`?"
    );
    assert_eq!(why("secret/other"), "no file has it; deployment/web (app.yaml:17) needs it");
    let missing = found.findings.iter().filter(|one| one.id == "config-target-missing");
    let missing: Vec<(String, &str)> =
        missing.map(|one| (one.severity.to_string(), one.evidence[0].as_str())).collect();
    let row = |severity: &str, name| (severity.to_owned(), name);
    assert_eq!(
        missing,
        [
            row("medium", "configmap/setings"),
            row("medium", "secret/db-pass"),
            row("low", "secret/other")
        ]
    );
}
