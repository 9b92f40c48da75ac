//! `$(NAME)` as the kubelet replaces it (`third_party/forked/golang/expansion`).
//!
//! ```text
//! $(N)   the value, if the container sets N before this line; else the text stays
//! $$(N)  the text `$(N)`
//! $$     a dollar sign
//! ```

/// A text with its references replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    /// The text.
    pub(super) text: String,
    /// The names that were replaced.
    pub(super) used: Vec<String>,
    /// The names that nothing sets: their references stay in the text.
    pub(super) left: Vec<String>,
}

/// Replaces the references of a text.
pub(super) fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut expanded = Expanded::default();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(next) = after.strip_prefix('$') {
            expanded.text.push('$');
            rest = next;
        } else if let Some((name, next)) =
            after.strip_prefix('(').and_then(|inside| inside.split_once(')'))
        {
            match lookup(name) {
                Some(value) => {
                    expanded.text.push_str(&value);
                    expanded.used.push(name.to_owned());
                }
                None => {
                    expanded.text.push_str(&format!("$({name})"));
                    expanded.left.push(name.to_owned());
                }
            }
            rest = next;
        } else {
            expanded.text.push('$');
            rest = after;
        }
    }
    expanded.text.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_as_the_kubelet_does() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("$(A)", "1"),
            ("x$(A)y$(A)", "x1y1"),
            ("$(EMPTY)|", "|"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$$$$(A)", "$$(A)"),
            ("$(A", "$(A"),
            ("$A ${A}", "$A ${A}"),
            ("$()", "$()"),
            ("$($(A))", "$($(A))"),
            ("ends$", "ends$"),
            ("ends$$", "ends$"),
            ("$é(A)", "$é(A)"),
        ] {
            assert_eq!(expand(text, &lookup).text, expected, "{text}");
        }
        let found = expand("$(A) $(B)", &lookup);
        assert_eq!((found.used, found.left), (vec!["A".to_owned()], vec!["B".to_owned()]));
    }
}
