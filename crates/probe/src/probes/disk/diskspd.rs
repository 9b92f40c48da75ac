//! Reads diskspd's command lines, with its meanings and defaults (its `CmdLineParser`).
//!
//! Three steps: the line becomes words, words become options, options become a
//! [`Definition`]. What cannot be done here is refused where it would be another workload, and
//! noted where it only changes details.

use std::collections::BTreeSet;
use std::time::Duration;

use super::definition::Definition;
use super::spec::{Access, Cache, Engine, HotSpot, Spec, percent, size};
use crate::inside::Fault;

/// What diskspd does where the line says nothing.
const BLOCK: u64 = 64 << 10;
const DURATION: u64 = 10;
const WARMUP: u64 = 5;
const DEPTH: u32 = 2;

/// The parts of a non-uniform distribution, as shares or bytes of the file.
#[derive(Debug, PartialEq)]
enum Spots {
    Percent(Vec<(u64, u64)>),
    Absolute(Vec<(u64, u64)>),
}

/// What the line says, `None` where it says nothing.
#[derive(Debug, Default)]
struct Options {
    seen: BTreeSet<char>,
    block: Option<u64>,
    base: u64,
    size: Option<u64>,
    limit: Option<u64>,
    warmup: Option<u64>,
    duration: Option<u64>,
    cooldown: u64,
    threads: Option<u32>,
    pool: Option<u32>,
    depth: Option<u32>,
    pool_depth: Option<u32>,
    random: bool,
    random_share: Option<u64>,
    sequential: bool,
    shared_offset: bool,
    align: Option<u64>,
    thread_stride: Option<u64>,
    spots: Option<Spots>,
    write_percent: u64,
    rate: Option<Rate>,
    uncached: Option<bool>,
    write_through: bool,
    mapped: bool,
    seed: Option<u64>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Rate {
    Requests(u64),
    BytesPerMillisecond(u64),
}

/// What a command line of diskspd does, with or without the program's name.
///
/// # Errors
/// When diskspd would refuse it, too, or it cannot be done here; the fault names the option.
pub fn parse(line: &str) -> Result<Definition, Fault> {
    let words = arguments(split(line)?);
    if words.is_empty() {
        return Err(Fault::new("the diskspd line is empty")
            .hint("give its options, such as `-b4K -r -o32 -c1G test.dat`"));
    }
    let first_target = words.iter().position(|word| option(word).is_none());
    let (given, targets) = words.split_at(first_target.unwrap_or(words.len()));
    // `-b 4K` is what people try first.
    if let (Some(last), Some(value)) = (given.last(), targets.first())
        && last.chars().count() == 2
        && value.starts_with(|digit: char| digit.is_ascii_digit())
    {
        return Err(Fault::new(format!("`{last}` and `{value}` are apart"))
            .hint(format!("diskspd wants the value glued to its option: `{last}{value}`")));
    }
    if let Some(late) = targets.iter().find(|word| word.starts_with('-')) {
        return Err(Fault::new(format!(
            "the option `{late}` comes after a target: `{}`",
            targets[0]
        ))
        .hint("diskspd wants all options before the first target, each glued to its value"));
    }
    let mut options = Options::default();
    // Sizes may be counted in blocks, so the block comes first, wherever it stands.
    for (letter, value) in given.iter().filter_map(|word| option(word)) {
        if letter == 'b' {
            options.block = Some(options.size_of('b', value)?);
        }
    }
    for (letter, value) in given.iter().filter_map(|word| option(word)) {
        options.take(letter, value)?;
    }
    options.define(targets)
}

/// Words between spaces; quotes keep spaces, and a backslash is part of a path.
fn split(line: &str) -> Result<Vec<String>, Fault> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(quote) = quote {
        return Err(
            Fault::new(format!("a quote {quote} is not closed")).hint("close it, or leave it out")
        );
    }
    words.extend(word);
    Ok(words)
}

/// Without the program, signs that continue a line, and what the shell does with the output. Web
/// pages make dashes of hyphens.
fn arguments(words: Vec<String>) -> Vec<String> {
    let is_program = |word: &String| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
        name.strip_suffix(".exe").unwrap_or(&name) == "diskspd"
    };
    let options = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
    let program = words.iter().take(options).position(is_program);
    let after = program.map_or(0, |program| program + 1);
    let shell =
        |word: &String| ["|", ">", "1>", "2>", "&&", ";"].iter().any(|s| word.starts_with(s));
    let words = words.into_iter().skip(after).take_while(|word| !shell(word));
    let words = words.filter(|word| !matches!(word.as_str(), "^" | "\\" | "`" | ""));
    words
        .map(|word| match word.strip_prefix(['–', '—', '−']) {
            Some(rest) => format!("-{rest}"),
            None => word,
        })
        .collect()
}

