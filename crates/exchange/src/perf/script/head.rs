//! The line that begins a sample: whichever fields `perf script -F` was asked for, in perf's order
//! (`perf_sample__fprintf_start` and `process_event` in tools/perf/builtin-script.c).
//!
//! ```text
//! [comm] [pid/tid | pid | tid] [cpu] [misc] [time:] [period] [event:] [addresses, fields, code]
//! ```
//!
//! The comm is free text and may look like any other field, so that one line can be read in several
//! ways. Lines of a file agree on their fields: the first ones vote on which.

use super::frame::{self, Inline};

/// Fields of a line.
pub(super) mod field {
    pub(in super::super) const COMM: u8 = 1;
    pub(in super::super) const IDS: u8 = 1 << 1;
    pub(in super::super) const CPU: u8 = 1 << 2;
    pub(in super::super) const MISC: u8 = 1 << 3;
    pub(in super::super) const TIME: u8 = 1 << 4;
    pub(in super::super) const PERIOD: u8 = 1 << 5;
    pub(in super::super) const EVENT: u8 = 1 << 6;
}

/// Bytes of the longest comm: those of the kernel's workers reach 64.
const LONGEST_COMM: usize = 80;

/// Bytes of the longest comm that a thread gives itself.
const OWN_COMM: usize = 15;

/// The width of a period, by which it is told from the number of a thread.
const PERIOD_WIDTH: usize = 10;

/// What perf calls records that are no samples.
const RECORD: &str = "PERF_RECORD_";

/// One way to read a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Head<'a> {
    /// Which fields it has.
    pub(super) fields: u8,
    pub(super) comm: &'a str,
    /// Negative where perf no longer knew.
    pub(super) pid: Option<i64>,
    pub(super) tid: i64,
    /// Nanoseconds.
    pub(super) time: u64,
    pub(super) period: Option<u64>,
    pub(super) event: &'a str,
    /// What stands behind the last of these fields and its space.
    pub(super) rest: &'a str,
    /// Whether that is nothing, or code alone.
    clean: bool,
}

impl<'a> Head<'a> {
    pub(super) const fn has(&self, field: u8) -> bool {
        self.fields & field != 0
    }

    /// Whether no other text has such lines.
    pub(super) const fn is_sure(&self) -> bool {
        self.has(field::TIME) && (self.has(field::IDS) || self.has(field::EVENT))
    }

    /// Every way to read a line, the comm shortest first.
    pub(super) fn readings(line: &'a str) -> impl Iterator<Item = Self> {
        let lead = line.len() - line.trim_start().len();
        let ends = line.match_indices([' ', '\t']).map(|(at, _)| at).chain([line.len()]);
        let ends = ends.filter(move |at| {
            *at > lead && !line[..*at].ends_with([' ', '\t']) && *at <= lead + LONGEST_COMM
        });
        let readings = std::iter::once(0).chain(ends);
        readings.filter_map(move |end| Self::read(line, end)).filter(Self::is_possible)
    }

    /// Whether the comm has no time in it: else any beginning of a line might be a comm.
    fn is_likely(&self) -> bool {
        self.comm.split([' ', '\t']).all(|word| time(word).is_none())
    }

    /// Whether the comm may be one all the same: threads give themselves short names. A record that is no
    /// sample has numbers in front of a colon, too, but no time there.
    fn is_possible(&self) -> bool {
        let record = self.comm.contains(RECORD) && !self.is_sure();
        !record && (self.comm.len() <= OWN_COMM || self.is_likely())
    }

