//! The lists in the program. `stock/make.py` makes them from the packages of their authors;
//! `stock/NOTICE` has the licences.

use super::{PatternList, parse_list};

const STOCK: &[&str] = &[
    include_str!("stock/isbot.txt"),
    include_str!("stock/crawler-user-agents.txt"),
    include_str!("stock/crawlerdetect.txt"),
];

/// The lists in the program. Compiling them takes some 100 ms.
#[must_use]
pub fn stock_lists() -> Vec<PatternList> {
    STOCK.iter().map(|text| parse_list("", text).0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_list_in_the_program_compiles() {
        for text in STOCK {
            let (list, rejected) = parse_list("", text);
            assert!(rejected.is_empty(), "{}: {rejected:?}", list.name);
            assert!(list.entries().count() > 100 && !list.version.is_empty(), "{}", list.name);
            let licence = text.lines().find_map(|line| line.strip_prefix("# licence: "));
            assert!(matches!(licence, Some("MIT" | "Unlicense")), "{}", list.name);
            let notice = include_str!("stock/NOTICE");
            assert!(notice.contains(&format!("== {}", list.name)), "{}", list.name);
        }
    }

    /// The patterns that were rewritten: with the exception, without it, and both in one text.
    #[test]
    fn rewritten_patterns_say_what_the_originals_say() {
        let lists = stock_lists();
        let isbot = &lists[0];
        let browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) ";
        for (robot, human) in [
            ("news", "newssapphire"),
            ("google", "GoogleWV"),
            ("google ads", "google pixel"),
            ("scan", "camscan"),
            ("http", "libhttp"),
            ("java", "java;"),
            ("a bot", "a cubot"),
        ] {
            let found = |text: &str| {
                let found = isbot.find(&format!("{browser}{text}")).map(|found| found.entries);
                found.into_iter().flatten().map(|entry| entry.text.clone()).collect::<Vec<_>>()
            };
            let (hits, quiet) = (found(robot), found(human));
            let lost: Vec<_> = hits.iter().filter(|hit| !quiet.contains(hit)).collect();
            assert!(!lost.is_empty(), "`{robot}` {hits:?}, `{human}` {quiet:?}");
            assert_eq!(found(&format!("{human} {robot}")), hits, "{human} {robot}");
        }
    }
}
