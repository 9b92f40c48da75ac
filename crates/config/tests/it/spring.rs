//! Files that Spring Boot finds by imports, locations, profiles and groups.

use culprit_config::{Request, SourceState, inspect};

use crate::support::{chain, effective, findings, folder, inspected, profile, redactor, request};

#[test]
fn what_is_imported_is_stronger_than_the_document_that_imports_it() {
    let files = [
        (
            "application.properties",
            "a=1\nb=1\nspring.config.import=file:./more/x.yaml,y.properties\n#---\nb=2\n",
        ),
        ("more/x.yaml", "a: x\nb: x\nspring.config.import: z.yaml\n"),
        ("more/z.yaml", "a: z\nc: z\n"),
        ("y.properties", "c=y\n"),
    ];
    let found = inspected("spring", &files, &[]);
    let expected = [
        "a=z < more/z.yaml:1",
        "b=2 < application.properties:5",
        "c=y < y.properties:1",
        "spring.config.import=z.yaml < more/x.yaml:3",
    ];
    assert_eq!(effective(&found), expected);
    assert_eq!(
        chain(&found, "a"),
        ["application.properties:1 shadowed", "more/x.yaml:1 shadowed", "more/z.yaml:1 won"]
    );
    assert_eq!(found.sources[1].layer, "imported by application.properties");
}

#[test]
fn a_missing_import_is_refused_unless_it_is_optional() {
    let of = |import: &str| {
        let text = format!("spring.config.import={import}\na=1\n");
        inspected("spring", &[("application.properties", &text)], &[])
    };
    let found = of("file:./none.yaml");
    let missing = found.sources.iter().find(|source| source.name == "none.yaml").unwrap();
    assert_eq!(missing.state, SourceState::MissingRequired);
    let found = of("optional:file:./none.yaml");
    assert!(!found.has_gaps());
    assert_eq!(findings(&found), ["config-optional-source-failed "]);
    for import in ["vault://", "none.xyz", "configtree:none", "classpath:none.properties"] {
        assert!(of(import).has_gaps(), "{import}");
    }
}

#[test]
fn a_tree_of_files_is_keys_and_a_hint_gives_the_kind() {
    let import = "spring.config.import=configtree:etc/app/,file:./plain[.yaml]\na=1\n";
    let files = [
        ("application.properties", import),
        ("etc/app/db/user", "root\n"),
        ("etc/app/text", "two\nlines\n"),
        ("etc/app/..data/db/user", "hidden"),
        ("plain", "a: 2\n"),
    ];
    let found = inspected("spring", &files, &[]);
    assert_eq!(
        effective(&found)[..2],
        ["a=2 < plain:1".to_owned(), "db.user=root < etc/app/db/user:1".to_owned()]
    );
    assert_eq!(found.find("text").len(), 1);
    assert_eq!(found.find("..data").len(), 0);
}

#[test]
fn groups_replace_each_other_and_includes_add_up() {
    let files = [
        (
            "src/main/resources/application.properties",
            "spring.profiles.group.prod=db,log\nspring.profiles.include=base\na=0\n",
        ),
        (
            "application.properties",
            "spring.profiles.group.prod=cloud\nspring.profiles.include=own\n",
        ),
        ("application-cloud.properties", "a=cloud\n"),
        ("application-db.properties", "a=db\n"),
    ];
    let found = inspected("spring", &files, &[("SPRING_PROFILES_ACTIVE", "prod")]);
    assert_eq!(found.defines[0].values, ["own", "base", "prod", "cloud"]);
    assert_eq!(
        chain(&found, "a"),
        [
            "src/main/resources/application.properties:3 shadowed",
            "application-cloud.properties:1 won",
            "application-db.properties:1 unread"
        ]
    );
}

#[test]
fn what_must_not_set_profiles_is_refused() {
    let guarded = "a=1\n#---\nspring.config.activate.on-profile=x\nspring.profiles.include=y\n";
    let found = inspected("spring", &[("application.properties", guarded)], &[]);
    assert!(found.has_gaps());
    let files = [
        ("application.properties", "a=1\n"),
        ("application-x.properties", "spring.profiles.include=y\n"),
    ];
    let found = inspected("spring", &files, &[("SPRING_PROFILES_ACTIVE", "x")]);
    let refused = found.sources.iter().find(|source| source.state.is_gap()).unwrap();
    assert!(refused.why.contains("`spring.profiles.include` in the file of a profile"));
}

