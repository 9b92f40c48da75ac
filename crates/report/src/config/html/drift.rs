//! The page of `config drift`: one section a container or process, with its matrix and findings.
use crate::html::Markup;
use culprit_config::{Drift, DriftRow, HashState};

use super::{card, page, shown, table};
use crate::config::text::{drift_column_remark, drift_letter};

/// The page of matrices as one HTML document; `all` also lists variables that are the same everywhere.
pub fn drift_page(found: &[Drift], all: bool) -> String {
    let count = |of: &dyn Fn(&Drift) -> usize| found.iter().map(of).sum::<usize>().to_string();
    let facts = [
        ("compared", found.len().to_string()),
        ("variables", count(&|one| one.rows.len())),
        ("not the same", count(&|one| one.rows.iter().filter(|row| !row.is_same()).count())),
        ("findings", count(&|one| one.findings.len())),
    ];
    let part = |(at, one): (usize, &Drift)| (format!("subject-{at}"), one.subject.clone());
    let parts: Vec<(String, String)> = found.iter().enumerate().map(part).collect();
    let subject = match found {
        [one] => one.subject.clone(),
        more => format!("{} containers and processes", more.len()),
    };
    let title = "Which variables differ between the places";
    page(&subject, title, &facts, ("Subjects", &parts), |body| {
        parts.iter().zip(found).for_each(|((id, _), one)| matrix(body, id, one, all));
    })
}

fn matrix(body: &mut Markup, id: &str, one: &Drift, all: bool) {
    body.element("section", &[("id", id)], |body| {
        body.leaf("h2", &[], &one.subject);
        let first_test = match one.hash {
            HashState::Same => "The container was made from what the compose file says now.",
            HashState::Differs => "The container was not made from what the compose file says now.",
            HashState::Unknown => "",
        };
        if !first_test.is_empty() {
            body.leaf("p", &[("class", "lead")], first_test);
        }
        one.findings.iter().for_each(|finding| card(body, finding));
        body.leaf("h3", &[], "Places");
        let repeated = one.repeated();
        let columns = one.columns.iter().enumerate().map(|(at, column)| {
            let remark = drift_column_remark(column, one.reference == Some(at), repeated[at]);
            [drift_letter(at), column.name.clone(), remark]
        });
        table(body, &["", "place", "remarks"], columns);
        body.leaf("h3", &[], "Variables");
        let columns: Vec<usize> =
            (0..one.columns.len()).filter(|at| repeated[*at].is_none()).collect();
        let letters: Vec<String> = columns.iter().map(|at| drift_letter(*at)).collect();
        let mut headings = vec!["variable"];
        headings.extend(letters.iter().map(String::as_str));
        headings.push("value");
        let rows = one.rows.iter().filter(|row| all || !row.is_same());
        table(body, &headings, rows.map(|row| cells(one, row, &columns)));
        let same = one.rows.iter().filter(|row| !all && row.is_same()).count();
        if same > 0 {
            let text = format!("{same} variables are the same everywhere.");
            body.leaf("p", &[("class", "more")], &text);
        }
    });
}

/// The name of a variable, its state in each place, and the value that it is compared with.
fn cells(one: &Drift, row: &DriftRow, columns: &[usize]) -> Vec<String> {
    let reference = one.reference.and_then(|at| row.cells[at].value.as_ref());
    let mut cells = vec![row.name.clone()];
    cells.extend(columns.iter().map(|at| row.cells[*at].state.to_string()));
    cells.push(reference.map_or_else(|| "-".to_owned(), shown));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::html::HOSTILE;
    use culprit_config::{
        DriftColumn, DriftRequest, Raw, Redactor, SourceKind, SourceState, VariableSet, drift,
    };

    #[test]
    fn a_matrix_shows_what_differs_and_no_secret() {
        let redactor = Redactor::new([1; 32]);
        let column = |kind, level: &str| {
            let variable = |name: &str, value: &str| (name.to_owned(), Raw::new(value));
            let set = VariableSet {
                kind,
                name: HOSTILE.to_owned(),
                state: SourceState::Read,
                why: String::new(),
                variables: vec![
                    variable("LEVEL", level),
                    variable("SAME", "1"),
                    variable("DB_PASSWORD", level),
                ],
                pid: None,
            };
            DriftColumn::from_set(&set, None, &redactor)
        };
        let columns = vec![
            column(SourceKind::ContainerEnvironment, "swordfish"),
            column(SourceKind::ImageEnvironment, "other"),
        ];
        let subject = HOSTILE.to_owned();
        let found = [drift(DriftRequest { subject, columns, ..DriftRequest::default() })];
        let page = drift_page(&found, false);
        assert!(page.contains("<td class=\"name\">LEVEL</td>"), "{page}");
        assert!(page.contains("<td class=\"name\">differs</td>"), "{page}");
        assert!(page.contains("1 variables are the same everywhere."), "{page}");
        assert!(page.contains("••• (key-word)") && !page.contains("<script"), "{page}");
        assert!(drift_page(&found, true).contains("<td class=\"name\">SAME</td>"));
    }
}