/// The letter of an option and what is glued to it. A word that begins with `/` is an option only
/// where its value has the form of one: `/t4` is, `/tmp/file` and `/data` are paths.
fn option(word: &str) -> Option<(char, &str)> {
    let split = |rest: &'_ str| rest.chars().next().map(|letter| (letter, letter.len_utf8()));
    if let Some(rest) = word.strip_prefix('-') {
        // A lone `-` has no letter; `take` refuses it.
        let (letter, width) = split(rest).unwrap_or((' ', 0));
        return Some((letter, &rest[width..]));
    }
    let rest = word.strip_prefix('/')?;
    let (letter, width) = split(rest)?;
    let value = &rest[width..];
    let form = value.is_empty() || value.starts_with(|digit: char| digit.is_ascii_digit());
    let known = match letter {
        'S' => value.chars().all(|flag| "bhmruw".contains(flag)),
        'f' => form || value.chars().all(|flag| "rst".contains(flag)),
        'r' => {
            let value = value.strip_prefix('s').unwrap_or(value);
            value.starts_with("dpct")
                || value.starts_with("dabs")
                || value.starts_with(|digit: char| digit.is_ascii_digit())
                || value.is_empty()
        }
        's' => form || value.starts_with('i') && value.len() < 8,
        'R' => matches!(value, "text" | "xml" | "p" | "ptext" | "pxml"),
        'X' => value.to_ascii_lowercase().ends_with(".xml"),
        'Z' => form || value == "r",
        'N' => matches!(value, "v" | "n" | "i"),
        'a' => form || value.starts_with('g'),
        letter => form && "?bBcCDdFghiIjlLnoOpPtTvwWxz".contains(letter),
    };
    let path = value.contains('/') && !value.starts_with("dpct") && !value.starts_with("dabs");
    (known && !path).then_some((letter, value))
}

fn bad(letter: char, value: &str, hint: &str) -> Fault {
    Fault::new(format!("`-{letter}{value}` is not understood")).hint(hint)
}

fn number<T: std::str::FromStr>(letter: char, value: &str) -> Result<T, Fault> {
    let digits = value.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.then(|| value.parse().ok()).flatten();
    number.ok_or_else(|| bad(letter, value, "a whole number is glued to it, such as `-t4`"))
}

/// A number of which 0 makes no sense.
fn count(letter: char, value: &str) -> Result<u32, Fault> {
    match number(letter, value)? {
        0 => Err(bad(letter, value, "it is 1 at least")),
        count => Ok(count),
    }
}

fn seconds(letter: char, value: &str) -> Result<u64, Fault> {
    Ok(u64::from(number::<u32>(letter, value)?))
}

fn percentage(letter: char, value: &str) -> Result<u64, Fault> {
    match number(letter, value)? {
        percent @ 0..=100 => Ok(percent),
        _ => Err(bad(letter, value, "a percentage is between 0 and 100")),
    }
}

impl Options {
    fn block(&self) -> u64 {
        self.block.unwrap_or(BLOCK)
    }

