//! The page of `config show`: one section a profile, with its keys, sources and findings.
use crate::html::Markup;
use culprit_config::{Configuration, Effective};
use culprit_model::Label as _;

use super::{card, page, shown, table};

/// The page of configurations as one HTML document.
pub fn show_page(subject: &str, found: &[Configuration]) -> String {
    let count =
        |of: &dyn Fn(&Configuration) -> usize| found.iter().map(of).sum::<usize>().to_string();
    let facts = [
        ("profiles", found.len().to_string()),
        ("sources", count(&|one| one.sources.len())),
        ("keys", count(&|one| one.effective.len())),
        ("findings", count(&|one| one.findings.len())),
    ];
    let part = |(at, one): (usize, &Configuration)| (format!("profile-{at}"), one.profile.clone());
    let parts: Vec<(String, String)> = found.iter().enumerate().map(part).collect();
    let title = "Where the configuration comes from";
    page(subject, title, &facts, ("Profiles", &parts), |body| {
        parts.iter().zip(found).for_each(|((id, _), one)| profile(body, id, one));
    })
}

/// The section of one profile.
pub(super) fn profile(body: &mut Markup, id: &str, one: &Configuration) {
    body.element("section", &[("id", id)], |body| {
        body.leaf("h2", &[], &format!("{} ({})", one.title, one.profile));
        for define in &one.defines {
            let text = format!("{} = {} ({})", define.name, define.values.join(","), define.from);
            body.leaf("p", &[("class", "lead")], &text);
        }
        for finding in &one.findings {
            card(body, finding);
        }
        body.leaf("h3", &[], "Sources, the weakest first");
        let rows = one
            .sources
            .iter()
            .map(|source| [&source.name, source.state.word(), &source.layer, &source.why]);
        table(body, &["source", "state", "layer", "remarks"], rows);
        body.leaf("h3", &[], "Keys");
        let rows = one.effective.iter().map(|effective| key(one, effective));
        table(body, &["key", "value", "from", "certainty"], rows);
        body.leaf("h3", &[], "Values that lost");
        let rows = one.effective.iter().flat_map(|effective| losers(one, effective));
        table(body, &["key", "value", "from", "why"], rows);
        if !one.leaves_out.is_empty() {
            body.leaf(
                "p",
                &[("class", "more")],
                &format!("Not read: {}", one.leaves_out.join(" ")),
            );
        }
    });
}

fn key(one: &Configuration, effective: &Effective) -> [String; 4] {
    let winner = effective.winner.map(|at| &one.assignments[at]);
    let value = winner.map_or_else(|| "-".to_owned(), |winner| shown(&winner.value));
    let from =
        winner.map_or_else(|| "no source that counts".to_owned(), |winner| one.place(winner));
    let certainty = match effective.gap {
        Some(gap) => format!("{}: {} was not read", effective.certainty, one.sources[gap].name),
        None => effective.certainty.to_string(),
    };
    [String::from(&effective.key), value, from, certainty]
}

fn losers(one: &Configuration, effective: &Effective) -> Vec<[String; 4]> {
    let losers = effective.chain.iter().filter(|at| Some(**at) != effective.winner);
    let row = |at: &usize| {
        let assignment = &one.assignments[*at];
        [
            String::from(&effective.key),
            shown(&assignment.value),
            one.place(assignment),
            format!("{}: {}", assignment.outcome, assignment.reason),
        ]
    };
    losers.map(row).collect()
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
        let page = show_page("<u>", &[found]);
        for hostile in ["<script", "<img", "<b>", "<i>", "<u>", "correct"] {
            assert!(!page.contains(hostile), "{hostile}");
        }
        assert!(page.contains("&lt;img onerror=x&gt;") && page.contains("••• (key-word)"));
        assert!(page.contains("default-src &#39;none&#39;"));
    }
}
