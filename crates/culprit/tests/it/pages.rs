//! Pages and pictures: self-contained, safe, drawn.

use culprit_model::notation::parse;
use culprit_report::filters::run_filter;
use culprit_report::{Digest, answers, html};

use serde_json::json;

use crate::browser::Browser;
use crate::corpus::pack;
use crate::support::{Lab, all_rights, number, skip, stderr};

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
        // The names of SVG and MathML, which are fetched by nobody.
        let own = text.replace("http://www.w3.org/", "");
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

/// A page in a browser; none without one. Its scripts did not complain when it was opened.
fn browse(lab: &Lab, file: &str) -> Option<Browser> {
    let Some(mut browser) = Browser::start(lab) else {
        skip("browser", "chromium is not installed");
        return None;
    };
    browser.open(&lab.path(file));
    browser.assert_no_complaint();
    Some(browser)
}

/// The verdict of a recording's page, once its engine has answered.
fn verdict(browser: &mut Browser) -> String {
    let verdict = browser.value(
        "new Promise((done) => { const look = () => document.querySelector('.overview[aria-busy=false]') \
         ? done(document.querySelector('.verdict').textContent) : setTimeout(look, 20); look(); })",
    );
    browser.assert_no_complaint();
    verdict.as_str().unwrap().to_owned()
}

#[test]
fn a_browser_runs_the_page_of_a_recording_from_its_file() {
    let lab = lab("app");
    write(&lab, "report", "r.html");
    let Some(mut browser) = browse(&lab, "r.html") else { return };
    let told = lab.json(&["report", "x.culprit"])["verdict"].as_str().unwrap().replace('`', "");
    assert_eq!(verdict(&mut browser), told);
    write(&lab, "flame", "f.html");
    let Some(mut browser) = browse(&lab, "f.html") else { return };
    let tab = browser.value(
        "new Promise((done) => { const look = () => document.querySelector('.flame canvas') \
         ? done(document.querySelector('.tabs [aria-current]').textContent) : setTimeout(look, 20); look(); })",
    );
    assert_eq!(tab, "Flame");
    browser.assert_no_complaint();
}

#[test]
fn a_browser_runs_the_page_of_an_import_too() {
    let lab = Lab::new();
    std::fs::write(lab.path("a.folded"), "main;serve;parse 34\nmain;idle 6\n").unwrap();
    lab.json(&["import", "a.folded"]);
    lab.culprit().args(["report", "a.culprit", "-o", "page.html"]).output().unwrap();
    let Some(mut browser) = browse(&lab, "page.html") else { return };
    let verdict = verdict(&mut browser);
    assert!(verdict.contains("parse"), "{verdict}");
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
    let Some(mut browser) = browse(&lab, "w/report.html") else { return };
    for part in ["#compare", "#findings", "#strips", "#flame"] {
        assert_eq!(browser.value(&format!("document.querySelector('{part}') !== null")), true);
    }
    // The list of recordings is filled by a script: one of each place. Its tables follow it.
    let shown =
        "[...document.querySelectorAll('#functions [data-view]')].map((part) => part.hidden)";
    for (chosen, hidden) in [("1", json!([true, false])), ("0", json!([false, true]))] {
        browser.choose("#view", chosen);
        assert_eq!(browser.value(shown), hidden);
        assert!(browser.text("#flame-status").contains("100 %"));
    }
    browser.assert_no_complaint();
}

/// The page of places, with a kept recording of a program with many threads.
fn kept(lab: &Lab) -> Option<Browser> {
    let (pack, name) = ("guilty-java.tar.zst", "guilty/locks.java");
    let mut files = pack::read(&pack::corpus().join(pack));
    files.retain(|file, _| file == name);
    pack::unpack(&files, &lab.path("."));
    let mut recording = culprit_recording::open(lab.path(name)).unwrap().recording;
    culprit_engine::threads::build_missing(&mut recording, false);
    let (query, report, tops) = answers(&recording, &run_filter(), false).unwrap();
    let digest = Digest::new(recording, &query, report, tops);
    let page = html::Page {
        verdict: digest.verdict(),
        because: None,
        what: digest.what(),
        facts: Vec::new(),
        comparison: None,
        findings: &digest.report.findings,
        findings_lead: String::new(),
        views: vec![("host".to_owned(), &digest)],
        configuration: None,
        first: 0,
    };
    std::fs::write(lab.path("page.html"), html::render(&page).unwrap()).unwrap();
    browse(lab, "page.html")
}

/// What is drawn, as an image. Fails where nothing is drawn.
fn picture(browser: &mut Browser, canvas: &str) -> String {
    let images = browser.value(&format!(
        "(({{ width, height }}) => [document.querySelector('{canvas}'), \
         Object.assign(document.createElement('canvas'), {{ width, height }})] \
         .map((each) => each.toDataURL()))(document.querySelector('{canvas}'))"
    ));
    assert!(images[0] != images[1], "{canvas} is empty");
    images[0].as_str().unwrap().to_owned()
}