    /// Bytes: `K`, `M`, `G` and `T` are binary, `b` counts blocks.
    fn size_of(&self, letter: char, value: &str) -> Result<u64, Fault> {
        let wrong = || bad(letter, value, "a size is glued to it, such as `-c2G` (K, M, G, T, b)");
        let (digits, unit) = match value.char_indices().last() {
            Some((at, unit)) if unit.is_ascii_alphabetic() => (&value[..at], unit),
            _ => (value, ' '),
        };
        let factor = match unit.to_ascii_lowercase() {
            ' ' => 1,
            'b' => self.block(),
            'k' => 1 << 10,
            'm' => 1 << 20,
            'g' => 1 << 30,
            't' => 1 << 40,
            _ => return Err(wrong()),
        };
        let number: u64 = number(letter, digits).map_err(|_| wrong())?;
        number.checked_mul(factor).ok_or_else(wrong)
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn take(&mut self, letter: char, value: &str) -> Result<(), Fault> {
        // These may come more than once with a meaning, or check it themselves.
        if !self.seen.insert(letter) && !"arsSe".contains(letter) {
            self.note(format!("`-{letter}` is given more than once: the last one counts"));
        }
        match letter {
            'b' => {}
            'B' => self.base = self.size_of(letter, value)?,
            'c' => self.size = Some(self.size_of(letter, value)?),
            'f' => self.limit_or_hint(value)?,
            'd' => self.duration = Some(seconds(letter, value)?),
            'W' => self.warmup = Some(seconds(letter, value)?),
            'C' => self.cooldown = seconds(letter, value)?,
            't' => self.threads = Some(count(letter, value)?),
            'F' => self.pool = Some(count(letter, value)?),
            'o' => self.depth = Some(count(letter, value)?),
            'O' => self.pool_depth = Some(count(letter, value)?),
            'r' => self.random(value)?,
            's' => self.stride(value)?,
            'T' => self.thread_stride = Some(self.size_of(letter, value)?),
            'w' if value.is_empty() => {
                return Err(Fault::new("`-w` has no percentage").hint(
                    "say how many of the requests write, such as `-w60`; without it all read",
                ));
            }
            'w' => self.write_percent = percentage(letter, value)?,
            'g' => self.rate = Some(rate(value)?),
            'S' => self.caching(value)?,
            'h' => self.caching("h")?,
            'z' if value.is_empty() => {
                self.note(
                    "`-z` takes another seed for each run in diskspd; here it stays the same",
                );
            }
            'z' => self.seed = Some(number(letter, value)?),
            _ => return self.aside(letter, value),
        }
        Ok(())
    }

    /// Options that change nothing here, and those that cannot be done.
    fn aside(&mut self, letter: char, value: &str) -> Result<(), Fault> {
        let note = match letter {
            // Output, tracing and counting: nothing of the workload.
            'L' | 'n' | 'P' | 'v' => return Ok(()),
            'R' if value.starts_with('p') => {
                "`-Rp` only prints the profile in diskspd; here the workload runs"
            }
            'R' => return Ok(()),
            'i' | 'j' => {
                count(letter, value)?;
                "bursts need both `-i` and `-j`: one alone is left out here"
            }
            'a' => "`-a` is left out: the kernel chooses the CPUs here",
            'D' => "`-D` is left out: there is no series of requests over time here",
            'e' => "`-e` is left out: it asks for traces of Windows",
            'I' => "`-I` is left out: requests have the usual priority here",
            'l' => "`-l` is left out: buffers have pages of the usual size here",
            'N' => "`-N` is left out: mapped pages are not flushed after each store here",
            'p' => "`-p` is left out: requests in flight never share an offset on purpose here",
            'x' => "`-x` is left out: completion routines are a way of Windows",
            'y' => "`-y` is left out: no other process is signalled or waited for",
            'Z' => "`-Z` has no effect: what is written does not depend on it here",
            'X' => {
                return Err(Fault::new("`-X` names a profile in XML, which is not read here")
                    .hint("diskspd prints the options of each of its runs: give those"));
            }
            '?' => {
                return Err(Fault::new("`-?` only asks diskspd for its help")
                    .hint("give the options of a workload"));
            }
            _ => {
                return Err(Fault::new(format!("diskspd has no option `-{letter}{value}`")).hint(
                    "leave it out, or write it as diskspd does: one letter, its value glued to it",
                ));
            }
        };
        self.note(note);
        Ok(())
    }

    fn limit_or_hint(&mut self, value: &str) -> Result<(), Fault> {
        if !value.is_empty() && value.chars().all(|flag| "rst".contains(flag)) {
            self.note(format!(
                "`-f{value}` is left out: the kernel gets no hint about the access here"
            ));
            return Ok(());
        }
        self.limit = Some(self.size_of('f', value)?);
        Ok(())
    }

    fn random(&mut self, value: &str) -> Result<(), Fault> {
        if let Some(spots) = value.strip_prefix('d') {
            self.spots = Some(self.distribution(spots)?);
            return Ok(());
        }
        if self.sequential {
            return Err(conflict());
        }
        if let Some(share) = value.strip_prefix('s') {
            let share = percentage('r', share).ok().filter(|share| *share > 0);
            self.random_share = Some(share.ok_or_else(|| {
                bad('r', value, "the share of random requests is between 1 and 100: `-rs40`")
            })?);
            return Ok(());
        }
        self.random = true;
        if !value.is_empty() {
            self.align = Some(self.size_of('r', value)?);
        }
        Ok(())
    }

    fn stride(&mut self, value: &str) -> Result<(), Fault> {
        if self.random || self.random_share.is_some() {
            return Err(conflict());
        }
        self.sequential = true;
        let shared = value.strip_prefix('i');
        self.shared_offset |= shared.is_some();
        let stride = shared.unwrap_or(value);
        if !stride.is_empty() {
            self.align = Some(self.size_of('s', stride)?);
        }
        Ok(())
    }

    fn distribution(&self, value: &str) -> Result<Spots, Fault> {
        let wrong = || {
            Fault::new(format!("`-rd{value}` is not understood")).hint(
                "pairs of requests and place, such as `-rdpct90/10:5/20` or `-rdabs90/10G:5/20G`",
            )
        };
        let pairs = |list: &str, place: &dyn Fn(&str) -> Result<u64, Fault>| {
            let pair = |pair: &str| {
                let (requests, part) = pair.split_once('/').ok_or_else(wrong)?;
                let part = place(part).map_err(|_| wrong())?;
                let requests = percentage('r', requests).map_err(|_| wrong())?;
                if part == 0 { Err(wrong()) } else { Ok((requests, part)) }
            };
            list.split(':').map(pair).collect::<Result<Vec<_>, _>>()
        };
        if let Some(list) = value.strip_prefix("pct") {
            return Ok(Spots::Percent(pairs(list, &|part| percentage('r', part))?));
        }
        let list = value.strip_prefix("abs").ok_or_else(wrong)?;
        Ok(Spots::Absolute(pairs(list, &|part| self.size_of('r', part))?))
    }

    /// Flags of several `-S` add up; contradictions are refused, as diskspd does.
    fn caching(&mut self, value: &str) -> Result<(), Fault> {
        let again = || {
            Fault::new(format!("`-S{value}` contradicts itself or an earlier `-S`"))
                .hint("give one of `-Sb`, `-Su`, `-Sw`, `-Suw`, `-Sm`")
        };
        for flag in if value.is_empty() { "u" } else { value }.chars() {
            match flag {
                'b' if self.uncached.is_none() => self.uncached = Some(false),
                'u' if self.uncached.is_none() && !self.mapped => self.uncached = Some(true),
                'w' if !self.write_through => self.write_through = true,
                'h' if self.uncached.is_none() && !self.write_through && !self.mapped => {
                    (self.uncached, self.write_through) = (Some(true), true);
                }
                'm' if !self.mapped && self.uncached != Some(true) => self.mapped = true,
                'b' | 'u' | 'w' | 'h' | 'm' => return Err(again()),
                'r' => {
                    return Err(Fault::new("`-Sr` is for network drives of Windows")
                        .hint("use `-Su` for no cache, `-Sb` for the page cache"));
                }
                _ => return Err(bad('S', value, "its flags are `b`, `h`, `m`, `u` and `w`")),
            }
        }
        Ok(())
    }
}

fn conflict() -> Fault {
    Fault::new("`-s` is for sequential requests, `-r` and `-rs` for random ones")
        .hint("leave one of them out; `-r4K` also aligns the sequential part of `-rs`")
}

/// Per thread: bytes in a millisecond, or requests in a second with `i`.
fn rate(value: &str) -> Result<Rate, Fault> {
    match value.strip_suffix('i') {
        Some(requests) => Ok(Rate::Requests(u64::from(count('g', requests)?))),
        None => Ok(Rate::BytesPerMillisecond(u64::from(count('g', value)?))),
    }
}

impl Options {
    fn define(mut self, targets: &[String]) -> Result<Definition, Fault> {
        self.refuse()?;
        let mut spec = Spec {
            block: self.block(),
            threads: self.threads.or(self.pool).unwrap_or(1),
            align: self.align.filter(|align| *align != self.block()),
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            write_share: self.write_percent as f64 / 100.0,
            warmup: Duration::from_secs(self.warmup.unwrap_or(WARMUP)),
            duration: Duration::from_secs(self.duration.unwrap_or(DURATION)),
            cooldown: Duration::from_secs(self.cooldown),
            access: self.access(),
            ..Spec::default()
        };
        spec.seed = self.seed.unwrap_or(spec.seed);
        self.place(&mut spec)?;
        self.path(&mut spec);
        self.stream(&mut spec);
        self.pace(&mut spec);
        self.explain(&spec);
        self.spread(&mut spec)?;
        if targets.len() > 1 {
            self.note(format!(
                "{} targets are named, each with its own requests in flight: only one file is \
                    used here",
                targets.len()
            ));
        }
        spec.check()?;
        let target = targets.first().cloned();
        Ok(Definition { spec, target, claims: Vec::new(), notes: self.notes })
    }

