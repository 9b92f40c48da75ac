use super::*;
use crate::asks::comments::without_comments;

/// What the code of a profile asks for: names, defaults and lines.
fn rows(profile: &str, text: &str) -> Vec<(String, Option<String>, u32)> {
    let profiles = crate::profile::stock_profiles().unwrap();
    let profile = profiles.into_iter().find(|one| one.name == profile).unwrap();
    let asks = profile.layers.iter().find_map(|layer| layer.asks.as_ref()).unwrap();
    let text = without_comments(text);
    let constants = Constants::new(std::slice::from_ref(&text));
    let default = |default: Fallback<'_>| match default {
        Fallback::None => None,
        Fallback::Literal(text) | Fallback::ForEmpty(text) => Some(text.to_owned()),
        Fallback::Made => Some("...".to_owned()),
    };
    let row = |one: Asked<'_>| (one.name, default(one.default), one.at.line);
    asked(asks, (0, &text), &constants).into_iter().map(row).collect()
}

#[test]
fn another_name_of_the_object_is_followed() {
    let of = |text: &str| -> Vec<String> {
        rows("dotenv", text).into_iter().map(|(name, ..)| name).collect()
    };
    assert_eq!(
        of("const env = process.env;\nlisten(env.PORT ?? 80, env['HOST']);\nconst { A } = env"),
        ["PORT", "HOST", "A"]
    );
    assert_eq!(of("import { env } from 'node:process';\nlisten(env.PORT)"), ["PORT"]);
    assert_eq!(of("import { argv, env as e } from \"process\"; f(e.PORT)"), ["PORT"]);
    assert_eq!(of("const { env } = require('process'); f(env?.PORT)"), ["PORT"]);
    assert_eq!(of("const { env } = process; env.SET = 1; env.has(2); env.PORT == 1"), ["PORT"]);
    // Another object of that name.
    assert_eq!(of("import { env } from './env.js'; f(env.PORT)"), [""; 0]);
    assert_eq!(of("const env = process.env.NODE_ENV; f(env.length); f(x.env.PORT)"), ["NODE_ENV"]);
}

fn row(name: &str, default: Option<&str>, line: u32) -> (String, Option<String>, u32) {
    (name.to_owned(), default.map(str::to_owned), line)
}

#[test]
fn names_and_their_literal_defaults_are_found() {
    let text = "const port = normalizePort(process.env.PORT || '3000');\n\
                    // process.env.OLD\n\
                    const a = process.env[\"A_B\"] ?? 12, b = process.env.B || make();\n\
                    if (process.env.C) run(process.env.C ?? 'x'); x(process.env.D || 60 * 1000);\n";
    let found = [
        row("PORT", Some("3000"), 1),
        row("A_B", Some("12"), 3),
        row("B", Some("..."), 3),
        row("C", Some("x"), 4),
        row("D", Some("..."), 4),
    ];
    assert_eq!(rows("dotenv", text), found);
}

#[test]
fn names_that_are_made_are_no_names() {
    assert_eq!(rows("dotenv", "process.env[name]; process.env.1; f(process.env)"), []);
}

#[test]
fn names_that_are_taken_from_an_object_are_found() {
    let text = "const { PORT, DB_URL: url = 'x', // the address, of all\n  \
                    /* how much */ LEVEL = \"info\", ...rest } = process.env;\n\
                    const { A } = process.env.B; if ({ C } == process.env) {}\n";
    let found = [
        row("PORT", None, 1),
        row("DB_URL", Some("x"), 1),
        row("LEVEL", Some("info"), 2),
        row("B", None, 3),
    ];
    assert_eq!(rows("dotenv", text), found);
}

#[test]
fn keys_that_spring_code_asks_for_are_found() {
    let text = "@Value(\"${app.name:demo}\") String name;\n@Value(\"${app.url}\")\n\
                    env.getProperty(\"app.mode\"); System.getProperty(\"user.home\");\n\
                    @ConfigurationProperties(prefix = \"app.mail\")\n";
    let found = [
        row("app.name", Some("demo"), 1),
        row("app.url", None, 2),
        row("app.mode", None, 3),
        row("app.mail.*", None, 4),
    ];
    assert_eq!(rows("spring", text), found);
}

#[test]
fn keys_that_dotnet_code_asks_for_are_found() {
    let text = "builder.Configuration.GetConnectionString(\"Main\");\n\
                    var a = builder.Configuration[\"Feature:Search\"];\n\
                    config.GetValue<int>(\"Smtp:Port\", 25);\n\
                    services.Configure<Smtp>(builder.Configuration.GetSection(\"Smtp\"));\n";
    let found = [
        row("ConnectionStrings:Main", None, 1),
        row("Feature:Search", None, 2),
        row("Smtp:Port", Some("25"), 3),
        row("Smtp:*", None, 4),
    ];
    assert_eq!(rows("dotnet", text), found);
}

#[test]
fn a_second_argument_is_a_default() {
    let text = "env.getProperty(\"a\", \"EUR\"); env.getProperty(\"b\", Integer.class, 3);\n\
                    env.getProperty(\"c\", Integer.class); env.getProperty(\"d\", make());\n";
    let found = [
        row("a", Some("EUR"), 1),
        row("b", Some("3"), 1),
        row("c", None, 2),
        row("d", Some("..."), 2),
    ];
    assert_eq!(rows("spring", text), found);
    let text = "builder.Configuration.GetValue(\"A\", 3); c.Configuration[\"B\"] ?? \"x\";\n\
                    x.Configuration.GetConnectionString(\"C\") ?? throw new Exception();\n";
    let found =
        [row("A", Some("3"), 1), row("B", Some("x"), 1), row("ConnectionStrings:C", None, 2)];
    assert_eq!(rows("dotnet", text), found);
}

#[test]
fn members_of_groups_are_keys() {
    let text = "c.GetSection(\"Mail\").GetValue<int>(\"Port\", 25); c.GetSection(\"A\")[\"B\"];\n\
                    c.GetSection(\"A\").GetSection(\"C\"); section.GetValue<int>(\"D\");\n";
    let found = [row("Mail:Port", Some("25"), 1), row("A:B", None, 1), row("A:C:*", None, 2)];
    assert_eq!(rows("dotnet", text), found);
}

#[test]
fn constants_stand_for_their_literals() {
    let text = "class A { public const string Section = \"Pay\"; }\n\
                    class B { public const string Section = \"Mail\"; }\n\
                    c.GetSection(A.Section); c.GetSection(B.Section)[\"X\"]; c.GetSection(C.Section);\n\
                    c.GetSection(nameof(Jwt)); c.GetSection(Section);\n";
    // A constant that is not known may be any group.
    let found =
        [row("Pay:*", None, 3), row("Mail:X", None, 3), row("*", None, 3), row("Jwt:*", None, 4)];
    assert_eq!(rows("dotnet", text), found);
    let text = "class P { static final String PREFIX = \"app.mail\"; }\n\
                    @ConfigurationProperties(P.PREFIX) record M(String host) {}\n";
    assert_eq!(rows("spring", text), [row("app.mail.*", None, 2)]);
}

#[test]
fn named_arguments_make_keys() {
    let text = "@ConditionalOnProperty(prefix = \"app\", name = {\"a\", \"b\"}, havingValue = \"x\")\n\
                    @ConditionalOnProperty(\"app.c\")\n";
    let found =
        [row("app.a", Some("..."), 1), row("app.b", Some("..."), 1), row("app.c", Some("..."), 2)];
    assert_eq!(rows("spring", text), found);
}
