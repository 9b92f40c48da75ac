//! `culprit-data sql`: reads the question, asks, prints.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use culprit_engine::losses;
use culprit_model::Recording;
use culprit_query::{Answer, Limits, Stop, Store};

use crate::args::SqlArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Csv, Json, Limit, Table, Talk, print};

/// Rows of a table that are printed when nobody says how many: two screens.
const TABLE_ROWS: u64 = 100;
/// A question longer than this is none; one more byte tells.
const LONGEST: u64 = (1 << 20) + 1;
/// Memory where the machine does not tell how much it has.
const UNKNOWN_MEMORY: u64 = 1 << 30;

/// Runs it.
///
/// # Errors
/// When the question or a recording cannot be read, or the answer cannot be had.
pub(crate) fn run(args: &SqlArgs, talk: &Talk) -> Result<(), Failure> {
    let stop = Stop::default();
    let pulled = stop.clone();
    interrupt::watch(move || pulled.pull())?;
    let (recordings, question) = split(args)?;
    let store = Store::open(&recordings, finish, limits(args.memory))?;
    let mut answer = store.ask(&question, &stop)?;
    tell_losses(&answer, talk);
    let rows = match args.limit {
        Some(0) => None,
        Some(rows) => Some(rows),
        None => (!args.json && !args.csv).then_some(TABLE_ROWS),
    };
    let limit = Limit::new(rows);
    match (args.json, args.csv) {
        (true, _) => print(&mut answer, Json::default(), limit, talk),
        (_, true) => print(&mut answer, Csv, limit, talk),
        _ => print(&mut answer, Table::default(), limit, talk),
    }
}

fn finish(recording: &mut Recording) {
    culprit_engine::threads::build(recording);
}

/// What a question may take: this many MiB, or half of the machine's memory.
pub(crate) fn limits(memory_mib: Option<u64>) -> Limits {
    let machine = rustix::system::sysinfo();
    let installed = machine.totalram.checked_mul(machine.mem_unit.into());
    let half = installed.map_or(UNKNOWN_MEMORY, |bytes| bytes / 2);
    let memory_bytes = memory_mib.map_or(half, |mib| mib.saturating_mul(1 << 20));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Limits { memory_bytes, threads }
}

/// The recordings, and the question's text.
fn split(args: &SqlArgs) -> Result<(Vec<PathBuf>, String), Failure> {
    let paths = |words: &[String]| words.iter().map(PathBuf::from).collect();
    if let Some(file) = &args.file {
        return Ok((paths(&args.words), read(file)?));
    }
    let missing = || {
        Failure::bad_input("the question is missing")
            .hint("give it as the last argument: culprit sql run.culprit \"SHOW TABLES\"")
    };
    let Some((question, recordings)) = args.words.split_last() else { return Err(missing()) };
    if question == "-" {
        return Ok((paths(recordings), read(Path::new("-"))?));
    }
    if Path::new(question).exists() {
        return Err(missing());
    }
    Ok((paths(recordings), question.clone()))
}

fn read(file: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        Failure::bad_input(format!("cannot read the question from `{}`: {error}", file.display()))
    };
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = std::fs::File::open(file).map_err(failed)?;
        file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    }
    Ok(text)
}

/// Says what is missing of the recordings before anything is said about them.
fn tell_losses(answer: &Answer, talk: &Talk) {
    for opened in answer.opened() {
        if let Some(warning) = losses::warning(&opened.path, &losses::lines(&opened.losses)) {
            talk.warn(&warning);
        }
    }
}
