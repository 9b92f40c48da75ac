//! Random projects with planted secrets: none of them leaves by any command of `culprit config`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::prove_accuracy::Numbers;
use crate::support::{Lab, stderr, stdout};

/// Projects of each kind.
const ROUNDS: u64 = 3;
/// Parts of this length must not leave.
const PART: usize = 6;
/// The plain value that every output of values has: without it, the search would find nothing.
const PLAIN: &str = "plainmarker";

/// What is planted: names and values, and the texts that must not leave.
struct Planted {
    values: Vec<(&'static str, String)>,
    secrets: Vec<String>,
}

impl Planted {
    fn new(numbers: &mut Numbers) -> Self {
        let mut secrets = Vec::new();
        let mut secret = |alphabet: &str, length: usize| {
            let letters: Vec<char> = alphabet.chars().collect();
            let text: String = (0..length).map(|_| letters[numbers.below(letters.len())]).collect();
            secrets.push(text.clone());
            text
        };
        const LETTERS: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";
        const BASE64: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789";
        let password = secret(LETTERS, 12);
        let of_connection = secret(LETTERS, 14);
        let of_address = secret(LETTERS, 11);
        let random = format!("{}7Q4x", secret(BASE64, 40));
        let token = secret(BASE64, 36);
        let values = vec![
            ("Level", PLAIN.to_owned()),
            ("Db_Password", password.clone()),
            ("Note", format!("ghp_{token}")),
            ("Main", format!("Server=db;Database=shop;User Id=app;Password={of_connection}")),
            ("Address", format!("postgres://app:{of_address}@db/shop")),
            ("Blob", random),
            ("Proxy_Authorization", format!("Basic {}", secret(LETTERS, 20))),
            ("Copy", password.clone()),
            ("Made", format!("x-{password}-y")),
        ];
        Self { values, secrets }
    }

    /// All values, each written in one way.
    fn lines(&self, line: impl Fn(&str, &str) -> String) -> String {
        self.values.iter().map(|(name, value)| line(name, value)).collect()
    }

    /// A part of a secret that a text has.
    fn leak(&self, text: &str) -> Option<String> {
        let secrets = self.secrets.iter();
        let mut parts =
            secrets.flat_map(|secret| (0..=secret.len() - PART).map(|at| &secret[at..at + PART]));
        parts.find(|part| text.contains(part)).map(str::to_owned)
    }

    /// The files of a project of a kind.
    fn files(&self, kind: &str) -> Vec<(&'static str, String)> {
        let json = |values: String| format!("{{{}}}", values.trim_end_matches(','));
        let pair = |name: &str, value: &str| format!("\"{name}\": \"{value}\",");
        let env = |name: &str, value: &str| format!("{name}='{value}'\n");
        match kind {
            "dotnet" => vec![("appsettings.json", json(self.lines(pair)))],
            "node-config" => vec![
                ("package.json", "{}".to_owned()),
                ("config/default.json", json(self.lines(pair))),
            ],
            "spring" => vec![
                ("application.yml", self.lines(|name, value| format!("{name}: '{value}'\n"))),
                ("application.properties", self.lines(|name, value| format!("b.{name}={value}\n"))),
            ],
            "dotenv" => vec![
                ("package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}".to_owned()),
                (".env", self.lines(env)),
            ],
            "compose" => vec![
                (
                    "compose.yaml",
                    format!(
                        "services:\n  web:\n    env_file: web.env\n    environment:\n{}      Twice: a-${{Db_Password}}-b\n",
                        self.lines(|name, value| format!("      {name}: '{value}'\n"))
                    ),
                ),
                (".env", self.lines(env)),
                ("web.env", self.lines(|name, value| format!("F_{name}='{value}'\n"))),
            ],
            "django" => vec![
                (
                    "manage.py",
                    "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site.settings')\n".to_owned(),
                ),
                (
                    "site/settings.py",
                    self.lines(|name, value| format!("{} = '{value}'\n", name.to_uppercase())),
                ),
            ],
            "pydantic" => vec![
                (
                    "settings.py",
                    format!(
                        "from pydantic_settings import BaseSettings, SettingsConfigDict\n\nclass Settings(BaseSettings):\n    model_config = SettingsConfigDict(env_file='.env', secrets_dir='secrets')\n    hidden: str = ''\n{}",
                        self.lines(|name, value| format!(
                            "    {}: str = '{value}'\n",
                            name.to_lowercase()
                        ))
                    ),
                ),
                (".env", self.lines(env)),
                ("secrets/hidden", self.values[1].1.clone()),
            ],
            "git" => vec![(
                ".git/config",
                format!(
                    "[planted]\n{}",
                    self.lines(|name, value| {
                        format!("\t{} = \"{value}\"\n", name.replace('_', "-"))
                    })
                ),
            )],
            "systemd" => vec![(
                "etc/systemd/system/web.service",
                format!("[Service]\n{}", self.lines(|name, value| format!("X-{name}={value}\n"))),
            )],
            "generic" => vec![
                ("config.toml", self.lines(|name, value| format!("{name} = \"{value}\"\n"))),
                (
                    "settings.ini",
                    format!("[a]\n{}", self.lines(|name, value| format!("{name} = {value}\n"))),
                ),
            ],
            kind => self.markup(kind),
        }
    }