    /// What diskspd refuses, and bursts, which would be another workload without their pauses.
    fn refuse(&self) -> Result<(), Fault> {
        let refusals = [
            (
                self.block() >= u64::from(u32::MAX),
                "the block is too large for diskspd",
                "use a block below 4G",
            ),
            (
                self.threads.is_some() && self.pool.is_some(),
                "`-t` and `-F` exclude each other",
                "`-t` counts the threads of each target, `-F` all of them: leave one out",
            ),
            (
                self.pool_depth.is_some() && (self.pool.is_none() || self.depth.is_some()),
                "`-O` is only for use with `-F`, and without `-o`",
                "use `-o` with `-t`",
            ),
            (
                self.spots.is_some() && !self.random && self.random_share.is_none(),
                "`-rd` says where random requests go, but requests are sequential",
                "add `-r`",
            ),
            (
                self.shared_offset && self.thread_stride.is_some(),
                "`-si` and `-T` exclude each other",
                "leave one of them out",
            ),
            (
                self.seen.contains(&'i') && self.seen.contains(&'j'),
                "bursts with pauses (`-i`, `-j`) cannot be done here",
                "leave both out, or limit the rate with `-g`, such as `-g100i`",
            ),
        ];
        match refusals.into_iter().find(|(refused, ..)| *refused) {
            Some((_, what, hint)) => Err(Fault::new(what).hint(hint)),
            None => Ok(()),
        }
    }