const FLAME: &str = "#flame canvas";
const STRIPS: &str = "#strips canvas";
/// The middle of the row below the root of a flame graph, and of the first strip.
const SECOND_ROW: f64 = 28.0;
const FIRST_STRIP: f64 = 33.0;

#[test]
fn a_page_begins_with_the_run_time_and_folds_idle_threads() {
    let lab = Lab::new();
    let Some(mut browser) = kept(&lab) else { return };
    assert_eq!(browser.value("document.querySelector('#metric').value"), "table");
    let (table, graph) = (browser.text("#functions .more"), browser.text("#flame-of"));
    assert!(table.contains("run time") && table == graph, "{table} {graph}");
    assert!(browser.text("#threads").contains("idle threads are not listed"));
    let rows = browser.value("document.querySelector('#threads table').tBodies[0].rows.length");
    let strips = browser
        .value("JSON.parse(document.querySelector('#data').textContent).views[0].threads.length");
    assert!(number(&rows) < number(&strips), "{rows} of {strips}");
}

#[test]
fn the_flame_graph_of_a_page_follows_its_controls() {
    let lab = Lab::new();
    let Some(mut browser) = kept(&lab) else { return };
    let first = picture(&mut browser, FLAME);
    for (metric, title) in [
        ("wall", "wall time"),
        ("cpu", "CPU time"),
        ("blocked", "blocked time"),
        ("runnable", "time ready without a CPU"),
    ] {
        browser.choose("#metric", metric);
        let of = browser.text("#flame-of");
        assert!(of.contains(&format!("{title} of 23 threads")), "{of}");
        picture(&mut browser, FLAME);
    }
    browser.choose("#metric", "table");
    for (control, value) in [("#apart", "name"), ("#apart", "none"), ("#colour", "module")] {
        let before = picture(&mut browser, FLAME);
        browser.choose(control, value);
        assert!(picture(&mut browser, FLAME) != before, "{control} {value}");
    }
    browser.choose("#colour", "cause");
    browser.choose("#apart", "id");
    assert!(picture(&mut browser, FLAME) == first);
    browser.write("#search", "Main.enter");
    assert!(browser.text("#flame-status").contains("% match \u{201c}main.enter\u{201d}"));
    assert!(picture(&mut browser, FLAME) != first);
    browser.assert_no_complaint();
}

#[test]
fn the_flame_graph_of_a_page_zooms_by_mouse_and_keyboard() {
    let lab = Lab::new();
    let Some(mut browser) = kept(&lab) else { return };
    let whole = browser.text("#flame-status");
    browser.hover(FLAME, 0.5, SECOND_ROW);
    assert!(browser.text("#tip").starts_with("Process java"));
    browser.click_at(FLAME, 0.5, SECOND_ROW);
    assert!(browser.text("#flame-status").starts_with("Process java"));
    browser.press(FLAME, "ArrowDown");
    assert!(browser.text("#flame-status").starts_with("Thread java"));
    browser.press(FLAME, "ArrowUp");
    assert!(browser.text("#flame-status").starts_with("Process java"));
    browser.press(FLAME, "Escape");
    assert_eq!(browser.text("#flame-status"), whole);
    browser.press(FLAME, "ArrowDown");
    browser.click("#reset");
    assert_eq!(browser.text("#flame-status"), whole);
    browser.assert_no_complaint();
}

#[test]
fn a_range_of_the_strips_is_what_the_flame_graph_shows() {
    let lab = Lab::new();
    let Some(mut browser) = kept(&lab) else { return };
    let (whole, strips) = (browser.text("#flame-of"), picture(&mut browser, STRIPS));
    browser.drag(STRIPS, (0.5, 0.7), FIRST_STRIP);
    assert!(browser.text("#flame-of").contains("; from "));
    assert!(picture(&mut browser, STRIPS) != strips);
    browser.click("#whole");
    assert_eq!(browser.text("#flame-of"), whole);
    // A click on the name of a thread shows it in the flame graph.
    browser.click_at(STRIPS, 0.02, FIRST_STRIP);
    assert!(browser.text("#flame-status").starts_with("Thread java"));
    browser.assert_no_complaint();
}

#[test]
fn tables_of_a_page_sort_and_its_theme_changes() {
    let lab = Lab::new();
    let Some(mut browser) = kept(&lab) else { return };
    let own = "[...document.querySelectorAll('#functions td:nth-child(2)')].map((cell) => Number(cell.dataset.sort))";
    let heading = "#functions th:nth-child(2) button";
    for order in ["b - a", "a - b"] {
        browser.click(heading);
        let sorted = format!(
            "{own}.every((value, at, all) => at === 0 || ((a, b) => {order})(all[at - 1], value) <= 0)"
        );
        assert_eq!(browser.value(&sorted), true, "{order}");
    }
    let theme = "document.documentElement.dataset.theme ?? ''";
    let before = browser.value(theme);
    browser.click("#theme");
    assert_ne!(browser.value(theme), before);
    picture(&mut browser, FLAME);
    browser.assert_no_complaint();
}
