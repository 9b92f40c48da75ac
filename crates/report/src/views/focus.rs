//! Finding the function that a user means.

use std::cmp::Reverse;

use culprit_engine::calls::{CallTree, NameId, Patterns, by_name};
use culprit_engine::own::{function_label, source_function};
use culprit_model::{FrameId, Recording};

use crate::Error;

/// The name that `wanted` is: the exact name, else the function that titles of findings call so, else of
/// those that it matches as a pattern one whose function it is, of these the one of the largest total.
/// With it the other names that match. The recording has the frames of the tree.
///
/// # Errors
/// When nothing matches, or the pattern is wrong.
pub fn focus(
    tree: &CallTree,
    recording: &Recording,
    wanted: &str,
) -> Result<(NameId, Vec<String>), Error> {
    if let Some(exact) = tree.find(wanted).or_else(|| titled(tree, recording, wanted)) {
        return Ok((exact, Vec::new()));
    }
    let patterns = Patterns::parse(wanted)
        .map_err(|why| Error::FunctionPattern { wanted: wanted.to_owned(), why })?;
    let mut matching: Vec<_> =
        by_name(tree).into_iter().filter(|row| patterns.any(&row.name)).collect();
    let is_function = |name: &str| name.rsplit('!').next() == Some(wanted);
    matching.sort_by_cached_key(|row| {
        (Reverse(is_function(&row.name)), Reverse(row.inc), row.name.clone())
    });
    let mut matching = matching.into_iter();
    let Some(first) = matching.next() else {
        return Err(Error::NoFunction(wanted.to_owned()));
    };
    Ok((first.id, matching.map(|row| row.name.to_string()).collect()))
}

/// The name of the function that titles call `load_config app.py:31`, or in another line of the same file
/// where none has that one: lines change from version to version.
fn titled(tree: &CallTree, recording: &Recording, wanted: &str) -> Option<NameId> {
    let (function, place) = wanted.rsplit_once(' ')?;
    let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
    let frames = (0..recording.frames.len()).map(FrameId::from_index);
    let is_of_file = |frame: &FrameId| {
        let of = source_function(recording, *frame);
        of.name == function && of.file.is_some_and(|path| path.rsplit('/').next() == Some(file))
    };
    let fits: Vec<FrameId> = frames.filter(is_of_file).collect();
    let (exact, rest): (Vec<FrameId>, Vec<FrameId>) =
        fits.into_iter().partition(|frame| function_label(recording, *frame) == wanted);
    let mut names = exact.into_iter().chain(rest).map(|frame| recording.frame_name(frame));
    names.find_map(|name| tree.find(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use culprit_model::Filter;

    #[test]
    fn a_function_s_own_name_comes_before_names_that_hold_it() {
        let recording = testing::in_kernel();
        let tree = crate::shown::tree(&recording, &Filter::default()).unwrap();
        let found = |wanted| {
            let (name, others) = focus(&tree, &recording, wanted).unwrap();
            (tree.names().text(name).to_string(), others.len())
        };
        assert_eq!(found("read"), ("libc.so.6!read".to_owned(), 2));
        assert_eq!(found("ovl_"), ("[overlay]!ovl_read_iter".to_owned(), 0));
        assert!(focus(&tree, &recording, "nowhere").is_err());
    }

    #[test]
    fn a_function_is_found_as_titles_write_it() {
        let mut recording = testing::recording();
        let of = |recording: &Recording, name| {
            recording.frames.iter().position(|frame| frame.function.as_str() == name).unwrap()
        };
        let compute = of(&recording, "compute");
        recording.frames[compute].file = Some("/src/shop/orders.py".into());
        recording.frames[compute].line = Some(31);
        let main = of(&recording, "main");
        recording.frames[main].file = Some("/src/shop/orders.py".into());
        let tree = crate::shown::tree(&recording, &Filter::default()).unwrap();
        let label = function_label(&recording, FrameId::from_index(compute));
        assert_eq!(label, "compute orders.py:31");
        for wanted in [label.as_str(), "compute orders.py:40", "compute orders.py"] {
            let (name, others) = focus(&tree, &recording, wanted).unwrap();
            assert_eq!((tree.names().text(name).as_str(), others.len()), ("app!compute", 0));
        }
        assert!(focus(&tree, &recording, "compute other.py:31").is_err());
    }
}