    fn access(&self) -> Access {
        match self.random_share {
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            Some(share) if share < 100 => Access::Mixed { random: share as f64 / 100.0 },
            Some(_) => Access::Random,
            None if self.random => Access::Random,
            None => Access::Sequential,
        }
    }

    /// Size of the file and of the part that is used.
    fn place(&mut self, spec: &mut Spec) -> Result<(), Fault> {
        if let Some(size) = self.size {
            spec.size = size;
            self.note(
                "diskspd may declare a new file's content valid without writing it; here all \
                of it is written",
            );
        } else {
            let spots = match &self.spots {
                Some(Spots::Absolute(spots)) => {
                    spots.iter().try_fold(0_u64, |sum, (_, part)| sum.checked_add(*part))
                }
                _ => Some(0),
            };
            let spots = spots.ok_or_else(|| Fault::new("the places of `-rdabs` are too large"))?;
            // The file has at least what the line uses of it.
            let room = spec.size.max(spec.block.saturating_mul(16)).max(spots);
            spec.size = self.limit.unwrap_or(room.saturating_add(self.base));
            self.note(format!(
                "there is no `-c`, so the file's size is not in the line: {} are used here, \
                    `--size` sets another size",
                size(spec.size)
            ));
        }
        let end = self.limit.unwrap_or(spec.size).min(spec.size);
        let used = end.checked_sub(self.base).filter(|used| *used > 0).ok_or_else(|| {
            Fault::new(format!("nothing is used of the {} of the file", size(end)))
                .hint("make the file or `-f` larger, or `-B` smaller")
        })?;
        spec.working_set = (used < spec.size).then_some(used);
        if self.base > 0 {
            self.note(format!(
                "`-B` begins {} into the file; here the used part of the same size begins at \
                    the file's start",
                size(self.base)
            ));
        }
        Ok(())
    }

    /// Engine, depth and cache.
    fn path(&mut self, spec: &mut Spec) {
        spec.cache = match (self.uncached == Some(true), self.write_through) {
            (true, true) => Cache::DirectWriteThrough,
            (true, false) => Cache::Direct,
            (false, true) if !self.mapped => Cache::WriteThrough,
            (false, _) => Cache::Cached,
        };
        spec.depth = self.depth.or(self.pool_depth).unwrap_or(DEPTH);
        spec.engine = if spec.depth == 1 { Engine::Psync } else { Engine::IoUring };
        if !self.mapped {
            return;
        }
        spec.engine = Engine::Mmap;
        self.note(
            "`-Sm` maps the file: each thread waits for its page, so 1 request is in flight \
            for each",
        );
        if self.write_through {
            self.note(
                "`-w` of `-S` is left out: stores to mapped pages do not wait for the disk here",
            );
        }
        spec.depth = 1;
    }

    /// Where threads begin.
    fn stream(&mut self, spec: &mut Spec) {
        let sequential = spec.access == Access::Sequential;
        if let Some(stride) = self.thread_stride.filter(|_| spec.threads > 1) {
            spec.thread_stride = stride;
            if spec.access == Access::Random {
                spec.thread_stride = 0;
                self.note("`-T` has no effect on random requests");
            }
        } else if self.shared_offset && spec.threads > 1 {
            self.note(
                "`-si` lets threads share one offset; here each thread has its own, so all \
                use the same blocks",
            );
        } else if sequential && spec.threads > 1 {
            self.note(format!(
                "there is no `-T`: each of the {} threads begins at the file's start, so all \
                    use the same blocks",
                spec.threads
            ));
        }
        if matches!(spec.access, Access::Mixed { .. })
            && spec.write_share > 0.0
            && spec.write_share < 1.0
        {
            self.note(
                "a sequential run of `-rs` only reads or only writes in diskspd; here each \
                request is thrown for",
            );
        }
    }

    fn pace(&mut self, spec: &mut Spec) {
        spec.rate = match self.rate {
            None => return,
            Some(Rate::Requests(rate)) => Some(rate),
            Some(Rate::BytesPerMillisecond(bytes)) => {
                // Both come from 32 bits, so this does not overflow.
                let bytes = bytes * 1000;
                if !bytes.is_multiple_of(spec.block) {
                    self.note("`-g` is no whole number of requests a second: it is rounded");
                }
                self.note("`-g` without `i` counts bytes in a millisecond for each thread");
                Some((bytes / spec.block).max(1))
            }
        };
    }

