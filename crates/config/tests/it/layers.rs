//! Precedence of layered profiles, by the examples of their documentation.

use culprit_config::{Certainty, Outcome, SourceState};

use crate::support::{chain, effective, inspected};

#[test]
fn dotnet_files_of_the_environment_and_variables_win_in_this_order() {
    let files = [
        (
            "appsettings.json",
            "{\n  // comments are allowed\n  \"Logging\": { \"LogLevel\": { \"Default\": \"Information\" } },\n  \"Urls\": [ \"a\", \"b\" ],\n}",
        ),
        (
            "appsettings.Production.json",
            "{ \"logging\": { \"loglevel\": { \"default\": \"Warning\" } } }",
        ),
        (
            "appsettings.Staging.json",
            "{ \"Logging\": { \"LogLevel\": { \"Default\": \"Debug\" } } }",
        ),
    ];
    let variables = [("Logging__LogLevel__Default", "Error"), ("PATH", "/bin")];
    let configuration = inspected("dotnet", &files, &variables);
    assert_eq!(
        chain(&configuration, "Logging:LogLevel:Default"),
        [
            "appsettings.json:3 shadowed",
            "appsettings.Production.json:1 shadowed",
            "appsettings.Staging.json:1 unread",
            "environment won"
        ]
    );
    assert_eq!(
        effective(&configuration),
        [
            "Logging:LogLevel:Default=Error < environment",
            "Urls:0=a < appsettings.json:4",
            "Urls:1=b < appsettings.json:4"
        ]
    );
    assert_eq!(configuration.defines[0].values, ["Production"]);
    let staging = &configuration.sources[4];
    assert_eq!(staging.state, SourceState::Unread);
    assert!(staging.why.contains("`environment` is `Production` (default)"), "{}", staging.why);
    assert_eq!(configuration.other_variables, 1, "PATH is another program's");

    let staging = inspected("dotnet", &files, &[("ASPNETCORE_ENVIRONMENT", "Staging")]);
    assert_eq!(
        effective(&staging)[0],
        "Logging:LogLevel:Default=Debug < appsettings.Staging.json:1"
    );
    // Since .NET 7 DOTNET_ENVIRONMENT is the stronger one.
    let both = [("ASPNETCORE_ENVIRONMENT", "Staging"), ("DOTNET_ENVIRONMENT", "Production")];
    assert!(effective(&inspected("dotnet", &files, &both))[0].contains("Warning"));
}

#[test]
fn dotnet_prefixes_of_connection_strings_become_keys() {
    let files = [("appsettings.json", "{ \"ConnectionStrings\": { \"Main\": \"Server=a\" } }")];
    let configuration = inspected("dotnet", &files, &[("SQLCONNSTR_Main", "Server=b")]);
    assert_eq!(effective(&configuration), ["ConnectionStrings:Main=Server=b < environment"]);
    let host = inspected(
        "dotnet",
        &[("appsettings.json", "{\"Urls\": \"a\"}")],
        &[("ASPNETCORE_URLS", "b")],
    );
    assert_eq!(chain(&host, "Urls"), ["environment shadowed", "appsettings.json:1 won"]);
}

#[test]
fn spring_profiles_documents_and_variables_win_in_this_order() {
    let files = [
        (
            "src/main/resources/application.yml",
            "spring:\n  profiles:\n    active: prod\nserver:\n  port: 8080\nmy:\n  max-size: 1\n---\nspring:\n  config:\n    activate:\n      on-profile: \"test | dev\"\nserver:\n  port: 9090\n---\nspring:\n  config:\n    activate:\n      on-profile: prod\nserver:\n  port: 80\n",
        ),
        ("src/main/resources/application.properties", "server.port=8081\n"),
        ("src/main/resources/application-prod.yml", "my:\n  maxSize: 2\n"),
        ("src/main/resources/application-test.yml", "my:\n  maxSize: 3\n"),
        ("config/application.properties", "my.list[0]=a\n"),
    ];
    let configuration = inspected("spring", &files, &[("MY_LIST_0", "b"), ("MY_MAXSIZE", "4")]);
    assert_eq!(
        chain(&configuration, "server.port"),
        [
            "src/main/resources/application.yml:5 shadowed",
            "src/main/resources/application.yml:14 condition_false",
            "src/main/resources/application.yml:21 shadowed",
            "src/main/resources/application.properties:1 won"
        ]
    );
    assert_eq!(
        chain(&configuration, "my.max-size"),
        [
            "src/main/resources/application.yml:7 shadowed",
            "src/main/resources/application-prod.yml:2 shadowed",
            "src/main/resources/application-test.yml:2 unread",
            "environment won"
        ]
    );
    assert_eq!(
        chain(&configuration, "my.list[0]"),
        ["config/application.properties:1 shadowed", "environment won"]
    );
    assert_eq!(configuration.defines[0].from, "src/main/resources/application.yml:3");

    let test = inspected(
        "spring",
        &files,
        &[("SPRING_PROFILES_ACTIVE", "test,prod"), ("MY_MAX_SIZE", "5")],
    );
    let values = effective(&test);
    assert!(values.contains(&"my.max-size=5 < environment".to_owned()), "{values:?}");
}

