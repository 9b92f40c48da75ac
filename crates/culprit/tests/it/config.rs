//! `culprit config` as its users run it.

use std::path::Path;

use serde_json::Value;

use crate::json::undocumented;
use crate::support::{Lab, fixtures, stderr, stdout};

/// A secret that only its key gives away.
const SECRET: &str = "correct-horse";

fn write(lab: &Lab, name: &str, text: &str) {
    let path = lab.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A command line of this program in a folder, with no variables but those before its name.
fn run(lab: &Lab, folder: &Path, line: &str) -> std::process::Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "culprit").unwrap();
    let variables = words[..at].iter().filter_map(|word| word.split_once('='));
    let mut command = lab.culprit();
    command.current_dir(folder).env_clear().envs(variables).args(&words[at + 1..]);
    command.output().unwrap()
}

/// A block of code in a page: what stands behind its fence, and its lines.
struct Block {
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(info) if !inside => {
                blocks.push(Block { info: info.to_owned(), text: String::new() });
                inside = true;
            }
            Some(_) => inside = false,
            None if inside => blocks.last_mut().unwrap().text.push_str(&format!("{line}\n")),
            None => {}
        }
    }
    blocks
}

#[test]
fn the_page_s_examples_print_what_stands_there() {
    let page = std::fs::read_to_string(fixtures().join("../docs/config.md")).unwrap();
    let lab = Lab::new();
    let blocks = blocks(&page);
    let mut shown = 0;
    for (at, block) in blocks.iter().enumerate() {
        if let Some((_, file)) = block.info.split_once(' ') {
            write(&lab, &format!("project/{file}"), &block.text);
        }
        let printed = blocks.get(at + 1).filter(|next| next.info == "text" && block.info == "sh");
        let Some(printed) = printed else { continue };
        let output = run(&lab, &lab.path("project"), block.text.trim());
        assert!(output.status.success(), "{}{}", block.text, stderr(&output));
        assert_eq!(stdout(&output), printed.text, "docs/config.md: {}", block.text);
        shown += 1;
    }
    assert!(shown >= 4, "{shown}");
}

/// A project of each kind in one folder, with one secret in many places.
fn lab() -> Lab {
    let lab = Lab::new();
    write(
        &lab,
        "p/appsettings.json",
        &format!("{{\"Db\": {{\"Password\": \"{SECRET}\"}}, \"A\": \"{SECRET}\"}}"),
    );
    write(
        &lab,
        "p/application.yml",
        &format!(
            "db.url: \"jdbc:x://h/d?user=u&password={SECRET}\"\n---\nspring.config.activate.on-profile: x\na: 1\n"
        ),
    );
    write(&lab, "p/package.json", "{\"dependencies\": {\"dotenv\": \"17\"}}");
    write(&lab, "p/.env", &format!("DB_PASSWORD={SECRET}\nUNUSED=1\nMADE=x-${{DB_PASSWORD}}\n"));
    write(
        &lab,
        "p/compose.yaml",
        "services:\n  web:\n    environment:\n      URL: a://u:${DB_PASSWORD}@h\n      COPY: ${MADE}\n      NONE: ${NONE}\n",
    );
    lab
}

/// A site whose rule has no key, beside the variable that was to set it.
fn site(lab: &Lab) {
    let from = fixtures().join("../casebook/config-not-applied");
    for (name, to) in [
        ("web.config", "site/web.config"),
        ("Sitecore.config", "site/App_Config/Sitecore.config"),
        ("Environment.config", "site/App_Config/Include/Environment.config"),
    ] {
        write(lab, to, &std::fs::read_to_string(from.join(name)).unwrap());
    }
}

#[test]
fn conditions_are_listed_with_their_results_in_each_combination() {
    let lab = Lab::new();
    site(&lab);
    let line = "culprit config roles --matrix --declare myproject.environment=QA,Production";
    let output = run(&lab, &lab.path("site"), line);
    assert_eq!(
        stdout(&output),
        "sitecore-10\n\
         role = standalone  (web.config:14)\n\
         search = solr  (default)\n\
         env = \"\"  (default)\n\
         \n\
         condition                         now      verdict    from\n\
         \x20     read as\n\
         myproject.environment Production  ignored  undefined  App_Config/Include/Environment.config:6\n\
         \n\
         The result of each condition, in their order: + true, - false, i ignored because its rule is\n\
         undefined, ! malformed.\n\
         conditions  combination\n\
         i           myproject.environment=QA\n\
         i           myproject.environment=Production\n"
    );
    let defined = line.replace("--matrix", "--matrix --define myproject.environment=QA");
    let output = stdout(&run(&lab, &lab.path("site"), &defined));
    assert!(output.contains("-           myproject.environment=QA\n+  "), "{output}");
    let many: Vec<String> = (0..300).map(|n| format!("v{n}")).collect();
    let many = format!("culprit config roles --declare myproject.environment={}", many.join(","));
    let refused = run(&lab, &lab.path("site"), &many);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("300 combinations"), "{}", stderr(&refused));
}

#[test]
fn every_finding_of_configuration_has_a_page() {
    let lab = Lab::new();
    for (id, _) in culprit_config::RULES {
        let output = run(&lab, &lab.path("."), &format!("culprit explain {id}"));
        let page = stdout(&output);
        assert!(page.starts_with(&format!("{id}  Configuration\n")), "{id}: {page}");
        assert!(page.contains("Why it matters") && page.contains("What to do"), "{id}: {page}");
    }
}