    /// What people often misread.
    fn explain(&mut self, spec: &Spec) {
        if spec.cache == Cache::Cached && !self.mapped {
            let why = if self.uncached.is_none() { "no -S" } else { "-Sb" };
            self.note(format!("{why}: everything goes through the page cache"));
        }
        if !self.seen.contains(&'L') {
            self.note("no -L: diskspd itself would not record latencies; here they always are");
        }
        if self.seen.contains(&'w') && self.seen.contains(&'W') {
            self.note(format!(
                "`-w{}` makes {} of the requests writes; capital `-W{}` is the warm-up in seconds",
                self.write_percent,
                percent(spec.write_share),
                self.warmup.unwrap_or(WARMUP)
            ));
        }
        if !self.seen.contains(&'o') && !self.seen.contains(&'O') && !self.mapped {
            self.note(format!("no -o: diskspd keeps {DEPTH} requests in flight for each thread"));
        } else if spec.threads > 1 && spec.depth > 1 {
            self.note(format!(
                "`-o` counts for each thread: {} x {} = {} requests are in flight",
                spec.threads,
                spec.depth,
                spec.in_flight()
            ));
        }
        if !self.seen.contains(&'n') && !self.seen.contains(&'a') {
            self.note("diskspd binds threads to CPUs in turn; here the kernel chooses");
        }
    }

