//! What a page must never do, whatever a recording says about itself.

use super::*;
use crate::digest::Digest;
use crate::digest::digest_of;
use crate::filters::run_filter;
use crate::html::integrity;
use crate::testing;

fn page(digest: &Digest) -> String {
    render(&Page {
        verdict: digest.verdict(),
        because: None,
        what: digest.what(),
        facts: vec![("place", digest.recording.meta.place.clone())],
        comparison: None,
        findings: &digest.report.findings,
        findings_lead: String::new(),
        views: vec![("host".to_owned(), digest)],
        configuration: None,
        first: 0,
    })
    .unwrap()
}

#[test]
fn a_hostile_recording_adds_no_element() {
    let filter = culprit_model::Filter::default();
    let hostile = page(&digest_of(testing::hostile(), &filter));
    let plain = page(&digest_of(testing::recording(), &run_filter()));
    let count = |text: &str, what: &str| text.matches(what).count();
    for tag in ["<script", "</script", "<img", "<style", "<section"] {
        assert_eq!(count(&hostile, tag), count(&plain, tag), "{tag}");
    }
    assert!(!hostile.contains('\u{1b}'));
    assert!(hostile.contains("&lt;/script&gt;&lt;img onerror=alert(1)&gt;"));
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = page(&digest_of(testing::recording(), &run_filter()));
    for word in ["http://", "https://", "src=", "@import", "url(", "href=\"//"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src &#39;none&#39;"));
}

#[test]
fn the_policy_names_exactly_the_style_and_the_script() {
    let html = page(&digest_of(testing::recording(), &run_filter()));
    let style =
        html.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
    let script =
        html.rsplit("<script>").next().and_then(|rest| rest.split("</script>").next()).unwrap();
    for part in [style, script] {
        assert!(html.contains(&integrity(part)), "{}", &part[..40]);
    }
}

#[test]
fn every_number_is_there_without_scripts() {
    let html = page(&digest_of(testing::recording(), &run_filter()));
    for text in ["app (10)", "worker (11)", "clock_nanosleep", "100 ms", "sum of all intervals"] {
        assert!(html.contains(text), "{text}");
    }
}
