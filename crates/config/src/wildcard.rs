//! Patterns of paths as git has them (`wildmatch`): `?` and `*` stay within a name, `**/` stands for any
//! folders, `[...]` is one of some characters, a backslash takes the next character as it is.

/// Whether a path fits a pattern.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let mut budget = BUDGET;
    fits_from(&pattern, &text, true, &mut budget)
}

/// More steps than this are a pattern made to take long: it fits nothing.
const BUDGET: u32 = 1_000_000;

fn fits_from(pattern: &[char], text: &[char], at_start: bool, budget: &mut u32) -> bool {
    *budget = budget.saturating_sub(1);
    if *budget == 0 {
        return false;
    }
    let Some(&first) = pattern.first() else { return text.is_empty() };
    match first {
        '*' => star(pattern, text, at_start, budget),
        '?' => {
            text.first().is_some_and(|c| *c != '/')
                && fits_from(&pattern[1..], &text[1..], false, budget)
        }
        '[' => match class(&pattern[1..], text.first()) {
            Some((true, length)) => fits_from(&pattern[1 + length..], &text[1..], false, budget),
            _ => false,
        },
        '\\' if pattern.len() > 1 => {
            text.first() == pattern.get(1) && fits_from(&pattern[2..], &text[1..], false, budget)
        }
        c => text.first() == Some(&c) && fits_from(&pattern[1..], &text[1..], c == '/', budget),
    }
}

fn star(pattern: &[char], text: &[char], at_start: bool, budget: &mut u32) -> bool {
    let stars = pattern.iter().take_while(|c| **c == '*').count();
    let rest = &pattern[stars..];
    // `**` between slashes, or at an end, stands for any number of folders.
    let is_deep = stars > 1 && at_start && rest.first().is_none_or(|c| *c == '/');
    if is_deep && rest.first() == Some(&'/') && fits_from(&rest[1..], text, true, budget) {
        return true;
    }
    for at in 0..=text.len() {
        if fits_from(rest, &text[at..], false, budget) {
            return true;
        }
        if !is_deep && text.get(at) == Some(&'/') {
            return false;
        }
    }
    false
}

/// Whether a character is in the class behind `[`, and the class's length.
fn class(pattern: &[char], c: Option<&char>) -> Option<(bool, usize)> {
    let c = *c.filter(|c| **c != '/')?;
    let is_negated = matches!(pattern.first(), Some('!' | '^'));
    let mut at = usize::from(is_negated);
    let (start, mut found) = (at, false);
    loop {
        let mut low = *pattern.get(at)?;
        if low == ']' && at > start {
            return Some((found != is_negated, at + 1));
        }
        if low == '\\' {
            at += 1;
            low = *pattern.get(at)?;
        }
        let high = match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                at += 2;
                *high
            }
            _ => low,
        };
        found |= (low..=high).contains(&c);
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_git_documents_them() {
        for (pattern, text, expected) in [
            ("/home/me/**", "/home/me/a/b/.git", true),
            ("**/work/.git", "/home/work/.git", true),
            ("**/work/**", "/work/x/.git", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/b/c", false),
            ("/a/**/c", "/a/c", true),
            ("a**b", "a/b", false),
            ("feature/**", "feature/a/b", true),
            ("[a-c]?", "bz", true),
            ("[!a-c]", "b", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!fits(&format!("{}b", "*a".repeat(40)), &"a".repeat(300)));
    }
}
