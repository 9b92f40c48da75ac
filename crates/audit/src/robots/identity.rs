//! What a user agent claims to be, and whether it can be (R8).

use crate::fold::fold;

/// Releases of browsers: word before the version, then major version and year with its fraction.
/// Versions between two rows are interpolated; browsers number their releases steadily since 2011.
/// Sources: the vendors' release notes.
const RELEASES: &[(&str, &[(f64, f64)])] = &[
    (
        "chrome/",
        &[
            (1.0, 2008.9),
            (10.0, 2011.2),
            (20.0, 2012.5),
            (30.0, 2013.8),
            (40.0, 2015.1),
            (50.0, 2016.3),
            (60.0, 2017.6),
            (70.0, 2018.8),
            (80.0, 2020.1),
            (90.0, 2021.3),
            (100.0, 2022.2),
            (110.0, 2023.1),
            (120.0, 2023.9),
            (130.0, 2024.8),
            (140.0, 2025.7),
        ],
    ),
    (
        "firefox/",
        &[
            (1.0, 2004.9),
            (2.0, 2006.8),
            (3.0, 2008.5),
            (4.0, 2011.2),
            (10.0, 2012.1),
            (20.0, 2013.3),
            (30.0, 2014.4),
            (40.0, 2015.6),
            (50.0, 2016.9),
            (60.0, 2018.4),
            (70.0, 2019.8),
            (80.0, 2020.7),
            (90.0, 2021.5),
            (100.0, 2022.3),
            (110.0, 2023.1),
            (120.0, 2023.9),
            (130.0, 2024.7),
            (140.0, 2025.5),
        ],
    ),
    (
        "msie ",
        &[
            (5.0, 1999.2),
            (6.0, 2001.6),
            (7.0, 2006.8),
            (8.0, 2009.2),
            (9.0, 2011.2),
            (10.0, 2012.7),
        ],
    ),
];

/// The shortest and the longest user agent of a browser in wide use, in characters.
const USUAL_LENGTH: std::ops::RangeInclusive<usize> = 20..=400;
/// Texts of programs that did not fill in their own template.
const TEMPLATES: [&str; 5] = ["user-agent:", "{{", "%s", "your user agent", "<ua"];

/// Why a user agent is implausible at a point in time; nothing when it is not.
#[must_use]
pub fn implausible(user_agent: &str, at_ms: Option<i64>, years: f64) -> Option<String> {
    let text = fold(user_agent);
    let length = text.chars().count();
    if !USUAL_LENGTH.contains(&length) {
        return Some(format!("{length} characters"));
    }
    if let Some(word) = TEMPLATES.iter().find(|word| text.contains(**word)) {
        return Some(format!("contains `{word}`"));
    }
    let (name, released) = release(&text)?;
    let age = year(at_ms?) - released;
    (age > years).then(|| format!("{name} was {age:.0} years old"))
}

/// The browser that a folded user agent names, and the year of its release.
fn release(text: &str) -> Option<(String, f64)> {
    RELEASES.iter().find_map(|(word, releases)| {
        let at = text.find(word)? + word.len();
        let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
        let version: f64 = digits.parse().ok()?;
        let next = releases.iter().position(|(known, _)| *known >= version);
        let released = match next {
            // Newer than the table: at least as young as its last row.
            None => releases.last()?.1,
            Some(0) => releases[0].1,
            Some(next) => {
                let ((from, begun), (to, ended)) = (releases[next - 1], releases[next]);
                begun + (ended - begun) * (version - from) / (to - from)
            }
        };
        Some((format!("{}{digits}", word.replace('/', " ")), released))
    })
}

/// A point in time as a year with its fraction.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a year")]
fn year(at_ms: i64) -> f64 {
    const YEAR_MS: f64 = 365.2425 * 86_400_000.0;
    1970.0 + at_ms as f64 / YEAR_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_2024: Option<i64> = Some(1_720_000_000_000);

    #[test]
    fn old_browsers_are_implausible_and_recent_ones_are_not() {
        let xp = "Mozilla/5.0 (Windows NT 5.1; rv:6.0.2) Gecko/20100101 Firefox/6.0.2";
        assert_eq!(implausible(xp, IN_2024, 5.0).unwrap(), "firefox 6 was 13 years old");
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari";
        assert_eq!(implausible(chrome, IN_2024, 5.0), None);
        // The same Firefox in its own time.
        assert_eq!(implausible(xp, Some(1_320_000_000_000), 5.0), None);
        assert_eq!(implausible(xp, None, 5.0), None);
        let newest = chrome.replace("120.0", "999.0");
        assert_eq!(implausible(&newest, IN_2024, 5.0), None);
    }

    #[test]
    fn lengths_and_templates_are_implausible() {
        assert_eq!(implausible("x", None, 5.0).unwrap(), "1 characters");
        assert!(implausible(&"x".repeat(500), None, 5.0).is_some());
        let template = "User-Agent: Mozilla/5.0 (Windows NT 10.0)";
        assert!(implausible(template, None, 5.0).unwrap().contains("user-agent:"));
    }
}