#[test]
fn the_documents_hold_the_documented_keys() {
    let lab = lab();
    site(&lab);
    for (section, line, missing) in [
        ("config-show", "Db__Pasword=1 culprit config show --json", ""),
        (
            "config-explain",
            "culprit config explain a --json",
            "choices[].file choices[].start_with findings[].evidence[] findings[].fix[] \
             findings[].id findings[].key findings[].severity findings[].title findings[].why \
             not_read[].source not_read[].state not_read[].why observed[].count observed[].grade \
             observed[].variable",
        ),
        ("config-vars", "DB_URI=1 culprit config vars --json", ""),
        ("config-profiles", "culprit config profiles --json", ""),
    ] {
        let output = run(&lab, &lab.path("p"), line);
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        let not_printed = undocumented(section, &[document]);
        let not_printed: Vec<_> = not_printed.iter().map(String::as_str).collect();
        assert_eq!(not_printed.join(" "), missing, "{section}");
    }
    // A source that cannot be read may set the key.
    write(&lab, "broken/appsettings.Production.json", "{\"b\": 1}");
    write(&lab, "broken/appsettings.json", "{\"a\": 1,\n \"a\": 2}");
    let output = run(&lab, &lab.path("broken"), "culprit config explain a --json");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((output.status.code(), &document["keys"]), (Some(3), &Value::Array(Vec::new())));
    let not_read = &document["not_read"][0];
    assert_eq!(
        (&not_read["source"], &not_read["state"]),
        (&"appsettings.json".into(), &"unparsable".into())
    );
    assert!(not_read["why"].as_str().unwrap().starts_with("line 2, column 2: repeats the key of"));
    let output = run(&lab, &lab.path("site"), "culprit config roles --json");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(undocumented("config-roles", &[document]), std::collections::BTreeSet::new());
}

#[test]
fn no_output_has_the_text_of_a_secret() {
    let lab = lab();
    for line in [
        "config show",
        "config explain Db:Password",
        "config explain URL",
        "config explain DB_PASSWORD",
        "config vars",
    ] {
        for json in ["", "--json"] {
            let line = format!("Db__Password={SECRET} DB_URL={SECRET} culprit {line} {json}");
            let output = run(&lab, &lab.path("p"), &line);
            assert!(output.status.success(), "{line}: {}", stderr(&output));
            let printed = stdout(&output) + &stderr(&output);
            assert!(!printed.contains(SECRET) && printed.len() > 100, "{line}: {printed}");
        }
    }
}

#[test]
fn exit_codes_say_what_became_of_it() {
    let lab = lab();
    let code = |line: &str| run(&lab, &lab.path("p"), line).status.code();
    assert_eq!(code("culprit config show"), Some(0));
    assert_eq!(code("culprit config show --fail-on config-never-applied"), Some(1));
    assert_eq!(code("culprit config show --fail-on config-none"), Some(2));
    assert_eq!(code("culprit config show --root none"), Some(2));
    assert_eq!(code("culprit config show --profile none"), Some(2));
    assert_eq!(code("culprit config explain Nothing"), Some(2));

    write(&lab, "gaps/appsettings.json", "{\"a\": 1}");
    write(&lab, "gaps/appsettings.Production.json", "{\"a\": ");
    let output = run(&lab, &lab.path("gaps"), "culprit config show");
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("unparsable"), "{}", stdout(&output));
    write(&lab, "broken/appsettings.json", "{");
    let output = run(&lab, &lab.path("broken"), "culprit config show");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("appsettings.json: line 1"), "{}", stderr(&output));
    std::fs::create_dir(lab.path("empty")).unwrap();
    let output = run(&lab, &lab.path("empty"), "culprit config show");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint: `culprit config profiles`"), "{}", stderr(&output));
}

#[test]
fn a_wrong_key_names_near_ones_and_a_wrong_profile_says_why() {
    let lab = lab();
    let output = run(&lab, &lab.path("p"), "culprit config explain Db:Passwrd");
    assert!(stderr(&output).contains("did you mean `Db:Password"), "{}", stderr(&output));
    write(
        &lab,
        "wrong.toml",
        "name = 'x'\ntitle = 'X'\n[[layer]]\nname = 'a'\nfiles = ['a.txt']\n",
    );
    let output = run(&lab, &lab.path("."), "culprit config profiles wrong.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the format of `a.txt` is not known"), "{}", stderr(&output));
}

#[test]
fn a_profile_of_the_user_s_own_is_used_by_its_name_and_where_it_fits() {
    let lab = Lab::new();
    let profile = "name = 'mine'\ntitle = 'Mine'\ndetect = ['conf/base.yaml']\n[[layer]]\nname = 'base'\nfiles = ['conf/base.yaml']\n";
    write(&lab, "home/culprit/profiles/mine.toml", profile);
    write(&lab, "p/conf/base.yaml", "a: 1\n");
    let home = lab.path("home");
    for more in ["", " --profile mine"] {
        let line = format!("XDG_CONFIG_HOME={} culprit config show{more}", home.display());
        let output = run(&lab, &lab.path("p"), &line);
        assert!(
            stdout(&output).starts_with("Mine (mine)\n"),
            "{}{}",
            stdout(&output),
            stderr(&output)
        );
    }
}
