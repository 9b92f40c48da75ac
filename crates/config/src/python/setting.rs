//! Names and values of settings, and what can be wrong with them.

use super::expression::Value;

/// What an [`crate::Oddity`] says of a text that means false.
pub(crate) const TEXT_IS_TRUE: &str =
    "is a text that means false, and Python takes every text for true";
/// What an [`crate::Oddity`] says of a variable that must be set.
pub(crate) const NO_VARIABLE: &str = "is not set, and the settings need it";

/// Puts a value into groups.
pub(super) fn put(group: &mut Value, path: &[String], value: Value) {
    let (Value::Group(all), Some((first, rest))) = (group, path.split_first()) else { return };
    match all.iter_mut().find(|(name, _)| name == first) {
        Some((_, own)) if rest.is_empty() => *own = value,
        Some((_, own)) => put(own, rest, value),
        None if rest.is_empty() => all.push((first.clone(), value)),
        None => {}
    }
}

/// Django takes the names that `str.isupper` is true of.
pub(super) fn is_setting(name: &str) -> bool {
    !name.chars().any(char::is_lowercase) && name.chars().any(char::is_uppercase)
}

/// A text that a person writes for false, and that Python takes for true.
pub(super) fn is_false(text: &str) -> bool {
    matches!(text.trim().to_lowercase().as_str(), "false" | "0" | "no" | "off" | "f" | "n")
}