#[test]
fn names_and_locations_come_from_the_environment_and_from_arguments() {
    let files = [
        ("application.properties", "a=0\n"),
        ("settings.properties", "a=1\n"),
        ("etc/settings.yaml", "a: 2\n"),
        ("etc/settings-x.yaml", "a: 3\n"),
    ];
    let of = |variables: &[(&str, &str)]| effective(&inspected("spring", &files, variables));
    assert_eq!(of(&[("SPRING_CONFIG_NAME", "settings")]), ["a=1 < settings.properties:1"]);
    let more =
        [("SPRING_CONFIG_NAME", "settings"), ("SPRING_CONFIG_ADDITIONAL_LOCATION", "file:./etc/")];
    assert_eq!(of(&more), ["a=2 < etc/settings.yaml:1"]);
    let folder = folder(&files);
    let words =
        ["--spring.config.name=settings", "--spring.config.location=file:etc/", "-Db=d", "plain"];
    let request = Request {
        arguments: words.map(str::to_owned).to_vec(),
        defines: vec![("spring.profiles.active".to_owned(), vec!["x".to_owned()])],
        ..request(folder.path(), &[("B", "e")])
    };
    let found = inspect(&profile("spring"), &request, redactor());
    let rows = effective(&found);
    assert_eq!(
        rows[..2],
        ["a=3 < etc/settings-x.yaml:1".to_owned(), "b=d < system properties (-D)".to_owned()]
    );
    assert_eq!(found.defines[0].values, ["x"]);
}

#[test]
fn placeholders_are_replaced_with_the_values_that_win() {
    let files = [
        (
            "application.properties",
            "host=one\nurl=http://${host}:${port:80}/${none}\nsecret.password=hunter2\n\
             copy=x${secret.password}\nloop=${loop}\n",
        ),
        ("config/application.properties", "host=two\n"),
    ];
    let found = inspected("spring", &files, &[]);
    let rows = effective(&found);
    assert!(
        rows.contains(&"url=http://two:80/${none} < application.properties:2".to_owned()),
        "{rows:?}"
    );
    assert!(rows.contains(&"copy=••• < application.properties:4".to_owned()), "{rows:?}");
    let url = &found.assignments[found.find("url")[0].winner.unwrap()];
    assert_eq!(url.reason, "made from `${host}`");
    assert_eq!(chain(&found, "loop"), ["application.properties:5 unknown"]);
    assert_eq!(findings(&found), ["config-blank-interpolation none"]);
}

#[test]
fn documents_of_a_cloud_platform_count_on_it_alone() {
    let text = "a=1\n#---\nspring.config.activate.on-cloud-platform=kubernetes\na=2\n";
    let of = |variables: &[(&str, &str)]| {
        chain(&inspected("spring", &[("application.properties", text)], variables), "a")[1].clone()
    };
    assert_eq!(of(&[]), "application.properties:4 condition_false");
    let on = [("KUBERNETES_SERVICE_HOST", "h"), ("KUBERNETES_SERVICE_PORT", "1")];
    assert_eq!(of(&on), "application.properties:4 won");
}

#[test]
fn one_variable_holds_a_whole_list() {
    let yaml = "app:\n  my-hosts: [a, b]\n  servers:\n  - host: x\n";
    let of =
        |variables: &[(&str, &str)]| inspected("spring", &[("application.yaml", yaml)], variables);
    let found = of(&[("APP_MYHOSTS", "x,y")]);
    assert_eq!(
        effective(&found),
        ["app.my-hosts=x,y < environment", "app.servers[0].host=x < application.yaml:4"]
    );
    assert_eq!(chain(&found, "app.my-hosts[1]"), ["application.yaml:2 shadowed"]);
    assert_eq!(findings(&found), [""; 0]);
    let of_list: Vec<&str> = found.variables.iter().filter_map(|one| one.key.as_deref()).collect();
    assert_eq!(of_list, ["app.my-hosts"]);
    // An element replaces the list of the file, and so does a name with an underscore at its end.
    for name in ["APP_MYHOSTS_0", "APP_MYHOSTS_0_", "APP_MY_HOSTS_0_"] {
        let found = of(&[(name, "z")]);
        assert_eq!(effective(&found)[0], "app.my-hosts[0]=z < environment", "{name}");
        assert_eq!(chain(&found, "app.my-hosts[1]"), ["application.yaml:2 shadowed"], "{name}");
    }
    // Of both in one source, the whole list wins.
    let found = of(&[("APP_MYHOSTS_0", "z"), ("APP_MYHOSTS", "w")]);
    assert_eq!(effective(&found)[0], "app.my-hosts=w < environment");
    let found = of(&[("APP_MYHOSTS", "w"), ("APP_MYHOSTS_0", "z")]);
    assert_eq!(effective(&found)[0], "app.my-hosts=w < environment");
    // A group of values is no list of texts.
    let found = of(&[("APP_SERVERS", "w")]);
    assert!(effective(&found).contains(&"app.servers[0].host=x < application.yaml:4".to_owned()));
}

