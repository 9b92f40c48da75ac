//! What code, compose files and frameworks ask for, and names that are almost the same.

use culprit_config::{Configuration, inspect};
use culprit_model::Severity;

use crate::support::{chain, effective, findings, folder, inspected, profile, redactor, request};

const NODE: (&str, &str) = ("package.json", "{\"dependencies\": {\"dotenv\": \"18\"}}");

/// The title of the one finding, and what to do first.
fn only(found: &Configuration) -> (String, String) {
    assert_eq!(found.findings.len(), 1, "{:?}", found.findings);
    (found.findings[0].title.clone(), found.findings[0].fix[0].clone())
}

#[test]
fn a_blank_interpolation_and_the_misspelled_line_are_one_finding() {
    let compose = "services:\n  web:\n    image: web\n    ports: [\"${API_PORT}:80\"]\n";
    let files = [("compose.yaml", compose), (".env", "API_PORTT=8080\n")];
    let found = inspected("compose", &files, &[]);
    let (title, fix) = only(&found);
    assert_eq!(
        title,
        "`API_PORTT` is set, and nothing that was read asks for it; `compose.yaml:4` asks for `API_PORT`, which is \
         almost the same."
    );
    assert_eq!(fix, "Rename `API_PORTT` to `API_PORT`.");
    let one = &found.findings[0];
    assert_eq!((one.id, one.severity), ("config-near-miss-name", Severity::Medium));
    assert_eq!(one.evidence, [".env:1", "compose.yaml:4"]);
    assert!(one.why.contains("empty text"), "{}", one.why);
    // The name that is asked for is found, and says who asks.
    let asked = found.find("API_PORT");
    assert_eq!(asked.len(), 1);
    assert_eq!(chain(&found, "${API_PORT}"), ["compose.yaml:4 requested"]);
    assert_eq!(found.findings_of(asked[0]), [one]);
    // A demanded value has the severity of its own finding.
    let demanded = compose.replace("API_PORT}", "API_PORT:?}");
    let files = [("compose.yaml", demanded.as_str()), (".env", "API_PORTT=8080\n")];
    let found = inspected("compose", &files, &[]);
    only(&found);
    assert_eq!(found.findings[0].severity, Severity::High);
}

#[test]
fn a_blank_interpolation_and_a_name_in_another_case_are_one_finding() {
    let compose = "services:\n  web:\n    image: web:${TAG}\n";
    let found = inspected("compose", &[("compose.yaml", compose), (".env", "Tag=1\n")], &[]);
    assert_eq!(findings(&found), ["config-case-mismatch ${Tag}"]);
    assert!(found.findings[0].why.contains("empty text"), "{:?}", found.findings);
}

#[test]
fn the_name_that_is_asked_for_is_never_taken_for_the_slip() {
    let compose = "services:\n  web:\n    image: web:${API_PORT}\n";
    let files = [("compose.yaml", compose), (".env", "API_PORTT=8080\n")];
    let found = inspected("compose", &files, &[("API_PORT", "1")]);
    assert_eq!(only(&found).1, "Rename `API_PORTT` to `API_PORT`.");
    // Spring knows its own keys.
    let files = [
        ("application.yml", "spring:\n  datasource:\n    usrname: a\n"),
        ("application-prod.yml", "spring:\n  datasource:\n    username: b\n"),
    ];
    for profiles in ["prod", "default"] {
        let found = inspected("spring", &files, &[("SPRING_PROFILES_ACTIVE", profiles)]);
        let (title, fix) = only(&found);
        assert!(title.contains("is a key of Spring Boot"), "{title}");
        let write = "Write `spring.datasource.username` instead of `spring.datasource.usrname` in \
                     `application.yml:3`.";
        assert_eq!(fix, write);
    }
    // Where nothing is known to ask for either name, both may be right.
    let files = [("application.yml", "shop:\n  usrname: a\n")];
    let found = inspected("spring", &files, &[("SHOP_USERNAME", "b")]);
    only(&found);
    assert!(
        found.findings[0].fix[1].contains("`shop.usrname` in `application.yml:2`"),
        "{found:?}"
    );
}

