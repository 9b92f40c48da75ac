//! `config roles` as text.

use culprit_config::{Combination, ConditionResult, RoleMatrix};

use culprit_model::clean;

use crate::layout::{Align, Layout, Table, wrap};

/// What `config roles` prints of a profile.
pub fn roles(matrix: &RoleMatrix, all: bool, layout: &Layout) -> String {
    let mut text = format!("{}\n", layout.paint().heading(&clean(&matrix.profile)));
    for (rule, values, from) in &matrix.now {
        let values = if values.is_empty() { "-".to_owned() } else { values.join(",") };
        let values = if values.is_empty() { "\"\"".to_owned() } else { values };
        text.push_str(&format!("{} = {}  ({})\n", clean(rule), clean(&values), clean(from)));
    }
    text.push_str(&format!("\n{}", conditions(matrix, layout)));
    if all && !matrix.combinations.is_empty() {
        text.push_str(&format!("\n{}", results(matrix, layout)));
    }
    text
}

fn conditions(matrix: &RoleMatrix, layout: &Layout) -> String {
    let columns = ["condition", "now", "verdict", "from", "read as"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for one in &matrix.conditions {
        let cells = [
            format!("{} {}", one.rule, one.text),
            one.now.to_string(),
            one.verdict.to_string(),
            one.place.clone(),
            one.meaning.clone(),
        ];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    table.whole().render(layout.width())
}

/// A row a combination, a sign a condition: a combination is a long text, and conditions are many.
fn results(matrix: &RoleMatrix, layout: &Layout) -> String {
    let legend = "The result of each condition, in their order: + true, - false, i ignored because its \
                  rule is undefined, ! malformed.";
    let mut text = wrap(legend, layout.width(), "");
    let mut table = Table::new(&[("conditions", Align::Left), ("combination", Align::Left)]);
    for (at, combination) in matrix.combinations.iter().enumerate() {
        let results = matrix.conditions.iter().filter_map(|one| one.results.get(at));
        let signs: String = results.map(|result| sign(*result)).collect();
        table.row([signs, clean(&label(combination)).into_owned()]);
    }
    text.push_str(&table.whole().render(layout.width()));
    text
}

fn sign(result: ConditionResult) -> char {
    match result {
        ConditionResult::True => '+',
        ConditionResult::False => '-',
        ConditionResult::Ignored => 'i',
        ConditionResult::Error => '!',
    }
}

fn label(combination: &Combination) -> String {
    let values = combination.values.iter();
    values
        .map(|(rule, values)| format!("{rule}={}", values.join("+")))
        .collect::<Vec<_>>()
        .join(" ")
}
