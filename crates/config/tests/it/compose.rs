//! Precedence in compose projects.

use culprit_config::{Raw, Request, ServiceImage, inspect};

use crate::support::{chain, effective, findings, folder, inspected, profile, redactor, request};

/// A service with an `environment` and an `env_file` line for NODE_ENV, as the documentation's table has
/// it: https://docs.docker.com/compose/how-tos/environment-variables/envvars-precedence/.
fn node_env(
    environment: Option<&str>,
    env_file: Option<&str>,
    shell: bool,
    dotenv: bool,
) -> Option<String> {
    let mut compose = "services:\n  web:\n    image: x\n".to_owned();
    if let Some(line) = environment {
        compose.push_str(&format!("    environment:\n      - {line}\n"));
    }
    let mut files = Vec::new();
    if let Some(line) = env_file {
        compose.push_str("    env_file: web.env\n");
        files.push(("web.env", format!("{line}\n")));
    }
    if dotenv {
        files.push((".env", "NODE_ENV=1.3\n".to_owned()));
    }
    files.push(("compose.yaml", compose));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let shell: &[(&str, &str)] = if shell { &[("NODE_ENV", "1.4")] } else { &[] };
    let configuration = inspected("compose", &files, shell);
    effective(&configuration).into_iter().find_map(|row| {
        row.strip_prefix("web.NODE_ENV=")?.split_once(" <").map(|(value, _)| value.to_owned())
    })
}

#[test]
fn the_table_of_the_documentation_holds() {
    let value = |text: &str| Some(text.to_owned());
    assert_eq!(node_env(None, None, true, true), None);
    assert_eq!(node_env(None, Some("NODE_ENV=1.6"), true, false), value("1.6"));
    assert_eq!(node_env(Some("NODE_ENV=1.7"), None, true, false), value("1.7"));
    assert_eq!(node_env(Some("NODE_ENV=1.7"), Some("NODE_ENV=1.6"), true, true), value("1.7"));
    assert_eq!(node_env(None, Some("NODE_ENV"), true, true), value("1.4"));
    assert_eq!(node_env(None, Some("NODE_ENV"), false, true), value("1.3"));
    assert_eq!(node_env(Some("NODE_ENV"), None, true, true), value("1.4"));
    assert_eq!(node_env(Some("NODE_ENV"), Some("NODE_ENV=1.6"), true, true), value("1.4"));
}

#[test]
fn anchors_merges_and_overrides_are_followed() {
    let compose = "x-common: &common\n  LEVEL: info\n  NAME: base\nservices:\n  web:\n    environment:\n      <<: *common\n      NAME: web\n  job:\n    environment: *common\n";
    let files = [
        ("compose.yaml", compose),
        (
            "compose.override.yaml",
            "services:\n  job:\n    environment: [\"LEVEL=${LEVEL:-debug}\"]\n",
        ),
        ("docker-compose.yml", "services: {}\n"),
    ];
    let configuration = inspected("compose", &files, &[]);
    assert_eq!(
        effective(&configuration),
        [
            "job.LEVEL=debug < compose.override.yaml:3",
            "job.NAME=base < compose.yaml:3",
            "web.LEVEL=info < compose.yaml:2",
            "web.NAME=web < compose.yaml:8"
        ]
    );
    assert_eq!(
        chain(&configuration, "job.LEVEL"),
        ["compose.yaml:2 shadowed", "compose.override.yaml:3 won"]
    );
    let unread =
        configuration.sources.iter().find(|source| source.name == "docker-compose.yml").unwrap();
    assert_eq!(unread.why, "Compose takes compose.yaml");
}

#[test]
fn a_shell_variable_beats_the_project_s_file_and_an_unused_one_reaches_no_service() {
    let files = [
        (
            "compose.yaml",
            "services:\n  web:\n    environment:\n      REGION: ${REGION}\n      ZONE: ${ZONE}\n",
        ),
        (".env", "REGION=eu\nUNUSED=1\nCOMPOSE_PROJECT_NAME=x\n"),
    ];
    let configuration = inspected("compose", &files, &[("REGION", "us")]);
    assert_eq!(
        chain(&configuration, "${REGION}"),
        [".env:1 shadowed", "environment won", "compose.yaml:4 requested"]
    );
    assert_eq!(chain(&configuration, "web.REGION"), ["compose.yaml:4 won"]);
    assert_eq!(
        findings(&configuration),
        [
            "config-blank-interpolation ZONE",
            "config-never-applied UNUSED",
            "config-shadowed ${REGION}"
        ]
    );
}