#[test]
fn short_names_are_compared_with_what_the_code_asks_for() {
    let code = ("server.js", "require('dotenv').config();\nlisten(process.env.API_KEY);\n");
    let found = inspected("dotenv", &[NODE, code, (".env", "API_KYE=1\n")], &[]);
    assert_eq!(findings(&found), ["config-near-miss-name API_KYE"]);
    assert_eq!(only(&found).1, "Rename `API_KYE` to `API_KEY`.");
    assert_eq!(chain(&found, "API_KEY"), ["server.js:2 requested"]);
}

#[test]
fn other_spellings_of_keys_of_the_framework_are_no_slips() {
    let files = [("application.yml", "spring.datasource.driverClassName: x\n")];
    let variables = [("SERVER_SERVLET_CONTEXT_PATH", "/a"), ("SERVER_SERVLET_CONTEXTPATH", "/a")];
    assert_eq!(findings(&inspected("spring", &files, &variables)), [""; 0]);
    let files = [("appsettings.json", "{\"logging\": {\"loglevel\": {\"default\": 1}}}")];
    assert_eq!(findings(&inspected("dotnet", &files, &[("ALLOWEDHOSTS", "*")])), [""; 0]);
}

#[test]
fn variables_that_are_taken_from_an_object_are_asked_for() {
    let code =
        ("a.js", "import 'dotenv/config'; const { PORT = 3000, MODE: mode } = process.env;\n");
    let found = inspected("dotenv", &[NODE, code, (".env", "MODE=fast\n")], &[]);
    assert_eq!(effective(&found), ["MODE=fast < .env:1", "PORT=3000 < a.js:1"]);
    assert_eq!(chain(&found, "MODE"), ["a.js:1 requested", ".env:1 won"]);
}

#[test]
fn a_script_of_the_package_sets_variables_if_it_is_chosen() {
    let package = "{\"scripts\": {\n\"start\": \"PORT=3000 node x.js\",\n\"test\": \"node y.js\"}}";
    let folder = folder(&[("package.json", package), ("x.js", "f(process.env.PORT);\n")]);
    let with = |script: Option<&str>| {
        let mut request = request(folder.path(), &[("PORT", "1")]);
        let define = |name: &str| ("script".to_owned(), vec![name.to_owned()]);
        request.defines = script.map(define).into_iter().collect();
        inspect(&profile("dotenv"), &request, redactor())
    };
    assert_eq!(effective(&with(None)), ["PORT=1 < environment"]);
    let unread = chain(&with(None), "PORT");
    assert!(unread.contains(&"package.json:2 unread".to_owned()), "{unread:?}");
    assert_eq!(effective(&with(Some("start"))), ["PORT=3000 < package.json:2"]);
}

#[test]
fn code_of_spring_and_dotnet_asks_for_keys() {
    let java = "src/main/java/com/example/shop/order/web/Order.java";
    let files = [
        (
            java,
            "class Order {\n @Value(\"${shop.region:eu}\") String a;\n @Value(\"${shop.limit}\") int b;\n}\n",
        ),
        ("application.yml", "shop:\n  limt: 3\n"),
    ];
    let found = inspected("spring", &files, &[]);
    assert_eq!(
        effective(&found),
        ["shop.limt=3 < application.yml:2".to_owned(), format!("shop.region=eu < {java}:2")]
    );
    assert_eq!(only(&found).1, "Rename `shop.limt` to `shop.limit`.");
    let code = "var a = builder.Configuration.GetConnectionString(\"Main\");\n\
                services.Configure<Mail>(builder.Configuration.GetSection(\"Mail\"));\n\
                services.Configure<Pay>(builder.Configuration.GetSection(\"Pay\"));\n";
    let settings = "{\"ConnectionStrings\": {\"Mian\": \"a\"}, \"Mail\": {\"Host\": \"h\"}}";
    let found = inspected("dotnet", &[("Program.cs", code), ("appsettings.json", settings)], &[]);
    assert_eq!(only(&found).1, "Rename `ConnectionStrings:Mian` to `ConnectionStrings:Main`.");
    let keys: Vec<&str> = found.effective.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["ConnectionStrings:Main", "ConnectionStrings:Mian", "Mail:Host", "Pay:*"]);
}

