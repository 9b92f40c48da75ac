//! `docs/accuracy.md`: how often the first finding was the right one, written from a measurement.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::guilty::truth::Program;
use crate::guilty::{Outcome, Said};
use crate::support::fixtures;

const HEAD: &str = "\
# How often the findings are right

<!-- Written by crates/culprit/tests/it/guilty.rs from what it measured; `CULPRIT_BLESS=1 make accuracy` writes it again. -->

Sixty programs were new to the rules: [at first sight](accuracy-first-sight.md), the first finding was right for 15 of 40
slow ones, and true but vague for 14. Four of 20 healthy ones were accused. This page is about programs that the rules
were made with.

Small programs that are slow for one known reason each (`fixtures/guilty`) and healthy ones
(`fixtures/healthy`) were built and recorded by the real recorder. All rules judged the recordings. The
finding that each program must have is in `fixtures/guilty/expected.toml`, which no rule reads.

";

const UNSEEN_HEAD: &str = "\
# Programs of others

<!-- Written by crates/culprit/tests/it/guilty.rs from what it measured; `CULPRIT_BLESS=1 make accuracy` writes it again. -->

Slow and healthy programs (`fixtures/unseen`) by people who had not read the rules, nor the programs of
[accuracy.md](accuracy.md). They wrote them as they would write a service, a tool or a batch job, with the
usual flags of each language. Many have no frame pointers and no debug information.
`fixtures/unseen/expected.toml` lists the right findings of each.

When such programs were first measured, the first finding was right for 268 of 336 guilty ones (80 %), and
29 of 99 healthy ones were accused. Since then the rules have been corrected by mechanism, so these programs
no longer surprise them. This page lists those that need nothing else to run.

";

const METHOD: &str = "
## How this was made

`CULPRIT_BLESS=1 make accuracy` builds and runs every program as a user would, one after the other,
with the default options of `culprit record`, as root. C, C++ and Rust are compiled with frame
pointers, Java runs with `-XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit`, Node with
`--perf-basic-prof`. `make accuracy` alone measures again and fails when more than one in twenty
guilty programs are judged wrong, or when a healthy program is accused.

`make test` does not measure: it judges the recordings of all these programs that are kept in
`corpus/`, and fails when one is judged otherwise than it was.

- *First* is the finding that costs the most. `run-queue` is left out, unless it is the expected one:
  a busy machine adds it to every program.
- *Right* means the expected finding, pointing at the expected function where one is listed.
- A program is measured again, three times at most, if the recording lost records, or if other programs
  took more than a tenth of the CPUs from it. The last measurement counts.
- *Accused* means a finding above low severity in a healthy program. Those that may have one: ";

const LIMITS: &str = "

## What it does not show

- The programs were written by those who wrote the rules. They show that a mechanism is recognised in
  several languages and shapes; [accuracy-unseen.md](accuracy-unseen.md) has programs of others.
- Each is slow by one mechanism for most of its time. Real programs mix several, and a finding of a
  tenth of the time is harder to get right than one of nine tenths.
- They run for seconds, alone, on one machine. Services that run for hours, many cores, other kernels
  and other file systems are not in it.
- Few programs a rule: a share of 95 % here is no more exact than their number allows.
- Programs without symbols, without frame pointers or unwinding tables, or recorded without rights,
  are not in it. Culprit then says what is missing and lowers its confidence.
";

/// Writes the document with `CULPRIT_BLESS=1`; otherwise the measurement is only judged.
pub(crate) fn bless(
    programs: &[Program],
    guilty: &[Outcome],
    healthy: &[Outcome],
    allowed: &[String],
) {
    let allowed: Vec<String> = allowed.iter().map(|id| format!("`{id}`")).collect();
    let tables = tables(programs, guilty, healthy);
    write("accuracy.md", &format!("{HEAD}{tables}{METHOD}{}.{LIMITS}", allowed.join(" and ")));
}

/// The same for the programs of `fixtures/unseen`.
pub(crate) fn bless_unseen(programs: &[Program], guilty: &[Outcome], healthy: &[Outcome]) {
    let tables = tables(programs, guilty, healthy);
    write("accuracy-unseen.md", &format!("{UNSEEN_HEAD}{tables}"));
}

fn tables(programs: &[Program], guilty: &[Outcome], healthy: &[Outcome]) -> String {
    let judged: Vec<_> =
        guilty.iter().filter_map(|o| Some((program_of(programs, o)?, o))).collect();
    let parts =
        [summary(&judged, healthy), by_finding(&judged), by_program(&judged), of_healthy(healthy)];
    parts.concat()
}