#[test]
fn an_included_file_is_weaker_and_has_variables_of_its_own() {
    let files = [
        ("compose.yaml", "include: [sub/c.yaml]\nservices:\n  web:\n    environment: {A: own}\n"),
        (
            "sub/c.yaml",
            "services:\n  web:\n    environment: {A: inc, B: \"${P}\"}\n    env_file: web.env\n  job:\n    environment: {C: \"${Q}\"}\n",
        ),
        ("sub/web.env", "E=1\n"),
        ("sub/.env", "P=sub\nQ=sub\n"),
        (".env", "P=root\n"),
    ];
    let configuration = inspected("compose", &files, &[]);
    let mut rows = effective(&configuration);
    rows.retain(|row| !row.starts_with('$'));
    assert_eq!(
        rows,
        [
            "job.C=sub < sub/c.yaml:6",
            "web.A=own < compose.yaml:4",
            "web.B=root < sub/c.yaml:3",
            "web.E=1 < sub/web.env:1"
        ]
    );
    let source = |name: &str| {
        configuration.sources.iter().find(|source| source.name == name).unwrap().why.clone()
    };
    assert_eq!(source("sub/c.yaml"), "included by `compose.yaml`");
    assert_eq!(source("sub/.env"), "fills `${...}` of what `compose.yaml` includes");
}

#[test]
fn an_include_that_compose_refuses_is_a_gap() {
    let service = "services:\n  web:\n    environment: {A: a}\n";
    let with = |include: &str, more: &[(&str, &str)]| {
        let compose = format!("{include}{service}");
        let mut files = vec![("compose.yaml", compose.as_str())];
        files.extend(more);
        inspected("compose", &files, &[])
    };
    assert!(with("include: [none.yaml]\n", &[]).has_gaps());
    let circle = with("include: [a.yaml]\n", &[("a.yaml", "include: [compose.yaml]\n")]);
    let refused = circle.sources.iter().find(|source| source.state.is_gap()).unwrap();
    assert_eq!(refused.why, "`a.yaml` includes it, and it includes `a.yaml`");
    let file = ("a.yaml", "services: {}\n");
    let missing = "include:\n  - path: a.yaml\n    env_file: none.env\n";
    assert!(with(missing, &[file]).has_gaps());
    assert!(!with("include:\n  - path: a.yaml\n", &[file]).has_gaps());
}