#[test]
fn the_last_active_spring_profile_wins() {
    let files = [
        ("application.properties", "a=0\n"),
        ("application-x.properties", "a=1\n"),
        ("application-y.yml", "a: 2\n"),
    ];
    let of = |active: &str| {
        effective(&inspected("spring", &files, &[("SPRING_PROFILES_ACTIVE", active)]))
    };
    assert_eq!(of("x,y"), ["a=2 < application-y.yml:1"]);
    assert_eq!(of("y,x"), ["a=1 < application-x.properties:1"]);
}

#[test]
fn dotenv_leaves_variables_that_are_set_and_reads_one_file() {
    let files = [
        ("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}"),
        (".env", "A=1\nB=2\n"),
        (".env.local", "A=3\n"),
    ];
    let configuration = inspected("dotenv", &files, &[("B", "9"), ("HOME", "/root")]);
    assert_eq!(effective(&configuration), ["A=1 < .env:1", "B=9 < environment"]);
    assert_eq!(chain(&configuration, "A"), [".env:1 won", ".env.local:1 unread"]);
    assert_eq!(chain(&configuration, "B"), [".env:2 shadowed", "environment won"]);
}

#[test]
fn a_generic_order_is_assumed_and_an_equal_value_is_a_no_op() {
    let files = [
        ("config/default.toml", "a = 1\nb = 2\n"),
        ("config/local.ini", "b = 2\n"),
        ("config/production.json", "{\"a\": 5}"),
    ];
    let configuration = inspected("generic", &files, &[("NODE_ENV", "production")]);
    assert_eq!(
        effective(&configuration),
        ["a=5 < config/production.json:1", "b=2 < config/local.ini:1"]
    );
    assert_eq!(
        chain(&configuration, "b"),
        ["config/default.toml:2 no_op", "config/local.ini:1 won"]
    );
    assert!(configuration.effective.iter().all(|one| one.certainty == Certainty::Assumed));
}

#[test]
fn behind_a_source_that_cannot_be_read_nothing_is_certain() {
    let files = [("appsettings.json", "{\"A\": 1}"), ("appsettings.Production.json", "{\"A\": ")];
    let configuration = inspected("dotnet", &files, &[]);
    assert!(configuration.has_gaps());
    assert_eq!(configuration.effective[0].certainty, Certainty::Unknown);
    let broken = &configuration.sources.iter().find(|source| source.state.is_gap()).unwrap();
    assert!(broken.why.starts_with("line 1, column "), "{}", broken.why);
    // A stronger source than the broken one still decides.
    let configuration = inspected("dotnet", &files, &[("A", "2")]);
    assert_eq!(configuration.effective[0].certainty, Certainty::Exact);
}

#[test]
fn a_malformed_condition_leaves_what_it_guards_unknown() {
    let text = "a=1\n#---\nspring.config.activate.on-profile=x & y | z\na=2\n";
    let configuration = inspected("spring", &[("application.properties", text)], &[]);
    let outcomes: Vec<Outcome> = configuration.assignments.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Outcome::Won, Outcome::Unknown]);
    assert_eq!(configuration.effective[0].certainty, Certainty::Unknown);
}
