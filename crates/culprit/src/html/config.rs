//! The page of `config show`: one section a profile, with its keys, sources and findings.
//!
//! The page has no script. Whatever a file, a variable or a process is called goes through `Markup`, as
//! everywhere.

use culprit_config::{ConfigFinding, Configuration, HIDDEN, ValueRef};

use super::markup::Markup;
use super::{STYLE, head, integrity};

/// The page of configurations as one HTML document.
pub(crate) fn config_page(subject: &str, found: &[Configuration]) -> String {
    let policy = format!(
        "default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'",
        integrity(STYLE)
    );
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n");
    out.push_str(&head(&format!("configuration of {subject}"), &policy, STYLE));
    out.push_str(&body(subject, found));
    out.push_str("\n</body>\n</html>\n");
    out
}

fn body(subject: &str, found: &[Configuration]) -> String {
    let mut body = Markup::default();
    body.fixed("\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
    body.element("header", &[("class", "bar-top")], |bar| {
        bar.leaf("span", &[("class", "brand")], "Culprit");
        bar.element("nav", &[("aria-label", "Profiles")], |nav| {
            for (at, one) in found.iter().enumerate() {
                nav.leaf("a", &[("href", &format!("#profile-{at}"))], &one.profile);
            }
        });
    });
    body.fixed("\n<main id=\"main\">\n");
    verdict(&mut body, subject, found);
    for (at, one) in found.iter().enumerate() {
        profile(&mut body, at, one);
    }
    body.fixed("</main>\n<footer>");
    body.text(&format!("Made by culprit {}", env!("CARGO_PKG_VERSION")));
    body.fixed("</footer>");
    body.into_string()
}

fn verdict(body: &mut Markup, subject: &str, found: &[Configuration]) {
    let count =
        |of: &dyn Fn(&Configuration) -> usize| found.iter().map(of).sum::<usize>().to_string();
    let facts = [
        ("profiles", found.len().to_string()),
        ("sources", count(&|one| one.sources.len())),
        ("keys", count(&|one| one.effective.len())),
        ("findings", count(&|one| one.findings.len())),
    ];
    body.element("div", &[("class", "verdict")], |body| {
        body.leaf("div", &[("class", "what mono")], subject);
        body.leaf("h1", &[], "Where the configuration comes from");
        body.element("dl", &[("class", "facts")], |list| {
            for (name, value) in facts {
                list.element("div", &[], |pair| {
                    pair.leaf("dt", &[], name);
                    pair.leaf("dd", &[], &value);
                });
            }
        });
    });
}

fn profile(body: &mut Markup, at: usize, one: &Configuration) {
    body.element("section", &[("id", &format!("profile-{at}"))], |body| {
        body.leaf("h2", &[], &format!("{} ({})", one.title, one.profile));
        for define in &one.defines {
            let text = format!("{} = {} ({})", define.name, define.values.join(","), define.from);
            body.leaf("p", &[("class", "lead")], &text);
        }
        for finding in &one.findings {
            card(body, finding);
        }
        body.leaf("h3", &[], "Sources, the weakest first");
        let rows = one.sources.iter().map(|source| {
            [
                source.name.clone(),
                source.state.to_string(),
                source.layer.clone(),
                source.why.clone(),
            ]
        });
        table(body, ["source", "state", "layer", "remarks"], rows);
        body.leaf("h3", &[], "Keys");
        table(body, ["key", "value", "from", "certainty"], keys(one).into_iter());
        body.leaf("h3", &[], "Values that lost");
        table(body, ["key", "value", "from", "why"], losers(one).into_iter());
        if !one.leaves_out.is_empty() {
            body.leaf(
                "p",
                &[("class", "more")],
                &format!("Not read: {}", one.leaves_out.join(" ")),
            );
        }
    });
}

fn shown(value: &ValueRef) -> String {
    value.text.clone().unwrap_or_else(|| format!("{HIDDEN} ({})", value.class))
}

fn keys(one: &Configuration) -> Vec<[String; 4]> {
    let row = |effective: &culprit_config::Effective| {
        let winner = effective.winner.map(|at| &one.assignments[at]);
        let value = winner.map_or_else(|| "-".to_owned(), |winner| shown(&winner.value));
        let from =
            winner.map_or_else(|| "no source that counts".to_owned(), |one_| one.place(one_));
        [effective.key.clone(), value, from, effective.certainty.to_string()]
    };
    one.effective.iter().map(row).collect()
}

fn losers(one: &Configuration) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    for effective in &one.effective {
        for at in effective.chain.iter().filter(|at| Some(**at) != effective.winner) {
            let assignment = &one.assignments[*at];
            rows.push([
                effective.key.clone(),
                shown(&assignment.value),
                one.place(assignment),
                format!("{}: {}", assignment.outcome, assignment.reason),
            ]);
        }
    }
    rows
}

fn table(body: &mut Markup, headings: [&'static str; 4], rows: impl Iterator<Item = [String; 4]>) {
    let rows: Vec<[String; 4]> = rows.collect();
    if rows.is_empty() {
        body.leaf("p", &[], "None.");
        return;
    }
    body.element("div", &[("class", "scroll")], |body| {
        body.element("table", &[], |table| {
            table.element("thead", &[], |head| {
                head.element("tr", &[], |row| {
                    headings.iter().for_each(|heading| row.leaf("th", &[], heading));
                });
            });
            table.element("tbody", &[], |body| {
                for cells in &rows {
                    body.element("tr", &[], |row| {
                        cells.iter().for_each(|cell| row.leaf("td", &[("class", "name")], cell));
                    });
                }
            });
        });
    });
}

fn card(body: &mut Markup, finding: &ConfigFinding) {
    let severity = finding.severity.to_string();
    body.element("details", &[("class", &format!("finding {severity}"))], |body| {
        body.element("summary", &[], |body| {
            body.element("div", &[], |body| {
                body.prose("div", &[("class", "title")], &finding.title);
                body.element("div", &[("class", "meta")], |body| {
                    body.leaf("span", &[("class", &format!("pill {severity}"))], &severity);
                    body.leaf("code", &[], finding.id);
                    body.text(&format!(" {}", finding.evidence.join(", ")));
                });
            });
        });
        body.element("div", &[("class", "body")], |body| {
            body.prose("p", &[], &finding.why);
            body.element("ul", &[], |list| {
                finding.fix.iter().for_each(|fix| list.prose("li", &[], fix));
            });
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_config::{Raw, Redactor, SourceKind, SourceState, VariableSet};

    #[test]
    fn hostile_names_and_values_stay_text_and_secrets_stay_hidden() {
        let variable = |name: &str, value: &str| (name.to_owned(), Raw::new(value));
        let set = VariableSet {
            kind: SourceKind::InitialEnvironment,
            name: "</td><script>alert(1)</script>".to_owned(),
            state: SourceState::Read,
            why: String::new(),
            variables: vec![
                variable("<b>", "\"><img onerror=x>"),
                variable("DB_PASSWORD", "correct-horse"),
            ],
            pid: None,
        };
        let redactor = Redactor::new([1; 32]);
        let found = culprit_config::process_configuration("<i>", &[set], &redactor);
        let page = config_page("<u>", &[found]);
        for hostile in ["<script", "<img", "<b>", "<i>", "<u>", "correct"] {
            assert!(!page.contains(hostile), "{hostile}");
        }
        assert!(page.contains("&lt;img onerror=x&gt;") && page.contains("••• (key-word)"));
        assert!(page.contains("default-src &#39;none&#39;"));
    }
}
