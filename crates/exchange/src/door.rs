//! What happens to a text before any reader sees it, and how the format of a text is found.
//!
//! A byte order mark is taken off, UTF-16 becomes UTF-8. Lines in front that are of another program
//! (warnings, a shell's prompt) do not hide the format: lines vote, and a document may begin at a
//! later line.

use std::borrow::Cow;

use crate::input::whole_lines;

/// Own lines that vote.
const VOTES: u32 = 200;

/// Lines at which a document may begin.
const BEGINNINGS: usize = 50;

/// How a text says that it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// UTF-8; the mark has three bytes.
    Utf8,
    /// UTF-16, the low byte first or last.
    Utf16 { little: bool },
}

impl Mark {
    /// The mark that a file begins with.
    pub(crate) fn of_file(head: &[u8]) -> Option<Self> {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Some(Self::Utf8),
            [0xff, 0xfe, ..] => Some(Self::Utf16 { little: true }),
            [0xfe, 0xff, ..] => Some(Self::Utf16 { little: false }),
            _ => None,
        }
    }

    /// Its length in bytes.
    pub(crate) const fn length(self) -> usize {
        match self {
            Self::Utf8 => 3,
            Self::Utf16 { .. } => 2,
        }
    }
}

/// The text of UTF-16 behind its mark, and how many characters of it are none.
pub(crate) fn from_utf16(bytes: &[u8], little: bool) -> (String, u64) {
    let (units, rest) = bytes.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| {
        if little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) }
    };
    let mut odd = u64::from(!rest.is_empty());
    let text = char::decode_utf16(units.iter().map(unit)).map(|letter| {
        letter.unwrap_or_else(|_| {
            odd += 1;
            char::REPLACEMENT_CHARACTER
        })
    });
    let text = text.collect();
    (text, odd)
}

/// The beginning of a file as readers will see it.
pub(crate) fn decoded(head: &[u8]) -> Cow<'_, [u8]> {
    match Mark::of_file(head) {
        None => Cow::Borrowed(head),
        Some(mark @ Mark::Utf8) => Cow::Borrowed(&head[mark.length()..]),
        Some(mark @ Mark::Utf16 { little }) => {
            Cow::Owned(from_utf16(&head[mark.length()..], little).0.into_bytes())
        }
    }
}

/// Where a document (JSON, XML) may begin: at the beginning, or at a later line if none before it
/// begins one.
pub(crate) fn beginnings(head: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    let mut over = false;
    let lines = head.split_inclusive(|byte| *byte == b'\n');
    let later = lines.filter_map(move |line| {
        let begin = at;
        at += line.len();
        let first = line.trim_ascii_start().first().copied();
        let begins = !over && matches!(first, Some(b'{' | b'[' | b'<'));
        over |= first == Some(b'{');
        (begins && begin > 0).then_some(begin)
    });
    std::iter::once(0).chain(later.take(BEGINNINGS))
}

/// How a line looks to a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// No other text has such lines.
    Sure,
    /// The format has such lines, and so may other text.
    Fits,
    /// Of something else.
    Foreign,
}

/// What the first lines of a text say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) sure: u32,
    pub(crate) fits: u32,
    /// Lines of something else in front of the first own line.
    pub(crate) in_front: u32,
    /// And behind it.
    pub(crate) between: u32,
}

impl Votes {
    /// Asks the first lines; `sign` is none for lines that say nothing. Bytes that no text has
    /// make it none.
    pub(crate) fn count(head: &[u8], mut sign: impl FnMut(&str) -> Option<Sign>) -> Self {
        let mut votes = Self::default();
        if head.contains(&0) {
            return votes;
        }
        let text = String::from_utf8_lossy(whole_lines(head));
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match sign(line) {
                Some(Sign::Sure) => votes.sure += 1,
                Some(Sign::Fits) => votes.fits += 1,
                Some(Sign::Foreign) if votes.own() == 0 => votes.in_front += 1,
                Some(Sign::Foreign) => votes.between += 1,
                None => {}
            }
            if votes.own() >= VOTES {
                break;
            }
        }
        votes
    }

    /// Lines of the format.
    pub(crate) const fn own(self) -> u32 {
        self.sure + self.fits
    }

    /// Whether at least half of the lines are of the format, and one is surely.
    pub(crate) const fn win(self) -> bool {
        self.sure > 0 && self.own() >= self.in_front + self.between
    }

    /// Whether behind foreign lines in front nine of ten lines are of the format.
    pub(crate) const fn win_clearly(self) -> bool {
        self.win() && self.own() >= 9 * self.between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_no_part_of_the_text() {
        assert_eq!(&*decoded(b"\xef\xbb\xbfmain 1"), b"main 1");
        assert_eq!(&*decoded(b"\xff\xfem\0a\0"), b"ma");
        assert_eq!(&*decoded(b"\xfe\xff\0m\0a"), b"ma");
        assert_eq!(&*decoded(b"main"), b"main");
        // Half of a pair, and half of a unit.
        let (text, odd) = from_utf16(&[0x00, 0xd8, b'a', 0, 7], true);
        assert_eq!((&*text, odd), ("\u{fffd}a", 2));
    }

    #[test]
    fn a_document_may_begin_behind_other_lines() {
        let all = |text: &str| beginnings(text.as_bytes()).collect::<Vec<_>>();
        assert_eq!(all("{\n{\n"), [0]);
        assert_eq!(all("warning: x\n[info] y\n  {\"a\":\n{}"), [0, 11, 20]);
        assert_eq!(all("no\ndocument"), [0]);
    }

    #[test]
    fn lines_vote() {
        let votes = |text: &str| {
            Votes::count(text.as_bytes(), |line| match line {
                "own" => Some(Sign::Sure),
                "maybe" => Some(Sign::Fits),
                "#" => None,
                _ => Some(Sign::Foreign),
            })
        };
        assert!(votes("x\nown\nmaybe\n#\n").win_clearly());
        assert!(votes("x\ny\nown\nown\n").win_clearly());
        assert!(votes("own\nx\n").win() && !votes("own\nx\n").win_clearly());
        assert!(!votes("x\nmaybe\nmaybe").win() && !votes("x\nx\nown").win() && !votes("").win());
        assert_eq!(votes("own\n\0"), Votes::default());
    }
}
