//! `culprit config` in new projects: no option is needed, and each planted mistake is explained.

use std::path::Path;
use std::process::Output;

use crate::support::{Lab, fixtures, stderr, stdout};

fn write(lab: &Lab, name: &str, text: &str) {
    let path = lab.path("project").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Runs words as a shell would: variables, then `culprit` and its arguments.
fn run(lab: &Lab, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "culprit").unwrap();
    let variables = words[..at].iter().filter_map(|word| word.split_once('='));
    let folder = lab.path("project");
    let mut command = lab.culprit();
    command.current_dir(Path::new(&folder)).env_clear().envs(variables).args(&words[at + 1..]);
    command.output().unwrap()
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Paths and texts.
type Files = &'static [(&'static str, &'static str)];

/// The files of the starters, with what `config show` must name.
const STARTERS: &[(Files, &[&str])] = &[
    (
        &[
            ("pom.xml", "<project/>"),
            (
                "src/main/resources/application.properties",
                "spring.application.name=demo\nserver.port=8080\n",
            ),
            ("src/main/java/demo/DemoApplication.java", "class DemoApplication {}"),
        ],
        &["(spring)", "server.port", "application.properties:2"],
    ),
    (
        &[
            ("Shop.csproj", "<Project Sdk=\"Microsoft.NET.Sdk.Web\"/>"),
            ("appsettings.json", "{\"AllowedHosts\": \"*\"}"),
            (
                "appsettings.Development.json",
                "{\"Logging\": {\"LogLevel\": {\"Default\": \"Debug\"}}}",
            ),
            (
                "Properties/launchSettings.json",
                "{\"profiles\": {\"http\": {\"environmentVariables\": {\"ASPNETCORE_ENVIRONMENT\": \
                 \"Development\"}}}}",
            ),
        ],
        &["(dotnet)", "AllowedHosts", "--define launch=NAME"],
    ),
    (
        &[
            (
                "package.json",
                "{\"name\": \"shop\", \"scripts\": {\"start\": \"node --env-file=.env .\"}}",
            ),
            (".env", "PORT=3000\n"),
            ("index.js", ""),
        ],
        &["(dotenv)", "PORT", ".env:1"],
    ),
    (
        &[(
            "compose.yaml",
            "services:\n  web:\n    environment: {PORT: 80}\n  worker:\n    environment: {QUEUE: jobs}\n  \
             db:\n    environment: {POSTGRES_DB: shop}\n",
        )],
        &["(compose)", "web.PORT", "worker.QUEUE", "db.POSTGRES_DB"],
    ),
];

#[test]
fn new_projects_need_no_option() {
    for (files, named) in STARTERS {
        let lab = Lab::new();
        files.iter().for_each(|(name, text)| write(&lab, name, text));
        let output = run(&lab, "culprit config show");
        assert!(output.status.success(), "{}", stderr(&output));
        let text = plain(&stdout(&output));
        for name in *named {
            assert!(text.contains(name), "no {name} in {text}");
        }
    }
}

#[test]
fn every_planted_mistake_is_explained_by_the_command() {
    let page = std::fs::read_to_string(fixtures().join("../docs/casebook/config-mistakes.md"));
    let page = page.unwrap();
    let mut count = 0;
    for section in page.split("\n## ").skip(1) {
        let lab = Lab::new();
        let mut line = String::new();
        let mut answers: Vec<&str> = Vec::new();
        for (at, block) in section.split("```").enumerate() {
            let Some((info, text)) = block.split_once('\n').filter(|_| at % 2 == 1) else {
                answers.extend(block.lines().filter_map(|line| line.strip_prefix("- ")));
                continue;
            };
            match info.split_once(' ') {
                Some((_, file)) => write(&lab, file, text),
                None => text.trim().clone_into(&mut line),
            }
        }
        let output = run(&lab, &line);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        let explained = plain(&stdout(&output));
        let start = line.split(" culprit ").next().filter(|start| start.contains('='));
        let shown = run(&lab, &format!("{} culprit config show", start.unwrap_or_default()));
        let shown = plain(&stdout(&shown));
        for answer in &answers {
            if let Some(finding) = answer.strip_prefix("finding `") {
                let (id, title) = finding.split_once("`: ").unwrap();
                assert!(shown.contains(id) && shown.contains(&plain(title)), "{answer}: {shown}");
                continue;
            }
            let (outcome, rest) = answer.trim_start_matches('`').split_once("` ").unwrap();
            let (place, why) = rest.split_once(": ").unwrap_or((rest, ""));
            let row = format!("{outcome} {place}");
            assert!(explained.contains(&row), "{answer}: {explained}");
            assert!(explained.contains(&plain(why)), "{answer}: {explained}");
        }
        assert!(!answers.is_empty(), "{section}");
        count += 1;
    }
    assert_eq!(count, 10);
}
