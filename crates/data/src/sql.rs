//! `culprit-data sql`: reads the question, asks, prints.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use culprit_engine::losses;
use culprit_model::Recording;
use culprit_query::{Answer, Checked, Dataset, Limits, Stop, Store};

use crate::args::SqlArgs;
use crate::engine::say_checked;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Csv, Json, Limit, Table, Talk, print};
use crate::table_folder::tables;

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
    let (paths, question) = split(args)?;
    let (mut answer, checked) = match table_folder(&paths, args, &stop)? {
        Some(dataset) => {
            let answer = dataset.ask(&question, &stop)?;
            (answer, dataset.checked())
        }
        None => {
            let store = Store::open(&paths, finish, limits(args.memory))?;
            tell_left_out(&store, talk);
            (store.ask(&question, &stop)?, None)
        }
    };
    tell_losses(&answer, talk);
    say_checked(checked.as_ref(), talk);
    show(&mut answer, checked, args, talk)
}

/// Prints an answer in the form that is asked for.
fn show(
    answer: &mut Answer,
    checked: Option<Checked>,
    args: &SqlArgs,
    talk: &Talk,
) -> Result<(), Failure> {
    let rows = match args.limit {
        Some(0) => None,
        Some(rows) => Some(rows),
        None => (!args.json && !args.csv).then_some(TABLE_ROWS),
    };
    let limit = Limit::new(rows);
    match (args.json, args.csv) {
        (true, _) => print(answer, Json::new(checked), limit, talk),
        (_, true) => print(answer, Csv, limit, talk),
        _ => print(answer, Table::default(), limit, talk),
    }
}

/// The tables of a folder that holds no recordings; none where recordings are named.
///
/// # Errors
/// When tables and recordings are mixed, or an engine is to read recordings.
fn table_folder(
    paths: &[PathBuf],
    args: &SqlArgs,
    stop: &Stop,
) -> Result<Option<Dataset>, Failure> {
    let engine = args.engine.engine()?;
    let mut found = Vec::new();
    for path in paths {
        found.extend(tables(path)?.map(|tables| (path, tables)));
    }
    match (found.pop(), engine) {
        (Some((folder, tables)), engine) if paths.len() == 1 => {
            let dataset = Dataset::new(tables, limits(args.memory));
            Ok(Some(match engine {
                Some(engine) => dataset.on(engine, folder, stop)?,
                // Another engine knows no numbers without a sign.
                None => dataset.unsigned(),
            }))
        }
        (Some((folder, _)), _) => {
            let what = format!("cannot use the tables in `{}` with others", folder.display());
            Err(Failure::bad_input(what).hint("give one folder of tables, or only recordings"))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::bad_input(
            "cannot use `--engine`: an engine reads Parquet files, not recordings",
        )
        .hint("`culprit export FOLDER --to tables -o TABLES` makes tables of recordings")
        .hint("give one folder of tables, or the folder of an analytics store")),
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

/// Names the files of folders that cannot be asked.
fn tell_left_out(store: &Store, talk: &Talk) {
    let left_out = store.left_out();
    if left_out.is_empty() {
        return;
    }
    let all = left_out.len() + store.sources().len();
    let mut text = format!("warning: {} of {all} recordings are not included\n", left_out.len());
    for (path, why) in left_out {
        text.push_str(&format!("  {}: {why}\n", path.display()));
    }
    talk.warn(&text);
}

/// Says what is missing of the recordings before anything is said about them.
fn tell_losses(answer: &Answer, talk: &Talk) {
    for opened in answer.opened() {
        if let Some(warning) = losses::warning(&opened.path, &losses::lines(&opened.losses)) {
            talk.warn(&warning);
        }
    }
}
