//! Help, completions and manual pages: on stdout, with 0, and never an error when nobody reads.

use std::process::Stdio;

use crate::support::{Lab, stderr, stdout};

pub(crate) const SUBCOMMANDS: [&str; 71] = [
    "why",
    "bench",
    "bench cmd",
    "bench syscall",
    "bench files",
    "bench copy-up",
    "bench notify",
    "bench net",
    "bench start",
    "bench memory",
    "bench quota",
    "bench log",
    "bench disk",
    "bench pressure",
    "bench compare",
    "verify",
    "record",
    "report",
    "view",
    "findings",
    "top",
    "tree",
    "callers",
    "callees",
    "butterfly",
    "flame",
    "source",
    "diff",
    "wakers",
    "activities",
    "critical-path",
    "phases",
    "presets",
    "sql",
    "audit",
    "audit import",
    "audit refresh",
    "audit sample",
    "audit visits",
    "audit robots",
    "audit blacklist",
    "audit orphans",
    "audit bloat",
    "audit cap",
    "audit impact",
    "audit diff",
    "audit report",
    "audit clean",
    "audit clean plan",
    "audit clean show",
    "audit clean verify",
    "audit clean apply",
    "audit clean undo",
    "audit clean status",
    "import",
    "export",
    "explain",
    "casebook",
    "casebook list",
    "casebook show",
    "casebook run",
    "config",
    "config show",
    "config explain",
    "config vars",
    "config drift",
    "config snapshot",
    "config diff",
    "config profiles",
    "doctor",
    "completions",
];

/// The help of a subcommand, or of a subcommand of one.
pub(crate) fn help(lab: &Lab, subcommand: &str) -> std::process::Output {
    lab.culprit().args(subcommand.split(' ')).arg("--help").output().unwrap()
}

#[test]
fn every_help_opens_with_what_it_does_and_examples() {
    let lab = Lab::new();
    for subcommand in SUBCOMMANDS {
        let output = help(&lab, subcommand);
        let text = stdout(&output);
        assert!(output.status.success() && output.stderr.is_empty(), "{subcommand}");
        let (examples, usage) = (text.find("Examples:"), text.find("Usage:"));
        assert!(examples.is_some() && examples < usage, "{text}");
        assert!(text.contains(&format!("  culprit {subcommand} ")), "{text}");
    }
}

#[test]
fn help_is_as_it_was_read_last() {
    let lab = Lab::new();
    for subcommand in SUBCOMMANDS {
        let text = stdout(&help(&lab, subcommand));
        insta::assert_snapshot!(subcommand.replace(' ', "-"), text);
    }
}

#[test]
fn the_list_of_subcommands_has_them_all() {
    let text = stdout(&Lab::new().culprit().arg("--help").output().unwrap());
    for subcommand in SUBCOMMANDS.iter().filter(|subcommand| !subcommand.contains(' ')) {
        assert!(text.contains(&format!("\n  {subcommand} ")), "{subcommand}: {text}");
    }
    assert!(text.ends_with("3 machine refuses, 130 Ctrl-C\n"), "{text}");
}

#[test]
fn every_option_has_a_variable_and_help_is_a_command_too() {
    let lab = Lab::new();
    for subcommand in SUBCOMMANDS {
        let text = stdout(&help(&lab, subcommand));
        let options = text.lines().filter(|line| line.trim_start().starts_with('-'));
        let options = options.filter(|line| line.contains("--") && !line.contains("--help"));
        let variables = text.lines().filter(|line| line.contains("[env: CULPRIT_")).count();
        assert_eq!(options.count(), variables, "{subcommand}: {text}");
        let help = lab.culprit().arg("help").args(subcommand.split(' ')).output().unwrap();
        assert_eq!(stdout(&help), text);
    }
}

#[test]
fn a_wrong_subcommand_names_the_right_ones() {
    let lab = Lab::new();
    for (wrong, meant) in [("recrod", "record"), ("xyzzy", "butterfly"), ("reports", "report")] {
        let output = lab.culprit().arg(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(meant), "{}", stderr(&output));
    }
}

#[test]
fn a_wrong_probe_names_the_probes() {
    let lab = Lab::new();
    let output = lab.culprit().args(["bench", "dsik"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    let hint = text.lines().find(|line| line.starts_with("hint: ")).expect(&text);
    for probe in ["`culprit bench`", "disk", "copy-up", "pressure", "`culprit bench --help`"] {
        assert!(hint.contains(probe), "{text}");
    }
    assert!(!hint.contains("butterfly"), "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let lab = Lab::new();
    for arguments in [&["--help"][..], &["completions", "zsh"], &["explain"], &["doctor"]] {
        let mut child = lab
            .culprit()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn completions_and_manual_pages_come_from_the_same_declarations() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let text = stdout(&lab.culprit().args(["completions", shell]).output().unwrap());
        assert!(text.contains("butterfly") && text.contains("fail-on"), "{shell}");
    }
    let output = lab.culprit().args(["man", "man"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(lab.path("man/culprit-why.1")).unwrap();
    assert!(page.contains("\\-\\-place"), "{page}");
    assert!(lab.path("man/culprit-bench-cmd.1").exists());
}

#[test]
fn every_finding_has_a_page_and_a_wrong_id_names_near_ones() {
    let lab = Lab::new();
    let list = lab.json(&["explain"]);
    let findings = list["findings"].as_array().unwrap();
    assert!(findings.len() >= 15, "{}", findings.len());
    for finding in findings {
        let page = lab.json(&["explain", finding["id"].as_str().unwrap()]);
        assert_eq!(&page["finding"], finding);
    }
    let output = lab.culprit().args(["explain", "poll-loop"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint: did you mean"), "{}", stderr(&output));
}

#[test]
fn doctor_tells_states_and_ways_out() {
    let doctor = Lab::new().json(&["doctor"]);
    assert!(doctor["rung"].is_string());
    for check in doctor["checks"].as_array().unwrap() {
        let fine = check["state"] == "fine";
        assert_eq!(fine, check["lift"] == "", "{check}");
    }
}
