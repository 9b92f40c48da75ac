//! One line of strace's output (strace 4 to 6, `src/strace.c`, `src/syscall.c`).
//!
//! ```text
//! 12345 01:03:57.167447 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3 <0.000012>
//! [pid 12345]  0.000012 wait4(-1,  <unfinished ...>
//! [pid 12345]  0.002831 <... wait4 resumed>NULL, 0, NULL) = 12346 <0.002850>
//! [pid 12346]  0.000003 +++ exited with 0 +++
//! ```

use crate::decimal::Decimal;

/// A line taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The thread; none where strace follows only one.
    pub(super) tid: Option<u32>,
    pub(super) stamp: Option<Stamp>,
    pub(super) what: What<'a>,
}

/// When, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Since the line before (`-r`).
    After(u64),
    /// Since midnight (`-t`, `-tt`).
    Day(u64),
    /// Since 1970 (`-ttt`).
    Epoch(u64),
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What<'a> {
    /// A call from entry to exit.
    Whole { name: &'a str, arguments: &'a str, end: End<'a> },
    /// A call's entry, and what is known of its arguments.
    Begun { name: &'a str, arguments: &'a str },
    /// Its exit, and the rest of its arguments.
    Resumed { name: &'a str, arguments: &'a str, end: End<'a> },
    /// A signal.
    Signal,
    /// The thread ended.
    Gone,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End<'a> {
    /// `3`, `-1 ENOENT (No such file or directory)`, `?`.
    pub(super) result: &'a str,
    /// The latency, ns; none without `-T`.
    pub(super) latency: Option<u64>,
}

impl<'a> Line<'a> {
    /// The parts of a line; none when it is none of strace's.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (tid, rest) = tid(line.trim());
        let (stamp, rest) = stamp(rest);
        // A number alone in front is a time only if a call follows; else it was no number of ours.
        let what = What::parse(rest)?;
        Some(Self { tid, stamp, what })
    }

    /// Whether it is a call with its latency.
    pub(super) fn is_timed(&self) -> bool {
        match self.what {
            What::Whole { end, .. } | What::Resumed { end, .. } => end.latency.is_some(),
            _ => false,
        }
    }
}

/// Whether a line that is none may be the first part of a call: `write(1, "` and more.
pub(super) fn begins(line: &str) -> bool {
    let (_, rest) = tid(line.trim());
    let (_, rest) = stamp(rest);
    rest.split_once('(').is_some_and(|(name, _)| is_name(name))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl<'a> What<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if text.starts_with("--- ") && text.ends_with(" ---") {
            return Some(Self::Signal);
        }
        if text.starts_with("+++ ") && text.ends_with(" +++") {
            return Some(Self::Gone);
        }
        if let Some(rest) = text.strip_prefix("<... ") {
            let (name, rest) = rest.split_once(" resumed>")?;
            let (arguments, end) = ended(rest)?;
            return Some(Self::Resumed { name, arguments, end });
        }
        let (name, rest) = text.split_once('(')?;
        if !is_name(name) {
            return None;
        }
        let begun =
            rest.strip_suffix("<unfinished ...>").or_else(|| rest.strip_suffix("<detached ...>"));
        if let Some(arguments) = begun {
            return Some(Self::Begun { name, arguments: arguments.trim_end() });
        }
        let (arguments, end) = ended(rest)?;
        Some(Self::Whole { name, arguments, end })
    }
}

/// The thread's number and the rest: `[pid N] ...`, `N ...` where a time or a call follows.
fn tid(line: &str) -> (Option<u32>, &str) {
    if let Some((number, rest)) = line.strip_prefix("[pid ").and_then(|rest| rest.split_once(']')) {
        return (number.trim().parse().ok(), rest.trim_start());
    }
    match line.split_once(' ') {
        Some((word, rest)) if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) => {
            (word.parse().ok(), rest.trim_start())
        }
        _ => (None, line),
    }
}

/// The time and the rest. With `-r` beside another time, the other is what counts.
fn stamp(text: &str) -> (Option<Stamp>, &str) {
    let Some((word, rest)) = text.split_once(' ') else { return (None, text) };
    let rest = rest.trim_start();
    let Some(time) = time(word) else { return (None, text) };
    // `-r -tt` prints `01:03:57.167447 (+     0.000012) call`.
    if let Some((_, rest)) = rest.strip_prefix("(+").and_then(|rest| rest.split_once(')')) {
        return (Some(time), rest.trim_start());
    }
    (Some(time), rest)
}

