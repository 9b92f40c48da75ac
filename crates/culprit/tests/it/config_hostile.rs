//! `culprit config` on files that want to hurt: refused with the reason, and the exit code says so.

use std::os::unix::fs::symlink;

use crate::support::{Lab, stderr, stdout};

/// A file that is refused, in a project whose other files are fine.
struct Case {
    profile: &'static str,
    /// The files of the project; the first is the hostile one.
    files: Vec<(&'static str, String)>,
    /// What is said of it.
    reason: &'static str,
}

fn case(profile: &'static str, reason: &'static str, files: &[(&'static str, &str)]) -> Case {
    let files = files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    Case { profile, files, reason }
}

/// The same text many times.
fn deep(open: &str, close: &str) -> String {
    open.repeat(10_000) + &close.repeat(10_000)
}

const JSON: (&str, &str) = ("appsettings.Production.json", "{\"fine\": 1}");
const SITE: [(&str, &str); 2] = [
    ("web.config", "<configuration/>"),
    ("App_Config/Sitecore.config", "<sitecore><a b=\"1\"/></sitecore>"),
];
const PATCH: &str = "App_Config/Include/a.config";

fn documents() -> Vec<Case> {
    let laughs = "<!DOCTYPE a [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;\">]>\n<configuration><sitecore>&c;</sitecore></configuration>";
    let external = "\n<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>\n<configuration><sitecore>&e;</sitecore></configuration>";
    let nested =
        format!("<configuration><sitecore>{}</sitecore></configuration>", deep("<a>", "</a>"));
    let mut anchors = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    let mut maps = "m0: &m0 {k: [1, 2, 3, 4]}\n".to_owned();
    for level in 1..30 {
        let below = level - 1;
        anchors.push_str(&format!(
            "a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}]\n"
        ));
        maps.push_str(&format!(
            "m{level}: &m{level} {{a: *m{below}, b: *m{below}, c: *m{below}}}\n"
        ));
    }
    let site = |reason, text: &str| case("sitecore-10", reason, &[(PATCH, text), SITE[0], SITE[1]]);
    let spring = ("application.properties", "fine=1\n");
    vec![
        site("line 1, column 1: a document type, whose entities are not followed", laughs),
        site("line 2, column 1: a document type, whose entities are not followed", external),
        site("nested deeper than 512", &nested),
        site("line 3, column ", "<configuration>\n<sitecore>\n<a></b>"),
        case("dotnet", "nested deeper than 512", &[("appsettings.json", &deep("[", "]")), JSON]),
        case(
            "dotnet",
            "line 2, column 5: expected colon",
            &[("appsettings.json", "{\n\"a\" \"b\"}"), JSON],
        ),
        case(
            "spring",
            "line 1, column 256: recursion limit exceeded",
            &[("application.yml", &deep("[", "]")), spring],
        ),
        case("spring", "more than 1000000 values", &[("application.yml", &anchors), spring]),
        case("spring", "more than 1000000 values", &[("application.yml", &maps), spring]),
        case(
            "spring",
            "line 1, column 8: an alias that refers to itself",
            &[("application.yml", "a: &a [*a]"), spring],
        ),
        case(
            "generic",
            "line 3, column 2: key with no value",
            &[("config.toml", "a = 1\nb = \"\nc"), ("settings.ini", "fine=1")],
        ),
        case(
            "generic",
            "line 1, column 85: cannot recurse further",
            &[("config.toml", &format!("a = {}", deep("[", "]"))), ("settings.ini", "fine=1")],
        ),
    ]
}

/// Files that include themselves, in each dialect that includes.
fn cycles() -> Vec<Case> {
    let home = "[include]\n\tpath = b\n[include]\n\tpath = b\n[include]\n\tpath = a\n";
    let include = "<sitecore><sc.include file=\"App_Config/b.config\"/></sitecore>";
    let back = "<sitecore><sc.include file=\"App_Config/Sitecore.config\"/></sitecore>";
    vec![
        case(
            "git",
            "included deeper than 10",
            &[
                (".git/b", home),
                (".git/a", home),
                (".git/config", &format!("[fine]\n\ta = 1\n{home}")),
            ],
        ),
        case(
            "git",
            "have no end",
            &[
                (".git/b", home),
                (".git/a", home),
                (".git/config", &format!("[fine]\n\ta = 1\n{home}")),
            ],
        ),
        case(
            "sitecore-10",
            "includes itself: app_config/sitecore.config > app_config/b.config",
            &[(SITE[1].0, include), ("App_Config/b.config", back), SITE[0]],
        ),
        case(
            "sitecore-10",
            "includes itself: app_config/sitecore.config > app_config/sitecore.config",
            &[(SITE[1].0, back), SITE[0]],
        ),
    ]
}

/// Writes a case, and asks for its configuration.
fn show(lab: &Lab, case: &Case) -> (Option<i32>, String) {
    for (name, text) in &case.files {
        let path = lab.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    shown(lab, case.profile)
}

fn shown(lab: &Lab, profile: &str) -> (Option<i32>, String) {
    let mut command = lab.culprit();
    command.env_clear().env("COLUMNS", "1000").args(["config", "show", "--profile", profile]);
    let output = command.output().unwrap();
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn a_hostile_file_is_named_with_its_reason_and_the_others_are_shown() {
    for case in documents().iter().chain(&cycles()) {
        let lab = Lab::new();
        let (code, said) = show(&lab, case);
        let what = format!("{} {}: {said}", case.profile, case.files[0].0);
        assert_eq!(code, Some(3), "{}", what.chars().take(3_000).collect::<String>());
        // The table wraps reasons.
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains(case.reason),
            "{}: {}",
            case.reason,
            what.chars().take(3_000).collect::<String>()
        );
    }
}

#[test]
fn settings_of_python_that_take_from_each_other_end() {
    let lab = Lab::new();
    let manage = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'a.settings')\n";
    let files = [
        ("a/settings.py", "from a.other import *\nFINE = 1\n"),
        ("a/other.py", "from a.settings import *\nOTHER = 2\n"),
        ("manage.py", manage),
    ];
    let (code, said) = show(&lab, &case("django", "", &files));
    assert!(code == Some(0) || code == Some(3), "{said}");
    assert!(said.contains("FINE") && said.contains("OTHER"), "{said}");
    // Each module takes from the next one in two ways, which would be 2^30 runs.
    let names: Vec<String> = (0..31).map(|at| format!("a/m{at}.py")).collect();
    for (at, name) in names.iter().enumerate() {
        let text = format!("from a.m{0} import *\nfrom a.m{0} import X\nX = {at}\n", at + 1);
        std::fs::write(lab.path(name), text).unwrap();
    }
    let files = [("a/settings.py", "from a.m0 import *\nFINE = 1\n"), ("manage.py", manage)];
    let (code, said) = show(&lab, &case("django", "", &files));
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("more than 1000 modules are imported") && said.contains("FINE"),
        "{said}"
    );
}

#[test]
fn a_project_of_hostile_files_alone_is_bad_input() {
    for (name, text, reason) in [
        ("appsettings.json", deep("{\"a\":", "}"), "nested deeper than 512"),
        (
            "appsettings.json",
            "{".to_owned(),
            "appsettings.json: line 1, column 1: unterminated object",
        ),
    ] {
        let (code, said) = show(&Lab::new(), &case("dotnet", reason, &[(name, &text)]));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn links_out_of_the_folder_and_large_files_are_refused() {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.path("p/config")).unwrap();
    std::fs::write(lab.path("outside.json"), "{\"outside\": 1}").unwrap();
    symlink("../outside.json", lab.path("p/appsettings.json")).unwrap();
    std::fs::write(lab.path("p/appsettings.Production.json"), "{\"fine\": 1}").unwrap();
    let show = |lab: &Lab| {
        let mut command = lab.culprit();
        command.env_clear().env("COLUMNS", "1000").current_dir(lab.path("p"));
        let output = command.args(["config", "show", "--profile", "dotnet"]).output().unwrap();
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (code, said) = show(&lab);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("lies outside the root folder") && said.contains("fine"), "{said}");
    assert!(!said.lines().any(|line| line.starts_with("outside")), "{said}");
    std::fs::remove_file(lab.path("p/appsettings.json")).unwrap();
    let large = std::fs::File::create(lab.path("p/appsettings.json")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    let (code, said) = show(&lab);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("larger than 64 MiB") && said.contains("fine"), "{said}");
}