    /// Reads a line whose comm ends at a byte; 0 for a line without one.
    fn read(line: &'a str, end: usize) -> Option<Self> {
        let comm = line[..end].trim();
        let mut words = Words { line, at: end, separated: end > 0 };
        let mut head = Self { comm, ..Self::default() };
        if !comm.is_empty() {
            head.fields |= field::COMM;
        }
        head.ids(&mut words);
        let has_ids = head.has(field::IDS);
        if let Some(word) = words.peek() {
            let number = word.text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            // The latency format has no brackets, but a width of three.
            let narrow = word.width == word.text.len().max(3);
            let bare = has_ids && narrow && is_number(word.text) && words.second_is_time();
            if bare || number.is_some_and(is_number) {
                head.fields |= field::CPU;
                words.take(word);
            }
        }
        if let Some(word) = words.peek()
            && is_misc(word.text, has_ids)
            && words.second_is_time()
        {
            head.fields |= field::MISC;
            words.take(word);
        }
        if let Some((word, time)) = words.peek().and_then(|word| Some((word, time(word.text)?))) {
            head.fields |= field::TIME;
            head.time = time;
            words.take(word);
        }
        if let Some(word) = words.peek()
            && is_number(word.text)
            && frame::is_no_address(word.width)
            && let Ok(period) = word.text.parse()
        {
            head.fields |= field::PERIOD;
            head.period = Some(period);
            words.take(word);
        }
        if let Some(word) = words.peek()
            && let Some(event) = word.text.strip_suffix(':').filter(|event| !event.is_empty())
            && time(word.text).is_none()
            && !event.starts_with(RECORD)
        {
            head.fields |= field::EVENT;
            head.event = event;
            words.take(word);
        }
        head.rest = words.rest();
        let free = head.has(field::EVENT) || (has_ids && head.has(field::TIME));
        let inline = Inline::read(head.rest);
        let code = inline.frame.is_some() && !inline.other;
        head.clean = head.rest.trim().is_empty() || code;
        let fits = head.clean || free;
        let is_record = head.rest.trim_start().starts_with(RECORD);
        // A line of code alone has an address in its width.
        let any = head.fields != 0 || code;
        (any && fits && !is_record).then_some(head)
    }

    fn ids(&mut self, words: &mut Words<'a>) {
        let Some(word) = words.peek() else { return };
        let ids = match word.text.split_once('/') {
            Some((pid, tid)) => id(pid).zip(id(tid)).map(|(pid, tid)| (Some(pid), tid)),
            None => {
                let period = word.width >= PERIOD_WIDTH && !words.second_is_behind_ids();
                id(word.text).filter(|_| !period).map(|tid| (None, tid))
            }
        };
        if let Some((pid, tid)) = ids {
            self.fields |= field::IDS;
            (self.pid, self.tid) = (pid, tid);
            words.take(word);
        }
    }

    /// How much a reading explains: fields of a fixed form more than a comm, and a comm that looks like
    /// other fields less. It still counts: a thread of such a name may have most of the lines.
    fn weight(&self) -> u64 {
        let comm = u64::from(self.has(field::COMM));
        1 + u64::from(self.fields.count_ones()) * 2 - comm - u64::from(!self.is_likely())
    }
}

/// Whether a line is one of the records that are no samples.
pub(super) fn is_record(line: &str) -> bool {
    line.contains(RECORD)
}

/// A word of a line, and how wide its field is: from behind the field before and the space.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    end: usize,
    width: usize,
}

#[derive(Debug, Clone, Copy)]
struct Words<'a> {
    line: &'a str,
    at: usize,
    /// Whether a space that separates fields comes first.
    separated: bool,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<Word<'a>> {
        let rest = &self.line[self.at..];
        let text = rest.trim_start_matches([' ', '\t']);
        let length = text.find([' ', '\t']).unwrap_or(text.len());
        let end = self.at + (rest.len() - text.len()) + length;
        let width = (end - self.at).saturating_sub(usize::from(self.separated));
        (length > 0).then_some(Word { text: &text[..length], end, width })
    }

    fn take(&mut self, word: Word<'a>) {
        (self.at, self.separated) = (word.end, true);
    }

    fn second(&self) -> Option<&'a str> {
        let mut later = *self;
        later.take(self.peek()?);
        later.peek().map(|word| word.text)
    }

    fn second_is_time(&self) -> bool {
        self.second().is_some_and(|word| time(word).is_some())
    }

    /// Whether what follows never stands behind a period.
    fn second_is_behind_ids(&self) -> bool {
        let mut later = *self;
        let Some(word) = self.peek() else { return false };
        later.take(word);
        self.second_is_time()
            || self.second().is_some_and(|word| word.starts_with('[') && word.ends_with(']'))
            || later.second_is_time()
    }

    fn rest(&self) -> &'a str {
        let rest = &self.line[self.at..];
        if self.separated { rest.strip_prefix([' ', '\t']).unwrap_or(rest) } else { rest }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn id(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let number = is_number(digits).then(|| text.parse::<i64>().ok()).flatten()?;
    (number <= i64::from(i32::MAX)).then_some(number)
}

