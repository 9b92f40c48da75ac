//! Finding the function that a user means.

use culprit_engine::calls::{CallTree, NameId, Patterns, by_name};

use crate::failure::{Context as _, Failure};

/// The name that `wanted` is: the exact name, else the one of the largest total that it matches as
/// a pattern. With it the other names that match.
///
/// # Errors
/// When nothing matches, or the pattern is wrong.
pub(crate) fn focus(tree: &CallTree, wanted: &str) -> Result<(NameId, Vec<String>), Failure> {
    if let Some(exact) = tree.names().find(wanted) {
        return Ok((exact, Vec::new()));
    }
    let patterns =
        Patterns::parse(wanted).or_bad_input(|| format!("read the function `{wanted}`"))?;
    let mut matching: Vec<_> =
        by_name(tree).into_iter().filter(|row| patterns.any(&row.name)).collect();
    matching.sort_by(|a, b| b.inc.cmp(&a.inc).then_with(|| a.name.cmp(&b.name)));
    let mut matching = matching.into_iter();
    let Some(first) = matching.next() else {
        return Err(Failure::bad_input(format!(
            "find the function `{wanted}`: no frame matches it"
        ))
        .hint("`culprit top REC` lists the functions of a recording"));
    };
    Ok((first.id, matching.map(|row| row.name.to_string()).collect()))
}
