//! Finding the function that a user means.

use std::cmp::Reverse;

use culprit_engine::calls::{CallTree, NameId, Patterns, by_name};

use crate::failure::{Context as _, Failure};

/// The name that `wanted` is: the exact name, else of those that it matches as a pattern one whose
/// function it is, of these the one of the largest total. With it the other names that match.
///
/// # Errors
/// When nothing matches, or the pattern is wrong.
pub(crate) fn focus(tree: &CallTree, wanted: &str) -> Result<(NameId, Vec<String>), Failure> {
    if let Some(exact) = tree.find(wanted) {
        return Ok((exact, Vec::new()));
    }
    let patterns =
        Patterns::parse(wanted).or_bad_input(|| format!("cannot read the function `{wanted}`"))?;
    let mut matching: Vec<_> =
        by_name(tree).into_iter().filter(|row| patterns.any(&row.name)).collect();
    let is_function = |name: &str| name.rsplit('!').next() == Some(wanted);
    matching.sort_by_cached_key(|row| {
        (Reverse(is_function(&row.name)), Reverse(row.inc), row.name.clone())
    });
    let mut matching = matching.into_iter();
    let Some(first) = matching.next() else {
        return Err(Failure::bad_input(format!(
            "cannot find the function `{wanted}`: no frame matches"
        ))
        .hint("`culprit top REC` lists the functions of the recording"));
    };
    Ok((first.id, matching.map(|row| row.name.to_string()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use culprit_model::Filter;

    #[test]
    fn a_function_s_own_name_comes_before_names_that_hold_it() {
        let tree = crate::load::tree(&testing::in_kernel(), &Filter::default()).unwrap();
        let found = |wanted| {
            let (name, others) = focus(&tree, wanted).unwrap();
            (tree.names().text(name).to_string(), others.len())
        };
        assert_eq!(found("read"), ("libc.so.6!read".to_owned(), 2));
        assert_eq!(found("ovl_"), ("[overlay]!ovl_read_iter".to_owned(), 0));
        assert!(focus(&tree, "nowhere").is_err());
    }
}
