//! `culprit-data audit report`: the page of a store.

use crate::site::Site;
use crate::support::stderr;

/// A user agent and a path that would be markup if they were not escaped.
const HOSTILE: &str = "</script><img onerror=alert(1)><section id=x>";

/// The page, which is sound: no number that is none, each element closed, nothing loaded.
fn page(site: &Site, store: &str) -> String {
    site.ok(&["report", store, "-o", "page.html"]);
    let page = std::fs::read_to_string(site.path("page.html")).unwrap();
    for word in ["NaN", "\"inf", "\"-inf", "src=", "url(", "<script", "style=\""] {
        assert!(!page.contains(word), "{word}");
    }
    for tag in ["svg", "section", "table", "details", "figure"] {
        let open =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    page
}

#[test]
fn a_page_has_every_picture_and_the_numbers_of_the_questions() {
    let site = Site::sampled(4000, "xdb-json");
    let page = page(&site, "store");
    for id in ["findings", "days", "map", "robots", "sizes", "limits"] {
        assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    let pictures = page.matches("role=\"img\"").count();
    assert_eq!(pictures, 6, "visits, pages, map, robots, sizes, limits");
    let impact = site.json(&["impact", "store"]);
    let visits = impact["before"]["visits"].as_u64().unwrap();
    assert!(page.contains(&format!("<td class=\"name\">{visits}</td>")), "{visits}");
    // Each day has a bar of people and one of robots, and a row.
    let days = impact["days"].as_array().unwrap().len();
    assert_eq!(page.matches(", visits without robots: ").count(), days);
    assert_eq!(page.matches(", visits of robots: ").count(), days);
    let limits = page.split("<section id=\"limits\"").nth(1).unwrap();
    assert!(limits.contains("Referrer"), "limits are drawn for the largest value");
}

#[test]
fn hostile_names_add_no_element() {
    let site = Site::empty();
    let log = |agent: &str| -> String {
        let line = |at: u32| {
            format!(
                "203.0.113.{} - - [01/Jun/2026:10:{:02}:00 +0000] \"GET /{agent} HTTP/1.1\" 200 10 \"-\" \"{agent}\"\n",
                at % 7,
                at % 60
            )
        };
        (0..40).map(line).collect()
    };
    for (name, agent) in [("hostile", HOSTILE), ("plain", "plain")] {
        let file = format!("{name}.log");
        std::fs::write(site.path(&file), log(agent)).unwrap();
        site.ok(&["import", "--from", "accesslog", &file, "-o", name]);
    }
    let (hostile, plain) = (page(&site, "hostile"), page(&site, "plain"));
    for tag in ["<img", "<section", "<svg", "<style"] {
        assert_eq!(hostile.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert!(hostile.contains("&lt;/script&gt;&lt;img onerror=alert(1)&gt;"));
}

#[test]
fn a_page_that_cannot_be_written_leaves_nothing_behind() {
    let site = Site::sampled(4000, "xdb-json");
    let output = site.run(&["report", "store", "-o", "missing/page.html"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));
    let output = site.run(&["report", "sample", "-o", "page.html"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!site.path("page.html").exists());
}