#[test]
fn keys_that_code_of_node_config_asks_for_are_known() {
    let of = |code: &str| {
        let package = ("package.json", "{\"dependencies\": {\"config\": \"5\"}}");
        let settings = ("config/default.json", "{\"db\": {\"host\": \"a\", \"port\": 1}}");
        inspected("node-config", &[package, settings, ("index.js", code)], &[])
    };
    let found = of("const h = config.get('db.hots');\n");
    let only = &found.findings[0];
    assert_eq!(only.id, "config-near-miss-name", "{:?}", found.findings);
    assert!(only.title.contains("`index.js:1` asks for `db.hots`"), "{only:?}");
    let missing = of("const t = config.get(\"cache.ttl\");\n");
    assert_eq!(findings(&missing), ["config-start-fails cache.ttl"]);
    let sound = "f(config.get('db'), config.get('db.port'), config.has('cache.ttl'));\n";
    assert_eq!(findings(&of(sound)), [""; 0]);
}

#[test]
fn a_misspelled_group_is_one_finding() {
    let code = "Configure<Smtp>(builder.Configuration.GetSection(\"Smtp\"));\n";
    let settings = "{\"Smpt\": {\"Host\": \"h\", \"Port\": 1}}";
    let found = inspected("dotnet", &[("Program.cs", code), ("appsettings.json", settings)], &[]);
    assert_eq!(findings(&found), ["config-near-miss-name Smpt:Host"]);
    assert_eq!(only(&found).1, "Rename `Smpt` to `Smtp`.");
    for key in ["Smpt:Port", "Smtp:*"] {
        let key = found.effective.iter().find(|one| one.key == key).unwrap();
        assert_eq!(found.findings_of(key).len(), 1, "{key:?}");
    }
}

#[test]
fn a_value_annotation_takes_other_spellings_of_a_name_with_dashes_alone() {
    let code = |name: &str| format!("class A {{ @Value(\"${{shop.{name}:1}}\") int a; }}\n");
    let files = |code: &str, key: &str, environment: &[(&str, &str)]| {
        let settings = format!("shop:\n  {key}: 5\n");
        inspected(
            "spring",
            &[("src/main/java/A.java", code), ("application.yml", &settings)],
            environment,
        )
    };
    let of = |name: &str, key: &str, environment: &[(&str, &str)]| {
        effective(&files(&code(name), key, environment))
    };
    let file = "application.yml:2";
    assert_eq!(of("max-retries", "maxRetries", &[]), [format!("shop.max-retries=5 < {file}")]);
    let both = of("maxRetries", "max-retries", &[]);
    let default = "shop.maxRetries=1 < src/main/java/A.java:1";
    assert_eq!(both, [format!("shop.max-retries=5 < {file}"), default.to_owned()]);
    assert_eq!(of("maxRetries", "maxRetries", &[]), [format!("shop.maxRetries=5 < {file}")]);
    // What Spring Boot 3 makes of `SHOP_MAXRETRIES`: both names have it.
    let set = of("maxRetries", "max-retries", &[("SHOP_MAXRETRIES", "9")]);
    assert_eq!(set, ["shop.max-retries=9 < environment", "shop.maxRetries=9 < environment"]);
    let found = files(&code("maxRetries"), "max-retries", &[]);
    assert!(only(&found).1.starts_with("Write `shop.max-retries` in"), "{:?}", found.findings);
}

