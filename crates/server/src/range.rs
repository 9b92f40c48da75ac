//! The `Range` of a request.

use std::ops::Range;

/// What a request asks for of so many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All of them: no range, or none that can be read or that is one.
    All,
    /// These.
    Part(Range<u64>),
    /// Bytes that there are none of.
    None,
}

impl Asked {
    /// Reads a `Range` header.
    pub(crate) fn read(header: Option<&str>, length: u64) -> Self {
        let Some(ranges) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else {
            return Self::All;
        };
        // Several ranges would need an answer of several parts, which no page of ours asks for.
        let Some((from, to)) = ranges.split_once('-').filter(|_| !ranges.contains(',')) else {
            return Self::All;
        };
        match (number(from), number(to)) {
            (Some(Some(from)), Some(to)) => {
                if to.is_some_and(|to| to < from) {
                    return Self::All;
                }
                let end = to.map_or(length, |to| to.saturating_add(1).min(length));
                if from < end { Self::Part(from..end) } else { Self::None }
            }
            (Some(None), Some(Some(last))) => {
                let from = length.saturating_sub(last);
                if from < length { Self::Part(from..length) } else { Self::None }
            }
            _ => Self::All,
        }
    }
}

/// The number of some digits, none for no digits; a huge one is the largest.
#[expect(clippy::option_option, reason = "outside is what is no number")]
fn number(text: &str) -> Option<Option<u64>> {
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Some(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        let huge = "9".repeat(4_000);
        for (header, asked) in [
            ("bytes=0-0", Asked::Part(0..1)),
            ("bytes=2-", Asked::Part(2..10)),
            ("bytes=2-99", Asked::Part(2..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-99", Asked::Part(0..10)),
            ("bytes=10-", Asked::None),
            ("bytes=-0", Asked::None),
            ("bytes=5-2", Asked::All),
            ("bytes=-", Asked::All),
            ("bytes=", Asked::All),
            ("bytes=a-b", Asked::All),
            ("bytes=+1-2", Asked::All),
            ("bytes=0-1,4-5", Asked::All),
            ("bytes=--1", Asked::All),
            ("lines=0-1", Asked::All),
            ("bytes=18446744073709551615-", Asked::None),
            ("bytes=0-18446744073709551615", Asked::Part(0..10)),
            (&format!("bytes={huge}-"), Asked::None),
            (&format!("bytes=-{huge}"), Asked::Part(0..10)),
            (&format!("bytes=1-{huge}"), Asked::Part(1..10)),
        ] {
            assert_eq!(Asked::read(Some(header), 10), asked, "{header}");
        }
        assert_eq!(Asked::read(None, 10), Asked::All);
        assert_eq!(Asked::read(Some("bytes=0-"), 0), Asked::None);
    }
}
