//! What each option of the line means: it sets a part of the [`Options`], or is refused.

use super::{BLOCK, Options, Rate, Spots};
use crate::inside::Fault;

fn bad(letter: char, value: &str, hint: &str) -> Fault {
    Fault::new(format!("`-{letter}{value}` is not understood")).hint(hint)
}

fn number<T: std::str::FromStr>(letter: char, value: &str) -> Result<T, Fault> {
    let digits = value.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.then(|| value.parse().ok()).flatten();
    number.ok_or_else(|| {
        bad(letter, value, "give a whole number directly after the letter, such as `-t4`")
    })
}

/// A number of which 0 makes no sense.
fn count(letter: char, value: &str) -> Result<u32, Fault> {
    match number(letter, value)? {
        0 => Err(bad(letter, value, "give at least 1")),
        count => Ok(count),
    }
}

fn seconds(letter: char, value: &str) -> Result<u64, Fault> {
    Ok(u64::from(number::<u32>(letter, value)?))
}

fn percentage(letter: char, value: &str) -> Result<u64, Fault> {
    match number(letter, value)? {
        percent @ 0..=100 => Ok(percent),
        _ => Err(bad(letter, value, "give a percentage between 0 and 100")),
    }
}

impl Options {
    pub(super) fn block(&self) -> u64 {
        self.block.unwrap_or(BLOCK)
    }

    /// Bytes: `K`, `M`, `G` and `T` are binary, `b` counts blocks.
    pub(super) fn size_of(&self, letter: char, value: &str) -> Result<u64, Fault> {
        let wrong = || {
            bad(
                letter,
                value,
                "give a size directly after the letter, such as `-c2G` (K, M, G, T, b)",
            )
        };
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

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn take(&mut self, letter: char, value: &str) -> Result<(), Fault> {
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
                    "give the share of writes, such as `-w60`; without `-w` all requests read",
                ));
            }
            'w' => self.write_percent = percentage(letter, value)?,
            'g' => self.rate = Some(rate(value)?),
            'S' => self.caching(value)?,
            'h' => self.caching("h")?,
            'z' if value.is_empty() => {
                self.note(
                    "with `-z` diskspd uses another seed in each run; Culprit uses the same seed",
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
                "with `-Rp` diskspd only prints the profile; Culprit runs the workload"
            }
            'R' => return Ok(()),
            'i' | 'j' => {
                count(letter, value)?;
                "bursts need both `-i` and `-j`: one alone is ignored"
            }
            'a' => "`-a` is ignored: the kernel chooses the CPUs",
            'D' => "`-D` is ignored: Culprit reports no series of requests over time",
            'e' => "`-e` is ignored: it starts traces of Windows",
            'I' => "`-I` is ignored: requests have the usual priority",
            'l' => "`-l` is ignored: buffers have pages of the usual size",
            'N' => "`-N` is ignored: Culprit does not flush mapped pages after each store",
            'p' => {
                "`-p` is ignored: Culprit does not send several requests to one offset on purpose"
            }
            'x' => "`-x` is ignored: only Windows has completion routines",
            'y' => "`-y` is ignored: Culprit neither signals other processes nor waits for them",
            'Z' => "`-Z` is ignored: it does not change the data that Culprit writes",
            'X' => {
                return Err(Fault::new("cannot read the XML profile of `-X`")
                    .hint("give the options that diskspd prints at the start of its run"));
            }
            '?' => {
                return Err(Fault::new("`-?` only prints the help of diskspd")
                    .hint("give the options of a workload"));
            }
            _ => {
                return Err(Fault::new(format!("diskspd has no option `-{letter}{value}`")).hint(
                    "remove it, or write it as diskspd does: one letter and its value without a \
                     space",
                ));
            }
        };
        self.note(note);
        Ok(())
    }

    fn limit_or_hint(&mut self, value: &str) -> Result<(), Fault> {
        if !value.is_empty() && value.chars().all(|flag| "rst".contains(flag)) {
            self.note(format!(
                "`-f{value}` is ignored: Culprit gives the kernel no hint about the access"
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
                bad(
                    'r',
                    value,
                    "give a share of random requests between 1 and 100, such as `-rs40`",
                )
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
                "give pairs of requests and offsets, such as `-rdpct90/10:5/20` or \
                 `-rdabs90/10G:5/20G`",
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
                _ => return Err(bad('S', value, "use the flags `b`, `h`, `m`, `u` and `w`")),
            }
        }
        Ok(())
    }
}

fn conflict() -> Fault {
    Fault::new("`-s` is for sequential requests, `-r` and `-rs` for random ones")
        .hint("remove one of them; `-r4K` also aligns the sequential part of `-rs`")
}

/// Per thread: bytes in a millisecond, or requests in a second with `i`.
fn rate(value: &str) -> Result<Rate, Fault> {
    match value.strip_suffix('i') {
        Some(requests) => Ok(Rate::Requests(u64::from(count('g', requests)?))),
        None => Ok(Rate::BytesPerMillisecond(u64::from(count('g', value)?))),
    }
}