#[test]
fn a_misspelled_key_in_several_files_is_found() {
    let code = ("Program.cs", "var a = builder.Configuration[\"Smtp:Host\"];\n");
    let settings = "{\"Smtp\": {\"Hsot\": \"a\"}}";
    let files = [code, ("appsettings.json", settings), ("appsettings.Production.json", settings)];
    let found = inspected("dotnet", &files, &[]);
    let fix = "Rename `Smtp:Hsot` to `Smtp:Host`, also in `appsettings.json:1`.";
    assert_eq!(only(&found).1, fix);
}

#[test]
fn another_letter_in_a_short_name_is_found_where_nothing_sets_the_name_that_is_asked_for() {
    let code = ("a.js", "import 'dotenv/config'; f(process.env.API_URL, process.env.SMTP_PORT);\n");
    let of = |env: &str, shell: &[(&str, &str)]| {
        findings(&inspected("dotenv", &[NODE, code, (".env", env)], shell))
    };
    let near = |name: &str| vec![format!("config-near-miss-name {name}")];
    assert_eq!(of("API_URI=x\nSMTP_PORT=1\n", &[]), near("API_URI"));
    assert_eq!(of("API_URL=x\nSMTP_POST=1\n", &[]), near("SMTP_POST"));
    assert_eq!(of("API_URL=x\nAPI_URI=y\nSMTP_PORT=1\n", &[]), [""; 0], "both are set");
    assert_eq!(of("API_URI=x\nAPI_URN=y\nSMTP_PORT=1\n", &[]), [""; 0], "either may be meant");
    assert_eq!(of("SMTP_PORT=1\n", &[("API_URI", "x")]), [""; 0], "a variable of the shell");
    let code = ("a.js", "import 'dotenv/config'; f(process.env.API_URL || 'http://localhost');\n");
    let found = inspected("dotenv", &[NODE, code, (".env", "API_URI=x\n")], &[]);
    assert_eq!(findings(&found), near("API_URI"), "a default is no value of a source");
}

#[test]
fn keys_of_a_group_that_the_code_takes_are_no_slips() {
    let code = "class P { static final String PREFIX = \"app.mail\"; }\n\
                @ConfigurationProperties(P.PREFIX) record M(String host) {}\n\
                @ConfigurationProperties(prefix = \"app.mails\") record N(String host) {}\n\
                class S { @Value(\"${app.mail.hosts}\") String a; }\n";
    let settings = "app:\n  mail:\n    host: a\n    hosts: b\n";
    let files = [("src/main/java/M.java", code), ("application.yml", settings)];
    assert_eq!(findings(&inspected("spring", &files, &[])), [""; 0]);
}

#[test]
fn a_group_whose_name_is_not_known_may_have_any_key() {
    let settings = ("application.yml", "app:\n  mail:\n    hots: a\n");
    let of = |group: &str| {
        let code = format!("@Value(\"${{app.mail.host:x}}\") String a;\n{group}\n");
        findings(&inspected("spring", &[("src/main/java/M.java", &code), settings], &[]))
    };
    assert_eq!(of(""), ["config-near-miss-name app.mail.hots"]);
    assert_eq!(of("@ConfigurationProperties(Keys.MAIL) record M(String host) {}"), [""; 0]);
}

#[test]
fn a_fix_gives_a_name_that_a_shell_can_set() {
    let code = ("Program.cs", "builder.Configuration.GetConnectionString(\"ShopDb\");\n");
    let files = [code, ("appsettings.json", "{\"A\": 1}")];
    let found = inspected("dotnet", &files, &[("ConnectionString__ShopDb", "x")]);
    let fix = &found.findings[0].fix;
    assert_eq!(*fix, ["Rename `ConnectionString__ShopDb` to `ConnectionStrings__ShopDb`."]);
    let settings = "{\"ConnectionString\": {\"ShopDb\": \"x\"}}";
    let found = inspected("dotnet", &[code, ("appsettings.json", settings)], &[]);
    let fix = &found.findings[0].fix;
    assert_eq!(*fix, ["Rename `ConnectionString:ShopDb` to `ConnectionStrings:ShopDb`."]);
}

