//! The page of `config diff`: the keys that differ.
use culprit_config::{KeyChange, KeyDifference, PlacedValue, Snapshot, SnapshotDifference};
use culprit_model::Label as _;

use super::{page, shown, table};

/// The page of a comparison as one HTML document.
pub fn diff_page((before, after): (&Snapshot, &Snapshot), found: &SnapshotDifference) -> String {
    let count = |change: KeyChange| {
        found.keys.iter().filter(|one| one.change == change).count().to_string()
    };
    let mut facts = vec![("same", found.same.to_string())];
    facts.extend(KeyChange::ALL.iter().map(|change| (change.word(), count(*change))));
    let subject = format!("{} and {}", before.subject, after.subject);
    let parts = [("keys".to_owned(), "Keys".to_owned())];
    let title = "Which keys differ";
    page(&subject, title, &facts, ("Sections", &parts), |body| {
        body.element("section", &[("id", "keys")], |body| {
            body.leaf("h2", &[], "Keys");
            for (side, snapshot) in [("Before", before), ("After", after)] {
                body.leaf("p", &[("class", "lead")], &format!("{side}: {}", snapshot.subject));
            }
            let headings = ["change", "profile", "key", "before", "after"];
            table(body, &headings, found.keys.iter().map(cells));
            for (profile, second) in &found.alone {
                let side = if *second { "after" } else { "before" };
                body.prose("p", &[], &format!("Only `{side}` has the profile {profile}."));
            }
        });
    })
}

fn cells(one: &KeyDifference) -> [String; 5] {
    let side = |value: &Option<PlacedValue>| {
        let text = |one: &PlacedValue| format!("{} ({})", shown(&one.value), one.place);
        value.as_ref().map_or_else(|| "-".to_owned(), text)
    };
    [
        one.change.to_string(),
        one.profile.clone(),
        one.key.clone(),
        side(&one.before),
        side(&one.after),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::html::HOSTILE;
    use culprit_config::{Raw, Redactor, SourceKind, SourceState, VariableSet, difference};

    #[test]
    fn a_comparison_shows_both_values_and_no_secret() {
        let redactor = Redactor::new([1; 32]);
        let side = |value: &str| {
            let variables = ["LEVEL", "DB_PASSWORD", HOSTILE];
            let set = VariableSet {
                kind: SourceKind::InitialEnvironment,
                name: "PID 1".to_owned(),
                state: SourceState::Read,
                why: String::new(),
                variables: variables.map(|name| (name.to_owned(), Raw::new(value))).to_vec(),
                pid: None,
            };
            let one = culprit_config::process_configuration("t", &[set], &redactor);
            Snapshot::new(HOSTILE, &redactor, vec![one])
        };
        let (before, after) = (side("1"), side("22"));
        let page = diff_page((&before, &after), &difference(&before, &after));
        assert!(page.contains("<td class=\"name\">LEVEL</td>"), "{page}");
        assert!(page.contains("<td class=\"name\">1 (PID 1)</td>"), "{page}");
        assert!(page.contains("••• (key-word) (PID 1)"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }
}