#[test]
fn files_that_include_each_other_many_times_are_refused() {
    let mut files = vec![("compose.yaml".to_owned(), "include: [f0.yaml, f0.yaml]\n".to_owned())];
    for at in 0..40 {
        let next = at + 1;
        files.push((format!("f{at}.yaml"), format!("include: [f{next}.yaml, ./f{next}.yaml]\n")));
    }
    files.push(("f40.yaml".to_owned(), "services: {s: {environment: {A: a}}}\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert!(inspected("compose", &files, &[]).has_gaps());
}

#[test]
fn the_image_is_the_weakest_layer_of_the_services_that_have_it() {
    let folder = folder(&[
        (
            "compose.yaml",
            "services:\n  web:\n    image: shop\n    env_file: web.env\n    environment: {A: own, GONE: }\n  other:\n    image: shop:2\n    environment: {A: other}\n",
        ),
        ("web.env", "B=file\n"),
    ]);
    let environment = ["A", "B", "C", "GONE"].map(|name| (name.to_owned(), Raw::new("image")));
    let with = |name: &str| {
        let image =
            ServiceImage { names: vec![name.to_owned()], environment: environment.to_vec() };
        let request = Request { image: Some(image), ..request(folder.path(), &[]) };
        inspect(&profile("compose"), &request, redactor())
    };
    let found = with("shop:latest");
    assert_eq!(
        effective(&found),
        [
            "other.A=other < compose.yaml:8",
            "web.A=own < compose.yaml:5",
            "web.B=file < web.env:1",
            "web.C=image < image shop:latest",
        ]
    );
    assert_eq!(chain(&found, "web.B"), ["image shop:latest shadowed", "web.env:1 won"]);
    let found = with("shop:3");
    let image = found.sources.iter().find(|source| source.name == "image shop:3").unwrap();
    assert_eq!(image.why, "no service has this image");
}

#[test]
fn what_compose_refuses_is_a_gap() {
    let missing = [("compose.yaml", "services:\n  web:\n    env_file: [none.env]\n")];
    let configuration = inspected("compose", &missing, &[]);
    assert!(configuration.has_gaps(), "{:?}", configuration.sources);
    let optional =
        "services:\n  web:\n    env_file:\n      - path: none.env\n        required: false\n";
    assert!(!inspected("compose", &[("compose.yaml", optional)], &[]).has_gaps());
    let malformed = [("compose.yaml", "services:\n  web:\n    image: ${TAG\n")];
    let configuration = inspected("compose", &malformed, &[]);
    assert_eq!(configuration.sources.last().unwrap().why, "line 3, column 5: a malformed `${...}`");
}

#[test]
fn what_a_service_extends_is_weaker_than_its_own_values() {
    let compose = "services:\n  base:\n    environment: {A: base, B: base, C: base}\n  web:\n    \
                   extends: {file: shared/common.yaml, service: common}\n    environment: {B: web}\n  \
                   job:\n    extends: base\n    environment:\n      - C=job\n";
    let common = "services:\n  root:\n    environment: {A: root, D: root}\n  common:\n    extends: root\n    \
                  environment: {A: common, B: \"${X:-x}\"}\n    env_file: common.env\n";
    let files = [
        ("compose.yaml", compose),
        ("compose.override.yaml", "services:\n  web:\n    environment: {D: override}\n"),
        ("shared/common.yaml", common),
        ("shared/common.env", "E=file\nA=file\n"),
    ];
    let found = inspected("compose", &files, &[]);
    assert_eq!(
        effective(&found),
        [
            "base.A=base < compose.yaml:3",
            "base.B=base < compose.yaml:3",
            "base.C=base < compose.yaml:3",
            "job.A=base < compose.yaml:3",
            "job.B=base < compose.yaml:3",
            "job.C=job < compose.yaml:10",
            "web.A=common < shared/common.yaml:6",
            "web.B=web < compose.yaml:6",
            "web.D=override < compose.override.yaml:3",
            "web.E=file < shared/common.env:1",
        ]
    );
    assert_eq!(
        chain(&found, "web.A"),
        [
            "shared/common.env:2 shadowed",
            "shared/common.yaml:3 shadowed",
            "shared/common.yaml:6 won"
        ]
    );
}

#[test]
fn a_service_that_does_not_exist_cannot_be_extended() {
    for extends in ["none", "{file: none.yaml, service: x}", "web"] {
        let text =
            format!("services:\n  web:\n    extends: {extends}\n    environment: {{A: 1}}\n");
        let found = inspected("compose", &[("compose.yaml", &text)], &[]);
        assert!(found.has_gaps(), "{extends}: {found:#?}");
    }
}

#[test]
fn a_service_with_profiles_starts_with_one_of_them() {
    let compose = "services:\n  web:\n    environment: {A: 1}\n  debug:\n    profiles: [debug, all]\n    \
                   environment: {A: 2}\n";
    let of = |files: &[(&str, &str)], shell: &[(&str, &str)]| {
        chain(&inspected("compose", files, shell), "debug.A")
    };
    let files = [("compose.yaml", compose)];
    assert_eq!(of(&files, &[]), ["compose.yaml:6 condition_false"]);
    for active in ["all", "x, debug", "*"] {
        assert_eq!(of(&files, &[("COMPOSE_PROFILES", active)]), ["compose.yaml:6 won"], "{active}");
    }
    let dotenv = [("compose.yaml", compose), (".env", "COMPOSE_PROFILES=debug\n")];
    assert_eq!(of(&dotenv, &[]), ["compose.yaml:6 won"]);
}

#[test]
fn variables_of_compose_name_its_files() {
    let service = |value: &str| format!("services:\n  web:\n    environment: {{A: {value}}}\n");
    let (one, two) = (service("1"), service("\"${X}\""));
    let files = [
        ("compose.yaml", service("0")),
        ("one.yaml", one),
        ("two.yaml", two),
        (".env", "COMPOSE_FILE=one.yaml:two.yaml\nX=dotenv\n".to_owned()),
        ("other.env", "X=other\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let of = |shell: &[(&str, &str)]| {
        let rows = effective(&inspected("compose", &files, shell));
        rows.into_iter().find(|row| row.starts_with("web.A")).unwrap()
    };
    assert_eq!(of(&[]), "web.A=dotenv < two.yaml:3");
    assert_eq!(of(&[("COMPOSE_FILE", "one.yaml")]), "web.A=1 < one.yaml:3");
    let other = [("COMPOSE_FILE", "two.yaml"), ("COMPOSE_ENV_FILES", "other.env")];
    assert_eq!(of(&other), "web.A=other < two.yaml:3");
}

#[test]
fn paths_count_from_the_folder_of_the_first_file_of_compose_file() {
    let service = "services:\n  web:\n    env_file: [own.env, ../up.env]\n    environment:\n      \
                   - A=${A}\n      - B=${B}\n      - C=${C:-none}\n";
    let files = [
        (".env", "COMPOSE_FILE=deploy/compose.yaml:more/compose.yaml\nA=here\nX=x\n"),
        ("deploy/compose.yaml", service),
        ("more/compose.yaml", "services:\n  web:\n    environment: [D=d]\n"),
        ("deploy/.env", "A=deploy\nB=${X}-deploy\n"),
        ("more/.env", "C=more\n"),
        ("deploy/own.env", "E=own\n"),
        ("up.env", "F=up\n"),
    ];
    let found = inspected("compose", &files, &[]);
    let rows: Vec<String> =
        effective(&found).into_iter().filter(|row| row.starts_with("web.")).collect();
    assert_eq!(
        rows,
        [
            "web.A=here < deploy/compose.yaml:5",
            "web.B=x-deploy < deploy/compose.yaml:6",
            "web.C=none < deploy/compose.yaml:7",
            "web.D=d < more/compose.yaml:3",
            "web.E=own < deploy/own.env:1",
            "web.F=up < up.env:1",
        ]
    );
    assert!(!found.has_gaps());
    let folder = folder(&files);
    let fits = |variables: &[(&str, &str)], root: &std::path::Path| {
        culprit_config::detects_in(&profile("compose"), &request(root, variables))
    };
    assert!(fits(&[], folder.path()), "COMPOSE_FILE leads to files");
    assert!(!fits(&[], &folder.path().join("more/none")));
    let other = [("COMPOSE_FILE", "none.yaml")];
    assert!(!fits(&other, folder.path()), "no such file");
}

/// https://github.com/compose-spec/compose-spec/blob/main/13-merge.md, "Reset value" and "Replace value".
#[test]
fn the_specification_s_examples_of_reset_and_override_hold() {
    let base = "services:\n  app:\n    image: myapp\n    ports:\n      - \"8080:80\"\n    environment:\n      FOO: BAR\n";
    let reset = "services:\n  app:\n    image: myapp\n    ports: !reset []\n    environment:\n      FOO: !reset null\n";
    let configuration =
        inspected("compose", &[("compose.yaml", base), ("compose.override.yaml", reset)], &[]);
    assert!(effective(&configuration).is_empty(), "{:?}", effective(&configuration));
    assert_eq!(chain(&configuration, "app.FOO"), ["compose.yaml:7 shadowed"]);
    let removed = &configuration.assignments[0];
    assert_eq!(removed.reason, "compose.override.yaml:6 removes `FOO` by `!reset`");

    let replaced = "services:\n  app:\n    environment: !override\n      BAR: new\n";
    let configuration =
        inspected("compose", &[("compose.yaml", base), ("compose.override.yaml", replaced)], &[]);
    assert_eq!(effective(&configuration), ["app.BAR=new < compose.override.yaml:4"]);
    let removed = &configuration.assignments[0];
    assert_eq!(
        removed.reason,
        "compose.override.yaml:3 replaces all of `environment` by `!override`"
    );
    assert!(findings(&configuration).is_empty(), "{:?}", findings(&configuration));
}

#[test]
fn a_tag_takes_away_what_a_service_extends_and_what_its_file_includes() {
    let files = [
        (
            "compose.yaml",
            "include: [sub/c.yaml]\nservices:\n  web:\n    extends: {file: base.yaml, service: common}\n    environment: !override {OWN: 1}\n  job:\n    env_file: !reset []\n",
        ),
        ("base.yaml", "services:\n  common:\n    environment: {LEVEL: info}\n"),
        (
            "sub/c.yaml",
            "services:\n  web:\n    environment: {INC: 1}\n  job:\n    env_file: job.env\n    environment: {KEPT: 1}\n",
        ),
        ("sub/job.env", "LOST=1\n"),
    ];
    let configuration = inspected("compose", &files, &[]);
    assert_eq!(
        effective(&configuration),
        ["job.KEPT=1 < sub/c.yaml:6", "web.OWN=1 < compose.yaml:5"]
    );
    assert_eq!(chain(&configuration, "web.INC"), ["sub/c.yaml:3 shadowed"]);
    assert_eq!(chain(&configuration, "web.LEVEL"), ["base.yaml:3 shadowed"]);
    assert_eq!(chain(&configuration, "job.LOST"), ["sub/job.env:1 unread"]);
    let file = configuration.sources.iter().find(|one| one.name == "sub/job.env").unwrap();
    assert_eq!(file.why, "compose.yaml:7 removes `env_file` by `!reset`");
}

#[test]
fn a_reset_of_one_name_needs_a_mapping_and_is_a_finding_else() {
    let files = [
        ("compose.yaml", "services:\n  web:\n    environment: [LEVEL=info]\n"),
        (
            "compose.override.yaml",
            "services:\n  web:\n    environment:\n      LEVEL: !reset null\n      GONE: !reset null\n",
        ),
    ];
    let configuration = inspected("compose", &files, &[]);
    assert_eq!(effective(&configuration), ["web.LEVEL=info < compose.yaml:3"]);
    assert_eq!(
        findings(&configuration),
        ["config-target-missing web.GONE", "config-target-missing web.LEVEL"]
    );
    let said: Vec<&str> = configuration.findings.iter().map(|one| one.why.as_str()).collect();
    assert!(said[1].contains("stands in a list or in several files: compose.yaml"), "{said:?}");
    assert!(said[0].contains("no weaker file sets it"), "{said:?}");
}

#[test]
fn a_colon_in_a_list_is_named_as_the_slip() {
    let compose =
        "services:\n  web:\n    image: x\n    environment:\n      - NODE_ENV:production\n";
    let found = inspected("compose", &[("compose.yaml", compose)], &[]);
    let fixes: Vec<&String> = found.findings.iter().flat_map(|one| &one.fix).collect();
    assert_eq!(fixes, ["Write `NODE_ENV=production`."]);
}

/// As compose-go 2.16 resolves them: a document extends and includes by itself, and a tag reaches what stands before.
#[test]
fn each_document_of_a_file_is_loaded_as_a_file() {
    let base = "services:\n  one:\n    image: x\n    environment: {A: far}\n";
    let compose = "services:\n  t:\n    extends: {file: base.yaml, service: one}\n---\nservices:\n  s:\n    \
                   image: x\n    environment: {B: near}\n  t:\n    extends: s\n";
    let found = inspected("compose", &[("compose.yaml", compose), ("base.yaml", base)], &[]);
    assert!(!found.has_gaps(), "{:?}", found.sources);
    let values = effective(&found);
    assert_eq!(
        values,
        ["s.B=near < compose.yaml:8", "t.A=far < base.yaml:4", "t.B=near < compose.yaml:8"]
    );
}

/// As compose-go 2.16 refuses it: below `!override` it looks for no tag, and takes `!reset null` for a text.
#[test]
fn a_text_in_the_place_of_a_service_or_of_its_variables_is_refused() {
    let of = |change: &str| {
        let compose = "services:\n  s:\n    image: x\n    environment: {A: a}\n";
        let files = [("compose.yaml", compose), ("compose.override.yaml", change)];
        findings(&inspected("compose", &files, &[]))
    };
    let refuses = |change: &str| of(change).contains(&"config-start-fails ".to_owned());
    assert!(refuses("services: !override\n  s: !reset null\n"));
    assert!(refuses("services:\n  s: !override\n    image: x\n    environment: !reset null\n"));
    assert!(!refuses("services:\n  s:\n    environment: !reset null\n"));

    let of = |base: &str, own: &str| {
        let files = [("compose.yaml", own), ("base.yaml", base)];
        findings(&inspected("compose", &files, &[])).contains(&"config-start-fails ".to_owned())
    };
    let extends = "    extends: {file: base.yaml, service: one}\n";
    let own =
        format!("services:\n  s: !override\n    image: x\n{extends}    environment: !reset null\n");
    let sets = "services:\n  one:\n    image: x\n    environment: {A: a}\n";
    assert!(!of(sets, &own), "merged with a mapping, the text is a name");
    let text = "services: !override\n  one: !reset null\n";
    assert!(of(text, &format!("services:\n  s:\n    image: x\n{extends}")));
    let including = format!("include: [sub.yaml]\nservices:\n  s:\n{extends}");
    let included = "services:\n  s: !override\n    image: x\n    environment: !reset null\n";
    let files = [("compose.yaml", including.as_str()), ("base.yaml", sets), ("sub.yaml", included)];
    let found = findings(&inspected("compose", &files, &[]));
    assert!(found.contains(&"config-start-fails ".to_owned()), "{found:?}");
}

/// As compose-go 2.16 resolves it: a mapping that a service takes from an included file stays a mapping there, so that
/// its names without a value are filled by the scope that takes it.
#[test]
fn a_name_without_a_value_that_another_scope_takes_is_filled_there() {
    let files = [
        (
            "compose.yaml",
            "include: [sub/c.yaml]\nservices:\n  u:\n    image: x\n    extends: s\n    environment: {B: b}\n",
        ),
        (
            "sub/c.yaml",
            "services:\n  s:\n    image: x\n    environment: {A: }\n  u:\n    image: x\n    environment: {C: c}\n",
        ),
        ("sub/.env", "A=inner\n"),
    ];
    let values = effective(&inspected("compose", &files, &[]));
    assert!(!values.iter().any(|one| one.starts_with("u.A=")), "{values:?}");
    let shell = effective(&inspected("compose", &files, &[("A", "outer")]));
    assert!(shell.iter().any(|one| one.starts_with("u.A=outer")), "{shell:?}");
}

/// As compose-go 2.16 resolves it: the replaced group is one mapping again, from which a name can be removed.
#[test]
fn a_group_that_is_replaced_is_one_mapping_again() {
    let base = "services:\n  one:\n    image: x\n    environment: {D: d}\n";
    let compose = "services:\n  t:\n    extends: {file: base.yaml, service: one}\n    \
                   environment: {B: b, D: !reset null}\n";
    let change = "services:\n  t:\n    environment: !override {B: x, C: c}\n";
    let third = "services:\n  t:\n    environment: {C: !reset null}\n";
    let files = [
        ("base.yaml", base),
        ("compose.yaml", compose),
        ("compose.override.yaml", change),
        ("third.yaml", third),
    ];
    let all = ("COMPOSE_FILE", "compose.yaml:compose.override.yaml:third.yaml");
    let values = effective(&inspected("compose", &files, &[all]));
    let of_service: Vec<&String> = values.iter().filter(|one| one.starts_with("t.")).collect();
    assert_eq!(of_service, ["t.B=x < compose.override.yaml:3"]);
}