#[test]
fn a_list_of_a_stronger_source_replaces_one_that_is_written_as_one_value() {
    let files = [
        ("src/main/resources/application.yaml", "hosts: [a, b]\nports: 1,2\n"),
        ("application.yaml", "hosts: c\nports: [3]\n"),
    ];
    let found = inspected("spring", &files, &[]);
    assert_eq!(
        effective(&found),
        ["hosts=c < application.yaml:1", "ports[0]=3 < application.yaml:2"]
    );
}

#[test]
fn the_variable_without_underscores_for_dashes_is_the_stronger_one() {
    let files = [("application.yml", "shop:\n  tax-rate: 1\n")];
    // As Spring Boot 3.5.7 does it, in whatever order they are set.
    for variables in [
        [("SHOP_TAXRATE", "3"), ("SHOP_TAX_RATE", "4")],
        [("SHOP_TAX_RATE", "4"), ("SHOP_TAXRATE", "3")],
    ] {
        let found = inspected("spring", &files, &variables);
        assert_eq!(effective(&found), ["shop.tax-rate=3 < environment"]);
        assert_eq!(findings(&found), ["config-shadowed shop.tax-rate"]);
    }
    let found = inspected("spring", &files, &[("shop_taxrate", "3"), ("shop_tax_rate", "4")]);
    assert_eq!(
        findings(&found),
        ["config-undefined-order shop.tax-rate", "config-shadowed shop.tax-rate"]
    );
}

#[test]
fn a_folder_as_a_location_needs_a_slash() {
    let files = [("application.yml", "a: 1\n"), ("conf/application.yml", "a: 2\n")];
    let of = |location: &str| {
        inspected("spring", &files, &[("SPRING_CONFIG_ADDITIONAL_LOCATION", location)])
    };
    assert_eq!(effective(&of("./conf/"))[0], "a=2 < conf/application.yml:1");
    let refused = of("./conf");
    assert_eq!(findings(&refused), ["config-start-fails "]);
    assert_eq!(
        refused.findings[0].why,
        "Reason: Spring does not know the kind of `./conf`; a folder needs a `/` at its end."
    );
}

#[test]
fn a_backslash_in_properties_is_an_escape() {
    let letters = "a=Gr\u{fc}\u{df}e\n";
    let found = inspected("spring", &[("application.properties", letters)], &[]);
    assert_eq!(findings(&found), ["config-bad-env-file-value a"]);
    let text = "path=C:\\temp\\new\nok=C:\\\\temp\nregex=\\d+\ntab=a\\tb\n";
    let found = inspected("spring", &[("application.properties", text)], &[]);
    assert_eq!(
        findings(&found),
        ["config-bad-env-file-value path", "config-bad-env-file-value regex"]
    );
}

#[test]
fn options_of_the_jvm_in_a_variable_are_system_properties() {
    let files = [("application.yml", "app:\n  host: file\n  mode: file\n")];
    let of = |variables: &[(&str, &str)]| effective(&inspected("spring", &files, variables));
    let options = ("JAVA_TOOL_OPTIONS", "-Xmx1g -Dapp.host=jvm '-Dapp.mode=a b'");
    let expected =
        ["app.host=jvm < variable JAVA_TOOL_OPTIONS", "app.mode=a b < variable JAVA_TOOL_OPTIONS"];
    assert_eq!(of(&[options, ("APP_HOST", "shell")]), expected);
    let later = ("_JAVA_OPTIONS", "-Dapp.host=last");
    assert_eq!(of(&[later, options])[0], "app.host=last < variable _JAVA_OPTIONS");
    let active = of(&[("JDK_JAVA_OPTIONS", "-Dspring.profiles.active=dev")]);
    assert_eq!(active[2], "spring.profiles.active=dev < variable JDK_JAVA_OPTIONS");
}
