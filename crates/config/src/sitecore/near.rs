//! The element that a patch was meant to change, where it matched none and a second one is added.

use roxmltree::Node;

use super::patch::{PATCH, Patch, SET};
use super::tree::Tree;
use crate::profile::Patches;

/// Edits between two names that are taken for a slip.
const MOST_EDITS: usize = 2;
/// Names that are shorter are near to too many others.
const SHORTEST: usize = 8;
/// Among more elements than this no slip is looked for: each would be compared with each.
const MOST_COMPARED: usize = 5_000;

/// The element that was meant, and why it did not match.
///
/// Not reported: an element that no other resembles, because a patch may add one.
pub(super) fn counterpart(
    tree: &Tree,
    target: u32,
    patch: &Patch<'_>,
    patches: &Patches,
    node: Node<'_, '_>,
) -> Option<(u32, String)> {
    let identity = patch.identity(patches)?;
    // With only what tells it apart, a patch asks for nothing that could differ.
    if let Some(other) = tree.alike(target, &patch.name, identity).first() {
        let differing = patch
            .wanted
            .iter()
            .find(|(name, value)| tree.value(*other, Some(name)).is_none_or(|own| *own != **value));
        let (name, _) = differing?;
        let name = &name.local;
        return Some((*other, format!("`{name}` is a part of the match, and differs")));
    }
    let changes = node.attributes().any(|one| one.namespace() == Some(SET))
        || node.children().any(|child| child.tag_name().namespace() == Some(PATCH));
    let siblings = tree.named(target, &patch.name);
    if !changes || identity.1.len() < SHORTEST || siblings.len() > MOST_COMPARED {
        return None;
    }
    let near = siblings.iter().find(|other| {
        tree.element(**other).removed_by.is_none()
            && tree.identity(**other).is_some_and(|(attribute, value)| {
                attribute == identity.0
                    && value.len().abs_diff(identity.1.len()) <= MOST_EDITS
                    && strsim::damerau_levenshtein(value, identity.1) <= MOST_EDITS
            })
    })?;
    let value = tree.identity(*near).map_or("", |(_, value)| value);
    Some((*near, format!("no element is called `{}`; `{value}` is almost the same", identity.1)))
}