fn time(word: &str) -> Option<Stamp> {
    let mut parts = word.split(':');
    let (first, second, third) = (parts.next()?, parts.next(), parts.next());
    match (second, third) {
        (Some(minutes), Some(seconds)) => {
            let hours: u64 = first.parse().ok().filter(|hours| *hours < 24)?;
            let minutes: u64 = minutes.parse().ok().filter(|minutes| *minutes < 60)?;
            // Some minutes have 61 seconds.
            let seconds = seconds_of(seconds).filter(|seconds| *seconds < 61_000_000_000)?;
            Some(Stamp::Day((hours * 60 + minutes) * 60_000_000_000 + seconds))
        }
        (None, None) if first.contains('.') => {
            let time = seconds_of(first)?;
            // A trace whose lines are a year apart is none.
            let year = 365 * 86_400_000_000_000;
            Some(if time < year { Stamp::After(time) } else { Stamp::Epoch(time) })
        }
        _ => None,
    }
}

fn seconds_of(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    u64::try_from(Decimal::parse(text).filter(|_| plain)?.scaled(9)?).ok()
}

/// What stands before the end of the arguments, and how the call ended.
fn ended(text: &str) -> Option<(&str, End<'_>)> {
    let (text, latency) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once(" <")) {
        Some((rest, latency)) => match seconds_of(latency) {
            Some(latency) => (rest.trim_end(), Some(latency)),
            None => (text, None),
        },
        None => (text, None),
    };
    let at = result_at(text)?;
    let (arguments, result) = text.split_at(at);
    let result = result.trim_start_matches(')').trim_start().strip_prefix('=')?.trim();
    Some((arguments, End { result, latency }))
}

/// Where the `)` in front of `= RESULT` stands: the last one, because results hold neither, save in
/// the words behind an error, which stand in brackets themselves.
fn result_at(text: &str) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = text[..end].rfind(')') {
        if text[at + 1..].trim_start().starts_with("= ") {
            return Some(at);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole<'a>(name: &'a str, arguments: &'a str, result: &'a str, latency: u64) -> What<'a> {
        What::Whole { name, arguments, end: End { result, latency: Some(latency) } }
    }

    #[test]
    fn every_kind_of_time_and_thread_is_read() {
        let read = Line::parse("     0.000025 close(3)                  = 0 <0.000003>").unwrap();
        assert_eq!(read.tid, None);
        assert_eq!(read.stamp, Some(Stamp::After(25_000)));
        assert_eq!(read.what, whole("close", "3", "0", 3_000));
        let read = Line::parse("20776 01:03:57.166702 getpid() = 1 <0.000003>").unwrap();
        assert_eq!((read.tid, read.what), (Some(20_776), whole("getpid", "", "1", 3_000)));
        assert_eq!(read.stamp, Some(Stamp::Day(3_837_166_702_000)));
        let read = Line::parse("[pid 9] 1795309437.470955 getpid() = 1 <0.000000003>").unwrap();
        assert_eq!(read.tid, Some(9));
        assert_eq!(read.stamp, Some(Stamp::Epoch(1_795_309_437_470_955_000)));
        let read = Line::parse("01:03:57 (+     0.5) getpid() = 1 <0.1>").unwrap();
        assert_eq!(read.stamp, Some(Stamp::Day(3_837_000_000_000)));
        assert_eq!(Line::parse("brk(NULL) = 0x55 <0.000030>").unwrap().stamp, None);
    }

    #[test]
    fn brackets_and_signs_in_arguments_are_no_ends() {
        let line =
            r#"access("/a) = 1 <0.1>", R_OK) = -1 ENOENT (No such file or directory) <0.000005>"#;
        let what = whole(
            "access",
            r#""/a) = 1 <0.1>", R_OK"#,
            "-1 ENOENT (No such file or directory)",
            5_000,
        );
        assert_eq!(Line::parse(line).unwrap().what, what);
        let line = "exit_group(0) = ?";
        let end = End { result: "?", latency: None };
        assert_eq!(
            Line::parse(line).unwrap().what,
            What::Whole { name: "exit_group", arguments: "0", end }
        );
    }

    #[test]
    fn calls_in_two_lines_are_told_apart() {
        let begun = Line::parse("7 0.1 wait4(-1,  <unfinished ...>").unwrap().what;
        assert_eq!(begun, What::Begun { name: "wait4", arguments: "-1," });
        let resumed =
            Line::parse("7 0.1 <... wait4 resumed>NULL, 0, NULL) = 8 <0.25>").unwrap().what;
        let end = End { result: "8", latency: Some(250_000_000) };
        assert_eq!(resumed, What::Resumed { name: "wait4", arguments: "NULL, 0, NULL", end });
        assert_eq!(Line::parse("7 0.1 +++ exited with 0 +++").unwrap().what, What::Gone);
        assert_eq!(Line::parse("grep: /no/such/file: No such file"), None);
        assert_eq!(Line::parse("main (argc, argv)"), None);
    }
}