/// Letters of modes and records, or older flags such as `d..2.`.
fn is_misc(text: &str, has_ids: bool) -> bool {
    text.len() <= 8
        && (text.bytes().all(|byte| byte.is_ascii_alphabetic())
            || (has_ids && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')))
}

/// Nanoseconds of `12.345678:` or `12.345678901:`.
fn time(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    if !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    let scale = match fraction.len() {
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    let (whole, part): (u64, u64) = (seconds.parse().ok()?, fraction.parse().ok()?);
    whole.checked_mul(1_000_000_000)?.checked_add(part * scale)
}

/// The fields that the lines of a file have, the most usual first. Events of several types may
/// have different ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    fields: Vec<u8>,
    /// Whether lines without code end in a space, as perf prints them.
    spaced: bool,
}

/// A line of the beginning, and whether a call chain follows.
pub(super) type Candidate<'a> = (&'a str, bool);

impl Layout {
    /// Lets lines vote: those that may begin a sample.
    pub(super) fn learn(lines: &[Candidate<'_>]) -> Self {
        // The votes of each line, and all fields that it may be read with.
        let mut left: Vec<(Vec<(u8, u64)>, u128)> = lines
            .iter()
            .map(|(line, chain)| {
                let readings =
                    Head::readings(line).filter(|head| head.is_likely() || head.is_sure());
                let readings = readings.filter(|head| evident(head, line, *chain));
                let votes = readings.map(|head| (head.fields, head.weight())).collect();
                (votes, Head::readings(line).fold(0, |all, head| all | 1 << head.fields))
            })
            .collect();
        let ends = |(line, _): &Candidate<'_>| line.ends_with(' ') || code(line);
        let spaced = lines.iter().filter(|line| ends(line)).count() * 2 > lines.len();
        let mut layout = Self { fields: Vec::new(), spaced };
        while let Some(best) = heaviest(&left) {
            layout.fields.push(best);
            left.retain(|(_, all)| all & 1 << best == 0);
        }
        // What a file with times has without one is something else.
        let timed = |fields: &u8| fields & field::TIME != 0;
        if layout.fields.first().is_some_and(timed) {
            layout.fields.retain(timed);
        } else {
            layout.fields.truncate(1);
        }
        layout
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether lines hold code and nothing else.
    pub(super) fn is_code(&self) -> bool {
        self.fields == [0]
    }

    /// A line as one of these; one of a new kind only if it is surely one.
    pub(super) fn read<'a>(&mut self, line: &'a str) -> Option<Head<'a>> {
        let mut best: Option<(usize, Head<'a>)> = None;
        for head in Head::readings(line) {
            let rank = self.fields.iter().position(|fields| *fields == head.fields);
            let Some(rank) = rank.filter(|_| head.is_sure() || self.fits(line)) else { continue };
            // Of two comms the one that leaves nothing unread.
            let better =
                |known: &(usize, Head<'_>)| (rank, !head.clean) < (known.0, !known.1.clean);
            if best.as_ref().is_none_or(better) {
                best = Some((rank, head));
            }
            if rank == 0 && head.clean {
                break;
            }
        }
        if let Some((_, head)) = best {
            return Some(head);
        }
        if is_record(line) {
            return None;
        }
        let likely = Head::readings(line).filter(Head::is_likely);
        let new = likely.filter(Head::is_sure).max_by_key(Head::weight)?;
        self.fields.push(new.fields);
        Some(new)
    }
}

impl Layout {
    /// Whether a line that is not surely one ends as the others do.
    fn fits(&self, line: &str) -> bool {
        !self.spaced || line.ends_with(' ') || code(line)
    }
}

/// Whether a line may end in an address and a name.
fn code(line: &str) -> bool {
    line.split(' ').any(|word| word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The fields that explain most of the lines.
fn heaviest(lines: &[(Vec<(u8, u64)>, u128)]) -> Option<u8> {
    let mut weights = [0_u64; 128];
    for (readings, _) in lines {
        let mut seen = 0_u128;
        for (fields, weight) in readings {
            // Two comms may give a line the same fields.
            if seen & 1 << fields == 0 {
                seen |= 1 << fields;
                weights[usize::from(*fields)] += weight;
            }
        }
    }
    let best = (0_u8..128).max_by_key(|fields| {
        let comm = fields & field::COMM;
        (weights[usize::from(*fields)], fields.count_ones(), u8::MAX - comm)
    })?;
    (weights[usize::from(best)] > 0).then_some(best)
}

/// Whether a reading is more than a guess: it is sure, or the line is as perf prints it, which ends
/// each field with a space, and the code behind it or below it.
fn evident(head: &Head<'_>, line: &str, chain: bool) -> bool {
    /// The width of a comm, and its space.
    const COMM_WIDTH: usize = 17;
    if head.is_sure() {
        return true;
    }
    let empty = head.rest.trim().is_empty();
    let printed =
        chain || (empty && line.ends_with(' ')) || Inline::read(head.rest).frame.is_some();
    let aligned = line.len() >= COMM_WIDTH || chain;
    printed && (head.fields != field::COMM || aligned)
}

#[cfg(test)]
mod tests;
