//! One form of a text for all its spellings in upper and lower case.

/// The text without case. A text, its lower-case and its upper-case form all have the same.
///
/// Three steps, because one is not enough: `İ` and `ß` change their length, and `ς` depends on its
/// neighbours.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.to_lowercase().to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn case_does_not_matter(text in "\\PC*") {
            prop_assert_eq!(fold(&text), fold(&text.to_lowercase()));
            prop_assert_eq!(fold(&text), fold(&text.to_uppercase()));
            prop_assert_eq!(fold(&text), fold(&fold(&text)));
        }
    }

    #[test]
    fn letters_that_change_length_are_folded() {
        assert_eq!(fold("STRASSE"), fold("straße"));
        assert_eq!(fold("İstanbul"), fold("i\u{307}stanbul"));
    }
}
