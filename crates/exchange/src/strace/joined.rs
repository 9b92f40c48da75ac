//! Calls that the traced program's own output cut into several lines.
//!
//! Where both write to one terminal, `write(1, "\n", 1) = 1 <0.000042>` becomes two lines: the
//! program's newline falls between the call and its end.

use super::line::{Line, begins};

/// Lines of one call, and their bytes.
const MOST_LINES: u32 = 64;
const MOST_BYTES: usize = 1 << 20;

/// What a line turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of strace's, put together where it was cut.
    Whole,
    /// The beginning of a call whose end was not found.
    Cut,
    /// Of something else.
    Foreign,
}

/// Puts lines together.
#[derive(Debug, Default)]
pub(super) struct Joined {
    held: String,
    lines: u32,
}

impl Joined {
    /// Takes a line and gives out what is known now.
    pub(super) fn add(&mut self, line: &str, mut take: impl FnMut(&str, Kind)) {
        if line.trim().is_empty() {
            return;
        }
        if line.starts_with(" > ") || Line::parse(line).is_some() {
            self.end(&mut take);
            take(line, Kind::Whole);
        } else if self.lines == 0 {
            if begins(line) { self.hold(line) } else { take(line, Kind::Foreign) }
        } else if begins(line) {
            self.end(&mut take);
            self.hold(line);
        } else {
            self.hold(line);
            if Line::parse(&self.held).is_some() {
                take(&std::mem::take(&mut self.held), Kind::Whole);
                self.lines = 0;
            } else if self.lines >= MOST_LINES || self.held.len() >= MOST_BYTES {
                self.end(&mut take);
            }
        }
    }

    /// No more lines come.
    pub(super) fn end(&mut self, mut take: impl FnMut(&str, Kind)) {
        if self.lines > 0 {
            take(&std::mem::take(&mut self.held), Kind::Cut);
            self.lines = 0;
        }
    }

    fn hold(&mut self, line: &str) {
        self.held.push_str(line);
        self.lines += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(String, Kind)> {
        let (mut joined, mut out) = (Joined::default(), Vec::new());
        let mut take = |line: &str, kind| out.push((line.to_owned(), kind));
        text.lines().for_each(|line| joined.add(line, &mut take));
        joined.end(&mut take);
        out
    }

    #[test]
    fn a_call_goes_on_behind_the_programs_newline() {
        let whole = |text: &str| (text.to_owned(), Kind::Whole);
        assert_eq!(
            kinds("0.1 write(1, \"\\n\\n\", 2\n\n) = 2 <0.1>\n0.2 getpid() = 1 <0.1>"),
            [whole("0.1 write(1, \"\\n\\n\", 2) = 2 <0.1>"), whole("0.2 getpid() = 1 <0.1>")]
        );
        let two = kinds("0.1 write(1, \"a\", 1\n0.2 write(1, \"b\", 1\nb\n) = 1 <0.1>");
        assert_eq!(two[0].1, Kind::Cut);
        assert_eq!(two[1], whole("0.2 write(1, \"b\", 1b) = 1 <0.1>"));
        assert_eq!(kinds("hello")[0].1, Kind::Foreign);
    }
}
