//! Numbers with their noun.

/// `1 copy`, `2 copies`: a number with its noun, which is given in the singular. Only its last word
/// changes.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    let vowel_before = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y') {
        Some(stem) if !vowel_before(stem) => format!("{count} {stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_follows_its_number() {
        let words = ["copy", "day", "batch", "page view", "address"];
        let one = words.map(|noun| counted(1, noun));
        assert_eq!(one, ["1 copy", "1 day", "1 batch", "1 page view", "1 address"]);
        let several = words.map(|noun| counted(2, noun));
        assert_eq!(several, ["2 copies", "2 days", "2 batches", "2 page views", "2 addresses"]);
        assert_eq!(counted(0, "row"), "0 rows");
    }
}
