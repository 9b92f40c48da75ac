//! Pages and pictures: self-contained, safe, drawn.

use culprit_model::notation::parse;

use crate::support::{Lab, all_rights, program, skip, stderr, stdout};

const HOSTILE: &str = "</script><img onerror=alert(1)>";

fn lab(name: &str) -> Lab {
    let lab = Lab::new();
    let drawing = "
        tick 10ms
        stack u cpu.user app!main;app!compute
        stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
        app(10)/main(10)    uuuuuussss|
        root app(10)";
    let mut recording = parse(drawing).unwrap();
    recording.processes[0].name = name.into();
    recording.threads[0].name = name.into();
    recording.meta.command = vec![name.to_owned()];
    recording.frames[0].function = name.into();
    culprit_recording::write(lab.path("x.culprit"), &recording).unwrap();
    lab
}

fn write(lab: &Lab, command: &str, file: &str) -> String {
    let output = lab.culprit().args([command, "x.culprit", "-o", file]).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    std::fs::read_to_string(lab.path(file)).unwrap()
}

#[test]
fn pages_and_pictures_load_nothing_and_run_nothing_of_a_recording() {
    let lab = lab(HOSTILE);
    for (command, file) in [("report", "r.html"), ("flame", "f.html"), ("flame", "f.svg")] {
        let text = write(&lab, command, file);
        assert!(!text.contains("<img"), "{file}");
        assert!(text.contains("&lt;img onerror"), "{file}");
        let own = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains("http:") && !own.contains("https:"), "{file}");
    }
}

#[test]
fn a_picture_of_an_unknown_kind_is_refused_before_anything_is_read() {
    let lab = lab("app");
    let output = lab.culprit().args(["flame", "x.culprit", "-o", "x.gif"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`.svg`"), "{}", stderr(&output));
}

#[test]
fn a_page_that_cannot_be_written_is_a_refusal_and_leaves_nothing() {
    let lab = lab("app");
    let output =
        lab.culprit().args(["report", "x.culprit", "-o", "no/such/x.html"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(lab.path(".")).unwrap().count(), 1);
}

/// What a browser makes of a page: the document after its scripts ran. None without a browser;
/// fails when the page's scripts complain.
fn browse(lab: &Lab, file: &str) -> Option<String> {
    let mut version = program("chromium");
    if !version.arg("--version").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let page = format!("file://{}", lab.path(file).display());
    let output = program("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"])
        .args(["--enable-logging=stderr", "--dump-dom", &page])
        .env("HOME", lab.path("."))
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(!said.contains("CONSOLE"), "{said}");
    Some(stdout(&output))
}

#[test]
fn a_browser_runs_the_page_without_an_error() {
    let lab = lab("app");
    write(&lab, "report", "r.html");
    let Some(dom) = browse(&lab, "r.html") else {
        return skip("browser", "chromium is not installed");
    };
    // Scripts ran to their end: what they unhide last is shown, and the graph says its total.
    assert!(dom.contains("100 ms, 100 %"), "{dom}");
}

#[test]
fn a_browser_runs_the_page_of_an_import_too() {
    let lab = Lab::new();
    std::fs::write(lab.path("a.folded"), "main;serve;parse 34\nmain;idle 6\n").unwrap();
    lab.json(&["import", "a.folded"]);
    lab.culprit().args(["report", "a.culprit", "-o", "page.html"]).output().unwrap();
    let Some(document) = browse(&lab, "page.html") else {
        return skip("browser, import", "chromium is not installed");
    };
    // Scripts show what needs them as their last step.
    assert!(document.contains("id=\"theme\" class=\"needs-script\">"), "{document}");
    assert!(!document.contains("id=\"flame\"") && document.contains("parse"), "{document}");
}

#[test]
fn a_browser_runs_the_page_of_a_comparison_too() {
    if !all_rights() {
        return skip("browser, comparison", "recording without polling needs root");
    }
    let lab = Lab::new();
    let output = lab
        .culprit()
        .args(["why", "--runs", "1", "-o", "w", "--place", "host", "--place", "host:/tmp"])
        .args(["--", "sh", "-c", "sleep 0.1; echo done"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let Some(dom) = browse(&lab, "w/report.html") else {
        return skip("browser, comparison", "chromium is not installed");
    };
    for part in ["id=\"compare\"", "id=\"findings\"", "id=\"strips\"", "id=\"flame\""] {
        assert!(dom.contains(part), "{part}: {dom}");
    }
    // The list of recordings is filled by a script: one of each place.
    assert!(dom.contains("<option value=\"1\""), "{dom}");
    assert!(dom.contains("100 %"), "{dom}");
}
