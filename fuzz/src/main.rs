//! Feeds damaged files to readers until one panics: `make fuzz`.
//!
//! ```text
//! culprit-fuzz [--seconds N] [--seed N] [READER...]      each reader (all, unless named) for N s
//! ```
//!
//! An ordinary program rather than a fuzzer with its own compiler: it runs wherever the tests do.
//! Files begin as the fixtures of `crates/exchange`, as `fuzz/seeds`, and as the crashes kept in
//! `fuzz/crashes`. What
//! makes a reader panic is written there, one folder a format, and every test run reads it again.

mod mutate;
mod subject;
mod target;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::subject::Subject;
use crate::target::Target;

/// What the command line asks for.
struct Plan {
    subjects: Vec<Subject>,
    seconds: u64,
    seed: u64,
}

impl Plan {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut plan = Self { subjects: Vec::new(), seconds: 10, seed: 1 };
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("`{word}` wants a number"))?;
                value.parse().map_err(|_| format!("`{word} {value}`: no number"))
            };
            match word.as_str() {
                "--seconds" => plan.seconds = number()?,
                "--seed" => plan.seed = number()?,
                word => {
                    let subject = Subject::all().into_iter().find(|one| one.word() == word);
                    plan.subjects.push(subject.ok_or_else(|| format!("no reader `{word}`"))?);
                }
            }
        }
        if plan.subjects.is_empty() {
            plan.subjects = Subject::all();
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
    for subject in plan.subjects {
        let word = subject.word();
        let mut target = Target::new(subject, plan.seed)?;
        #[expect(clippy::disallowed_methods, reason = "how long to run is all that it decides")]
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(plan.seconds) {
            if let Some(crash) = target.step() {
                writeln!(out, "{word}: panic, kept as {}", target.keep(&crash)?.display())?;
                found = true;
                break;
            }
        }
        writeln!(out, "{word}: {} files, seed {}", target.tried(), plan.seed)?;
    }
    Ok(if found { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
