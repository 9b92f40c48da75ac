//! Feeds damaged files to the readers of foreign formats until one panics: `make fuzz`.
//!
//! ```text
//! culprit-fuzz [--seconds N] [--seed N] [FORMAT...]      each format (all, unless named) for N s
//! ```
//!
//! An ordinary program rather than a fuzzer with its own compiler: it runs wherever the tests do.
//! Files begin as the fixtures of `crates/exchange` and as the crashes kept in `fuzz/crashes`. What
//! makes a reader panic is written there, one folder a format, and every test run reads it again.

mod mutate;
mod target;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use culprit_exchange::Format;
use culprit_model::Label as _;

use crate::target::Target;

/// What the command line asks for.
struct Plan {
    formats: Vec<Format>,
    seconds: u64,
    seed: u64,
}

impl Plan {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut plan = Self { formats: Vec::new(), seconds: 10, seed: 1 };
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("`{word}` wants a number"))?;
                value.parse().map_err(|_| format!("`{word} {value}`: no number"))
            };
            match word.as_str() {
                "--seconds" => plan.seconds = number()?,
                "--seed" => plan.seed = number()?,
                format => plan.formats.push(format.parse().map_err(|error| format!("{error}"))?),
            }
        }
        if plan.formats.is_empty() {
            plan.formats = Format::ALL.iter().copied().filter(|format| format.can_read()).collect();
        }
        Ok(plan)
    }
}

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let plan = match Plan::parse(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(why) => {
            writeln!(io::stderr(), "fuzz: {why}")?;
            return Ok(ExitCode::from(2));
        }
    };
    let mut found = false;
    for format in plan.formats {
        let mut target = Target::new(format, plan.seed)?;
        #[expect(clippy::disallowed_methods, reason = "how long to run is all that it decides")]
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(plan.seconds) {
            if let Some(crash) = target.step() {
                writeln!(out, "{format}: panic, kept as {}", target.keep(&crash)?.display())?;
                found = true;
                break;
            }
        }
        writeln!(out, "{format}: {} files, seed {}", target.tried(), plan.seed)?;
    }
    Ok(if found { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