#[test]
fn a_value_that_the_code_needs_keeps_the_program_from_starting() {
    let code = ("src/main/java/A.java", "@Value(\"${shop.url}\") String a;\n");
    let of = |settings: &str, environment: &[(&str, &str)]| {
        inspected("spring", &[code, ("application.yml", settings)], environment)
    };
    let found = of("server:\n  port: 1\n", &[]);
    assert_eq!(findings(&found), ["config-start-fails shop.url"]);
    assert!(found.findings[0].fix[0].contains("`SHOP_URL`"), "{:?}", found.findings);
    assert_eq!(findings(&of("shop:\n  url: x\n", &[])), [""; 0]);
    assert_eq!(findings(&of("server:\n  port: 1\n", &[("SHOP_URL", "x")])), [""; 0]);
    let slip = of("shop:\n  ulr: x\n", &[]);
    assert_eq!(findings(&slip), ["config-near-miss-name shop.ulr"], "one finding with the cause");
}

#[test]
fn the_variables_of_services_are_listed() {
    let compose =
        "services:\n  web:\n    env_file: web.env\n    environment: {LEVEL: \"${LEVEL}\"}\n";
    let files = [("compose.yaml", compose), ("web.env", "A=1\n"), (".env", "LEVEL=info\n")];
    let found = inspected("compose", &files, &[]);
    let rows = found.variables.iter().map(|one| {
        let source = &found.sources[one.source].name;
        format!("{} {source} {}", one.name, one.key.as_deref().unwrap_or("-"))
    });
    let rows: Vec<String> = rows.collect();
    assert_eq!(rows, ["LEVEL .env ${LEVEL}", "A web.env web.A", "LEVEL compose.yaml web.LEVEL"]);
}

#[test]
fn a_default_behind_two_bars_stands_for_an_empty_text_too() {
    let package = ("package.json", r#"{"dependencies": {"dotenv": "17"}}"#);
    let env = (".env", "LEVEL=\nMODE=\nNAME=x\n");
    let code = (
        "app.js",
        "require('dotenv').config();\nf(process.env.LEVEL || 'info', process.env.MODE ?? 'a', process.env.NAME || 'b');\n",
    );
    let found = inspected("dotenv", &[package, env, code], &[]);
    assert_eq!(effective(&found), ["LEVEL=info < app.js:2", "MODE= < .env:2", "NAME=x < .env:3"]);
    assert_eq!(chain(&found, "LEVEL"), ["app.js:2 won", ".env:1 shadowed"]);
}

#[test]
fn dotenv_alone_keeps_references() {
    let of = |packages: &str| {
        let package = format!(r#"{{"dependencies": {{{packages}}}}}"#);
        let env = (".env", "HOST=h\nURL=http://${HOST}/x\nTOTAL 5=1\n");
        let code =
            ("app.js", "require('dotenv').config();\nf(process.env.URL, process.env.HOST);\n");
        inspected("dotenv", &[("package.json", &package), env, code], &[])
    };
    let kept = of(r#""dotenv": "17""#);
    assert_eq!(effective(&kept)[1], "URL=http://${HOST}/x < .env:2");
    assert_eq!(findings(&kept), ["config-bad-env-file-value ", "config-blank-interpolation HOST"]);
    let replaced = of(r#""dotenv": "17", "dotenv-expand": "12""#);
    assert_eq!(effective(&replaced)[1], "URL=http://h/x < .env:2");
    assert_eq!(findings(&replaced), ["config-bad-env-file-value "]);
}

#[test]
fn next_takes_an_unknown_mode_for_none() {
    let files = [
        ("package.json", r#"{"dependencies": {"next": "16"}}"#),
        (".env", "A=1\n"),
        (".env.development", "A=2\n"),
        (".env.staging", "A=3\n"),
    ];
    let found = inspected("next", &files, &[("NODE_ENV", "staging")]);
    assert_eq!(effective(&found), ["A=2 < .env.development:1"]);
}