fn write(document: &str, text: &str) {
    if std::env::var_os("CULPRIT_BLESS").is_some() {
        let path = fixtures().join("../docs").join(document);
        std::fs::write(path, text).expect("a document");
    }
}

fn program_of<'a>(programs: &'a [Program], outcome: &Outcome) -> Option<&'a Program> {
    programs.iter().find(|program| program.file == outcome.file)
}

fn summary(judged: &[(&Program, &Outcome)], healthy: &[Outcome]) -> String {
    let count = |first: bool| {
        let of = judged.iter().filter(|(program, _)| program.first == first);
        (of.clone().count(), of.filter(|(_, outcome)| outcome.is_right()).count())
    };
    let (first, right) = count(true);
    let (listed, told) = count(false);
    let accused = healthy.iter().filter(|outcome| !outcome.is_right()).count();
    let again = judged.iter().map(|(_, o)| *o).chain(healthy).filter(|o| o.tries > 1).count();
    let percent = 100.0 * right as f64 / first.max(1) as f64;
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release: Vec<&str> = release.trim().split('.').take(2).collect();
    format!(
        "| | programs | right |\n|---|---|---|\n\
         | guilty, the costliest finding must be the expected one | {first} | {right} ({percent:.0} %) |\n\
         | guilty, the expected finding must be listed | {listed} | {told} |\n\
         | healthy, no finding above low severity but `hot-function` and `run-queue` | {} | {} |\n\n\
         Measured on {cpus} CPUs, Linux {}. {again} programs were measured more than once.\n",
        healthy.len(),
        healthy.len() - accused,
        release.join(".")
    )
}

/// The confusion table: what was said first of the programs that are guilty of each finding.
fn by_finding(judged: &[(&Program, &Outcome)]) -> String {
    let mut rows: BTreeMap<&str, (usize, usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for (program, outcome) in judged.iter().filter(|(program, _)| program.first) {
        let row = rows.entry(&program.finding).or_default();
        row.0 += 1;
        match (outcome.is_right(), outcome.said.first()) {
            (true, _) => row.1 += 1,
            (false, said) => *row.2.entry(said.map_or("nothing", |s| &s.id)).or_default() += 1,
        }
    }
    let mut text = "\n## By finding\n\n\
        | expected | programs | said first | said instead |\n|---|---|---|---|\n"
        .to_owned();
    for (finding, (programs, right, others)) in rows {
        let others: Vec<String> = others.iter().map(|(id, n)| format!("`{id}` {n}")).collect();
        let _ = writeln!(text, "| `{finding}` | {programs} | {right} | {} |", others.join(", "));
    }
    text
}

fn by_program(judged: &[(&Program, &Outcome)]) -> String {
    let mut text = "\n## By program\n\n\
        | program | language | expected | said first | right |\n|---|---|---|---|---|\n"
        .to_owned();
    for (program, outcome) in judged {
        let expected = program.expected();
        let first = outcome.said.first().map_or_else(|| "nothing".to_owned(), told);
        let right = if outcome.is_right() { "yes" } else { "**no**" };
        let (file, language) = (&program.file, language(&program.file));
        let _ = writeln!(text, "| `{file}` | {language} | {expected} | {first} | {right} |");
    }
    text
}

fn of_healthy(healthy: &[Outcome]) -> String {
    let mut text = "\n## Healthy programs\n\n\
        | program | language | findings above information | accused |\n|---|---|---|---|\n"
        .to_owned();
    for outcome in healthy {
        let found: Vec<String> = outcome.said.iter().filter(|s| s.accuses).map(told).collect();
        let accused = if outcome.is_right() { "no" } else { "**yes**" };
        let (file, language) = (&outcome.file, language(&outcome.file));
        let _ = writeln!(text, "| `{file}` | {language} | {} | {accused} |", found.join(", "));
    }
    text
}

fn told(said: &Said) -> String {
    format!("`{}` {:.0} %", said.id, 100.0 * said.share)
}

fn language(file: &str) -> &'static str {
    match file.rsplit('.').next() {
        Some("c") => "C",
        Some("cc") => "C++",
        Some("go") => "Go",
        Some("java") => "Java",
        Some("cjs" | "mjs") => "Node",
        Some("py") => "Python",
        Some("rs") => "Rust",
        Some("sh") => "shell",
        _ => "other",
    }
}
