//! Names like a wrong one.

/// How many are suggested.
const SHOWN: usize = 3;

/// Of these names, which are in lower case, those that a slip of the fingers may have meant, the nearest
/// first.
pub fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wrong = wrong.to_lowercase();
    let score = |name: &str| {
        let contains = wrong.len() > 2 && (name.contains(&wrong) || wrong.contains(name));
        let alike = strsim::jaro_winkler(&wrong, name);
        if contains { alike.max(0.9) } else { alike }
    };
    // Below four fifths alike, names have little more than letters in common.
    let mut found: Vec<_> = names
        .into_iter()
        .map(|name| (score(name), name))
        .filter(|(score, _)| *score > 0.8)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.dedup_by_key(|(_, name)| *name);
    found.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_are_near_and_other_words_are_not() {
        let names = ["intervals", "wakeups", "thread_states", "threads", "stack_frames"];
        assert_eq!(near("interval", names), ["intervals"]);
        assert_eq!(near("Wakeup", names), ["wakeups"]);
        assert_eq!(near("states", names), ["thread_states"]);
        assert_eq!(near("xyzzy", names), [""; 0]);
    }
}