    /// Hot spots as shares of the used part.
    fn spread(&self, spec: &mut Spec) -> Result<(), Fault> {
        #[expect(clippy::cast_precision_loss, reason = "shares need no more than 53 bits")]
        let spot = |requests: u64, part: u64, all: u64| HotSpot {
            requests: requests as f64 / 100.0,
            bytes: part as f64 / all as f64,
        };
        match &self.spots {
            None => {}
            Some(Spots::Percent(spots)) => {
                spec.hot = spots.iter().map(|(share, part)| spot(*share, *part, 100)).collect();
            }
            Some(Spots::Absolute(spots)) => {
                let all = spec.used();
                let mut left = all;
                for (share, part) in spots.iter().filter(|(_, part)| *part > 0) {
                    let part = left.min(*part);
                    left -= part;
                    if part > 0 {
                        spec.hot.push(spot(*share, part, all));
                    }
                }
            }
        }
        normalise(&mut spec.hot)
    }
}

/// Where spots fill the file, nothing is left for the requests that they leave over: diskspd then
/// takes the shares relative to each other.
fn normalise(spots: &mut [HotSpot]) -> Result<(), Fault> {
    let bytes: f64 = spots.iter().map(|spot| spot.bytes).sum();
    let requests: f64 = spots.iter().map(|spot| spot.requests).sum();
    if spots.is_empty() || bytes < 1.0 - 1e-9 {
        return Ok(());
    }
    if requests <= 0.0 {
        return Err(Fault::new("the places of `-rd` get no requests").hint("give one a share"));
    }
    if requests < 1.0 {
        for spot in spots {
            spot.requests /= requests;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::definition::differences;
    use super::*;

    fn spec(line: &str) -> Spec {
        parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}")).spec
    }

    fn notes(line: &str) -> String {
        parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}")).notes.join("; ")
    }

    fn refused(line: &str) -> String {
        let fault = parse(line).expect_err(line);
        assert!(fault.hint.is_some(), "{line}: {fault}");
        fault.what
    }

    const PUBLISHED: &str = "diskspd -b128K -d120 -o16 -t4 -r -c2G -w60 -W2 -C2 C:\\test.dat";

    #[test]
    fn published_line() {
        let found = parse(PUBLISHED).unwrap();
        let expected = Spec {
            engine: Engine::IoUring,
            block: 128 << 10,
            threads: 4,
            depth: 16,
            access: Access::Random,
            write_share: 0.6,
            size: 2 << 30,
            cache: Cache::Cached,
            warmup: Duration::from_secs(2),
            duration: Duration::from_secs(120),
            cooldown: Duration::from_secs(2),
            ..Spec::default()
        };
        assert_eq!(found.spec, expected);
        assert_eq!(found.target.as_deref(), Some("C:\\test.dat"));
        let notes = found.notes.join("; ");
        for part in [
            "no -S: everything goes through the page cache",
            "no -L",
            "`-w60` makes 60 % of the requests writes; capital `-W2` is the warm-up",
            "4 x 16 = 64 requests are in flight",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        assert!(found.notes.iter().all(|note| !note.ends_with('.')));
        assert_eq!(differences("random reads", &found.spec).len(), 1);
    }

    #[test]
    fn defaults_are_those_of_diskspd() {
        let found = spec("-c1G file");
        assert_eq!((found.block, found.threads, found.depth), (64 << 10, 1, 2));
        assert_eq!((found.access, found.cache), (Access::Sequential, Cache::Cached));
        let times = [found.warmup, found.duration, found.cooldown].map(|time| time.as_secs());
        assert_eq!(times, [5, 10, 0]);
        assert!(found.write_share.abs() < 1e-9 && !found.drop_cache);
    }

    #[test]
    fn spelling() {
        let plain = spec("-b4K -r -t2 -c1G a");
        for line in [
            "diskspd.exe -b4K -r -t2 -c1G a",
            "\"C:\\Program Files\\diskspd.exe\" -b4k -r -t2 -c1g \"a b\"",
            ".\\DiskSpd /b4K /r /t2 /c1G a",
            "/opt/bin/diskspd -b4K -r -t2 -c1G /b4K/file",
            "-b4K -r -t2 -c1G /data/file\r\n",
            "–b4K –r –t2 –c1G a > out.txt",
            "-c262144b -r -t2 -b4K",
            "sudo diskspd -b4K ^\n -r -t2 -c1G a | more",
        ] {
            assert_eq!(spec(line), plain, "{line}");
        }
        assert_eq!(parse("-c1G /data/file").unwrap().target.as_deref(), Some("/data/file"));
        assert_eq!(parse("/c1G \"a b\"").unwrap().target.as_deref(), Some("a b"));
    }

    #[test]
    fn slashes_are_options_only_in_their_form() {
        for word in ["/t4", "/r", "/Su", "/w60", "/rs40", "/rdpct90/10", "/fr", "/si64K", "/?"] {
            assert!(option(word).is_some(), "{word}");
        }
        for word in ["/tmp", "/data/file", "/b4K/file", "/root", "/srv", "/Storage", "/", "file"] {
            assert!(option(word).is_none(), "{word}");
        }
        assert!(option("-tmp").is_some());
    }

    #[test]
    fn caches() {
        for (line, cache) in [
            ("", Cache::Cached),
            ("-Sb", Cache::Cached),
            ("-S", Cache::Direct),
            ("-Su", Cache::Direct),
            ("-Sw", Cache::WriteThrough),
            ("-Sbw", Cache::WriteThrough),
            ("-Swu", Cache::DirectWriteThrough),
            ("-Su -Sw", Cache::DirectWriteThrough),
            ("-Sh", Cache::DirectWriteThrough),
            ("-h", Cache::DirectWriteThrough),
        ] {
            assert_eq!(spec(&format!("{line} -c1G")).cache, cache, "{line}");
        }
        assert!(notes("-c1G -Sb").contains("-Sb: everything"));
        assert!(!notes("-c1G -Su").contains("page cache"));
        for line in ["-Sub", "-Su -S", "-Suu", "-Smu", "-Sum", "-Sr", "-Sq", "-Sh -Sw"] {
            refused(line);
        }
        let mapped = parse("-Sm -o8 -c1G").unwrap();
        assert_eq!((mapped.spec.engine, mapped.spec.depth), (Engine::Mmap, 1));
        assert!(mapped.notes.join(" ").contains("waits for its page"));
        assert_eq!(spec("-Smw -Nv -c1G").cache, Cache::Cached);
    }

    #[test]
    fn order_and_alignment() {
        assert_eq!(spec("-r4K -b8K -c1G").align, Some(4 << 10));
        assert_eq!(spec("-r2b -b8K -c1G").align, Some(16 << 10));
        assert_eq!(spec("-r -b8K -c1G").align, None);
        assert_eq!(spec("-s1M -c1G").align, Some(1 << 20));
        assert_eq!(spec("-rs40 -r4K -c1G").access, Access::Mixed { random: 0.4 });
        assert_eq!(spec("-rs100 -c1G").access, Access::Random);
        assert_eq!(spec("-t4 -T1M -c1G").thread_stride, 1 << 20);
        assert_eq!(spec("-t4 -T1M -r -c1G").thread_stride, 0);
        assert!(notes("-t4 -c1G").contains("no `-T`"));
        assert!(notes("-t4 -si -c1G").contains("`-si`"));
        assert!(notes("-rs40 -w50 -c1G").contains("sequential run"));
        for line in ["-r -s", "-s -r", "-rs40 -s4K", "-rs0", "-rs101", "-rsx", "-r0", "-s0", "-rx"]
        {
            refused(line);
        }
    }

    #[test]
    fn places() {
        assert_eq!(spec("-c1G -f512M").working_set, Some(512 << 20));
        assert_eq!(spec("-c1G -f2G").working_set, None);
        assert_eq!(spec("-f1G a").size, 1 << 30);
        let base = parse("-c1G -B256M").unwrap();
        assert_eq!(base.spec.working_set, Some(768 << 20));
        assert!(base.notes.join(" ").contains("256 MiB into the file"));
        assert!(notes("-b4K a").contains("--size"));
        assert!(spec("-b128M a").check().is_ok());
        assert!(notes("-c1G -frs").contains("hint"));
        refused("-c1G -B1G");
        refused("-c64K -b1M");
    }

    #[test]
    fn hot_spots() {
        let spot = |requests, bytes| HotSpot { requests, bytes };
        let hot = spec("-r -c1G -rdpct90/10:0/10:5/20").hot;
        assert_eq!(hot, [spot(0.9, 0.1), spot(0.0, 0.1), spot(0.05, 0.2)]);
        let hot = spec("-r -c4G -rdabs90/1G:5/1G").hot;
        assert_eq!(hot, [spot(0.9, 0.25), spot(0.05, 0.25)]);
        // The example of diskspd's help: what does not fit is cut off.
        let hot = spec("-r -c20G -rdabs90/10G:0/10G:5/20G").hot;
        assert_eq!(hot, [spot(1.0, 0.5), spot(0.0, 0.5)]);
        assert!(spec("-r -rdabs50/100M").size >= 100 << 20);
        for line in [
            "-rdpct90/10",
            "-r -rdpct",
            "-r -rdpct90",
            "-r -rdpct90/0",
            "-r -rdpct60/10:60/10",
            "-r -rdpct10/60:10/60",
            "-r -rdabs1/20000000T:1/20000000T",
            "-r -rdzipf1",
            "-r -rdpct0/100",
        ] {
            refused(line);
        }
    }

    #[test]
    fn rates() {
        assert_eq!(spec("-g100i -c1G").rate, Some(100));
        assert_eq!(spec("-g4096 -b4K -c1G").rate, Some(1000));
        assert_eq!(spec("-g1 -b1M -c1G").rate, Some(1));
        assert!(notes("-g1 -b1M -c1G").contains("rounded"));
        for line in ["-g0", "-g", "-gi", "-g1x", "-i4 -j10"] {
            refused(line);
        }
        assert!(notes("-i4 -c1G").contains("bursts need both"));
    }

    #[test]
    fn threads_and_depth() {
        assert_eq!(spec("-o1 -c1G").engine, Engine::Psync);
        assert_eq!(spec("-F8 -O4 -c1G").in_flight(), 32);
        for line in ["-t2 -F2", "-O4", "-F2 -o2 -O2", "-t0", "-o0", "-t99999999999", "-t-1", "-t+1"]
        {
            refused(line);
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refused("").contains("empty"));
        assert!(refused("  \r\n").contains("empty"));
        assert!(refused("-b 4K -r").contains("`-b`"));
        assert!(refused("-b4K file -r").contains("`-r` comes after a target"));
        assert!(refused("-w -c1G").contains("`-w`"));
        assert!(refused("-w101").contains("`-w101`"));
        assert!(refused("-q7").contains("`-q7`"));
        assert!(refused("-c1G \"a").contains("quote"));
        assert!(refused("-d0 -c1G").contains("measured time"));
        assert!(refused("-Xp.xml").contains("XML"));
        assert!(refused("-?").contains("help"));
        assert!(refused("-c99999999999999999999").contains("-c"));
        assert!(refused("-c18446744073709551615T").contains("-c"));
        assert!(refused("-W99999999999").contains("-W"));
        assert!(refused("-Su -b1000 -c1G").contains("512"));
        assert!(refused("-b5G -c10G").contains("too large"));
        assert!(refused("-").contains('-'));
        assert!(refused("-c1Gß").contains("-c"));
    }

    #[test]
    fn what_is_left_out_is_noted() {
        let left_out = "-c1G -a0,1 -D500 -eDISK_IO -I2 -l -p -x -ysgo -Zr -z -Rp";
        for part in ["-a", "-D", "-e", "-I", "-l", "-p", "-x", "-y", "-Z", "-z", "-Rp"] {
            assert!(notes(left_out).contains(&format!("`{part}`")), "{part}");
        }
        assert_eq!(spec("-z42 -L -v -n -Rxml -P -c1G").seed, 42);
        assert!(notes("-c1G a b c").contains("3 targets"));
        assert!(notes("-t2 -t4 -c1G").contains("more than once"));
        assert_eq!(spec("-t2 -t4 -c1G").threads, 4);
    }

    #[test]
    fn no_line_is_too_strange() {
        let letters: Vec<char> = "-/bcdfgrstwWSRZabs0189KMGTb:%\"' \u{df}\u{130}".chars().collect();
        let mut seed = 1_u64;
        let mut throw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for _ in 0..20_000 {
            let mut line: Vec<char> =
                format!("{PUBLISHED} -rdpct90/10:5/20 -rs40 -g10i -B4K -T2b").chars().collect();
            for _ in 0..=throw(8) {
                let at = throw(line.len());
                match throw(3) {
                    0 => line[at] = letters[throw(letters.len())],
                    1 => drop(line.remove(at)),
                    _ => line.insert(at, letters[throw(letters.len())]),
                }
            }
            line.truncate(throw(line.len()) + 1);
            let line: String = line.into_iter().collect();
            if let Ok(found) = parse(&line) {
                assert!(found.spec.check().is_ok(), "{line}");
            }
        }
    }
}
