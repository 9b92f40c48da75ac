//! `$NAME` and `${NAME...}` as Compose replaces them (`compose-go`, package `template`).
//!
//! ```text
//! $$          a dollar sign          ${N:-text}  text if N is not set or empty
//! $N  ${N}    the value              ${N-text}   text if N is not set
//! ${N:?text}  refuses without value  ${N:+text}  text if N is set and not empty
//! ```

/// A variable that a template uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is set.
    pub(crate) is_set: bool,
    /// Whether nothing stands for it because it is not set and the template says nothing else.
    pub(crate) blank: bool,
    /// Whether the template demands it and it is missing.
    pub(crate) refused: bool,
}

/// A template with its variables replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The text.
    pub(crate) text: String,
    /// The variables, in their order.
    pub(crate) uses: Vec<Use>,
    /// Whether the template is malformed; its text is then as written.
    pub(crate) malformed: bool,
}

/// Replaces the variables of a template.
pub(crate) fn expand(template: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut expanded = Expanded::default();
    if replace(template, lookup, &mut expanded, 0).is_none() {
        expanded.malformed = true;
        template.clone_into(&mut expanded.text);
    }
    expanded
}

/// The names of all variables in a template, those of branches that are not taken too.
pub(crate) fn mentioned(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(found) = template[at..].find('$') {
        at += found + 1;
        let rest = &template[at..];
        if rest.starts_with('$') {
            at += 1;
            continue;
        }
        let name = name_of(rest.strip_prefix('{').unwrap_or(rest));
        if !name.is_empty() {
            names.push(name);
        }
    }
    names
}

/// Deeper nesting of defaults is taken for malformed.
const MAX_DEPTH: usize = 64;

fn replace(
    template: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    expanded: &mut Expanded,
    depth: usize,
) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        expanded.text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(next) = after.strip_prefix('$') {
            expanded.text.push('$');
            rest = next;
        } else if after.starts_with('{') {
            let end = closing_brace(after)?;
            braced(&after[1..end], lookup, expanded, depth)?;
            rest = &after[end + 1..];
        } else {
            let name = name_of(after);
            if name.is_empty() {
                expanded.text.push('$');
            } else {
                value(name, lookup, expanded);
            }
            rest = &after[name.len()..];
        }
    }
    expanded.text.push_str(rest);
    Some(())
}

/// The brace that closes the one at the start.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' => {
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let name = &text[..end];
    if name.starts_with(|c: char| c.is_ascii_digit()) { "" } else { name }
}

fn value(name: &str, lookup: &dyn Fn(&str) -> Option<String>, expanded: &mut Expanded) {
    let value = lookup(name);
    let is_set = value.is_some();
    expanded.uses.push(Use { name: name.to_owned(), is_set, blank: !is_set, refused: false });
    expanded.text.push_str(&value.unwrap_or_default());
}

fn braced(
    inner: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    expanded: &mut Expanded,
    depth: usize,
) -> Option<()> {
    let name = name_of(inner);
    let rest = &inner[name.len()..];
    if name.is_empty() {
        return None;
    }
    if rest.is_empty() {
        value(name, lookup, expanded);
        return Some(());
    }
    let (or_empty, rest) = match rest.strip_prefix(':') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let operator = rest.chars().next().filter(|c| matches!(c, '-' | '+' | '?'))?;
    let other = &rest[1..];
    let found = lookup(name);
    let counts = found.as_ref().is_some_and(|text| !(or_empty && text.is_empty()));
    expanded.uses.push(Use {
        name: name.to_owned(),
        is_set: found.is_some(),
        blank: false,
        refused: operator == '?' && !counts,
    });
    match operator {
        '+' if counts => replace(other, lookup, expanded, depth + 1)?,
        '-' if !counts => replace(other, lookup, expanded, depth + 1)?,
        // The text of `?` is a message.
        _ => expanded.text.push_str(&found.unwrap_or_default()),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_replaced_as_compose_documents_them() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (template, text) in [
            ("$A-${A}", "1-1"),
            ("$$A", "$A"),
            ("${X}", ""),
            ("${X:-d}", "d"),
            ("${EMPTY:-d}", "d"),
            ("${EMPTY-d}", ""),
            ("${X:-${A}}/x", "1/x"),
            ("${A:+set}", "set"),
            ("${EMPTY:+set}", ""),
            ("${EMPTY+set}", "set"),
            ("100$", "100$"),
            ("$1", "$1"),
            ("${A:?must be set}", "1"),
            ("${X:-{\"a\":1}}", "{\"a\":1}"),
        ] {
            assert_eq!(expand(template, &lookup).text, text, "{template}");
        }
        for malformed in ["${A", "${}", "${1}", "${A!b}"] {
            assert!(expand(malformed, &lookup).malformed, "{malformed}");
        }
        assert_eq!(mentioned("$$A ${B:-$C}/${D}"), ["B", "C", "D"]);
        let uses = expand("${X} ${A} ${Y:?needed}", &lookup).uses;
        let row = |name: &str, is_set, blank, refused| Use {
            name: name.to_owned(),
            is_set,
            blank,
            refused,
        };
        assert_eq!(
            uses,
            [
                row("X", false, true, false),
                row("A", true, false, false),
                row("Y", false, false, true)
            ]
        );
    }
}
