//! Elements that are commands and no settings.

use roxmltree::Node;

use super::PATCH;

/// Whether a child is a command of this name.
pub(in crate::sitecore) fn is_command(node: Node<'_, '_>, name: &str, short: &str) -> bool {
    let tag = node.tag_name();
    node.is_element() && tag.namespace() == Some(PATCH) && [name, short].contains(&tag.name())
}

/// Whether all children of an element are commands.
pub(super) fn only_commands(node: Node<'_, '_>) -> bool {
    let is_blank = |child: &Node<'_, '_>| {
        child.is_comment() || child.is_text() && child.text().unwrap_or_default().trim().is_empty()
    };
    let mut children = node.children().filter(|child| !is_blank(child)).peekable();
    children.peek().is_some()
        && children.all(|child| child.is_element() && child.tag_name().namespace() == Some(PATCH))
}