    /// The files of a project of .NET Framework.
    fn markup(&self, kind: &str) -> Vec<(&'static str, String)> {
        let add = |name: &str, value: &str| format!("<add key=\"{name}\" value=\"{value}\"/>\n");
        let web = format!(
            "<configuration><appSettings>{}</appSettings><connectionStrings><add name=\"Main\" connectionString=\"{}\"/></connectionStrings></configuration>",
            self.lines(add),
            self.values[3].1
        );
        let mut files = vec![("web.config", web)];
        if kind == "sitecore-10" {
            let setting =
                |name: &str, value: &str| format!("<setting name=\"{name}\" value=\"{value}\"/>\n");
            let changed = |name: &str, value: &str| {
                format!(
                    "<setting name=\"{name}\"><patch:attribute name=\"value\">{value}</patch:attribute></setting>\n"
                )
            };
            files.push((
                "App_Config/Sitecore.config",
                format!("<sitecore><settings>{}</settings></sitecore>", self.lines(setting)),
            ));
            files.push((
                "App_Config/Include/a.config",
                format!(
                    "<configuration xmlns:patch=\"http://www.sitecore.net/xmlconfig/\" xmlns:role=\"http://www.sitecore.net/xmlconfig/role/\"><sitecore><settings>{}</settings><x role:require=\"none\">{}</x></sitecore></configuration>",
                    self.lines(changed),
                    self.lines(setting)
                ),
            ));
        }
        files
    }
}

const KINDS: [&str; 12] = [
    "aspnet-framework",
    "compose",
    "django",
    "dotenv",
    "dotnet",
    "generic",
    "git",
    "node-config",
    "pydantic",
    "sitecore-10",
    "spring",
    "systemd",
];

fn write(folder: &Path, files: &[(&str, String)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// What a command prints and writes, by what was run.
fn outputs(lab: &Lab, kind: &str, planted: &Planted) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    let mut run = |words: &[&str], file: Option<&str>| {
        let mut command = lab.culprit();
        command.env_clear().env("HOME", lab.path("home")).args(words);
        for (name, value) in &planted.values {
            command.env(name, value).env(format!("App__{name}"), value);
        }
        let output = command.output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{words:?}: {}", stderr(&output));
        let mut all = stdout(&output) + &stderr(&output);
        if let Some(file) = file {
            all.push_str(&std::fs::read_to_string(lab.path(file)).unwrap());
        }
        outputs.insert(words.join(" "), all);
    };
    let of = ["--profile", kind, "--root", "one"];
    for command in [
        &["show"][..],
        &["explain", "Db_Password"],
        &["explain", "Level"],
        &["vars"],
        &["roles", "--matrix"],
    ] {
        // The names that Python's classes and git's sections have are in other cases and with dashes.
        let name =
            if kind == "git" { command.last().unwrap().replace('_', "-") } else { String::new() };
        let mut words: Vec<&str> = [&["config"], command].concat();
        if kind == "git" && command[0] == "explain" {
            *words.last_mut().unwrap() = &name;
        }
        if kind == "systemd" && command[0] == "explain" {
            *words.last_mut().unwrap() =
                if command[1] == "Level" { "X-Level" } else { "X-Db_Password" };
        }
        words.extend(of);
        run(&words, None);
        words.push("--json");
        run(&words, None);
    }
    run(&[&["config", "show", "--html", "page.html"][..], &of].concat(), Some("page.html"));
    run(&[&["config", "snapshot", "-o", "kept"][..], &of].concat(), Some("kept"));
    for more in [&[][..], &["--json"], &["--html", "diff.html"]] {
        let words = [&["config", "diff", "kept", "two", "--profile", kind][..], more].concat();
        run(&words, more.get(1).copied());
    }
    outputs
}

#[test]
fn no_planted_secret_leaves_by_any_command() {
    for round in 1..=ROUNDS {
        for (at, kind) in KINDS.iter().enumerate() {
            let mut numbers = Numbers(round * 1_000_003 + at as u64 * 7_919);
            let (planted, mut other) = (Planted::new(&mut numbers), Planted::new(&mut numbers));
            other.values[0].1.push_str("-changed");
            let lab = Lab::new();
            write(&lab.path("one"), &planted.files(kind));
            write(&lab.path("two"), &other.files(kind));
            for (command, text) in outputs(&lab, kind, &planted) {
                let leak = planted.leak(&text).or(other.leak(&text));
                assert_eq!(leak, None, "round {round}, {kind}, {command}:\n{text}");
                let shows_values = command.contains("show") || command.contains("snapshot");
                assert!(!shows_values || text.contains(PLAIN), "{kind}, {command}:\n{text}");
                // A hidden value is there, and hidden.
                assert!(!shows_values || text.contains("key-word"), "{kind}, {command}:\n{text}");
            }
        }
    }
}

#[test]
fn no_planted_secret_leaves_by_drift() {
    for round in 1..=ROUNDS {
        let mut numbers = Numbers(round * 104_729);
        let (planted, other) = (Planted::new(&mut numbers), Planted::new(&mut numbers));
        let lab = Lab::new();
        write(&lab.path("one"), &planted.files("compose"));
        let variables: Vec<String> =
            other.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let container = serde_json::json!([
            {"Id": "c", "Name": "/web", "Image": "i", "State": {"Running": false}, "Config": {
                "Image": "web:1", "Env": variables,
                "Labels": {"com.docker.compose.service": "web"}}},
            {"Id": "i", "RepoTags": ["web:1"], "Config": {"Env": variables}},
        ]);
        std::fs::write(lab.path("all.json"), container.to_string()).unwrap();
        std::fs::write(lab.path("dump"), planted.lines(|name, value| format!("{name}={value}\n")))
            .unwrap();
        for more in [&[][..], &["--json"], &["--html", "page.html"]] {
            let words = [
                "config",
                "drift",
                "--inspect",
                "all.json",
                "--root",
                "one",
                "--dump",
                "dump",
                "--all",
            ];
            let output = lab.culprit().args(words).args(more).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            let mut text = stdout(&output) + &stderr(&output);
            if more.len() == 2 {
                text.push_str(&std::fs::read_to_string(lab.path("page.html")).unwrap());
            }
            assert_eq!(planted.leak(&text).or(other.leak(&text)), None, "{more:?}: {text}");
            assert!(text.contains(PLAIN) && text.contains("key-word"), "{more:?}: {text}");
        }
    }
}

#[test]
fn the_search_finds_what_is_planted() {
    let planted = Planted::new(&mut Numbers(7));
    for kind in KINDS {
        let text: String = planted.files(kind).into_iter().map(|(_, text)| text).collect();
        assert!(planted.leak(&text).is_some() && text.contains(PLAIN), "{kind}");
        assert_eq!(planted.leak(PLAIN), None);
    }
}
