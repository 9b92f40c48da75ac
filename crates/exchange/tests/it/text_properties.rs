//! Random recordings with hostile names are written in each format and read back to the same
//! stacks, threads and sums.

use std::collections::BTreeMap;

use culprit_exchange::{Amount, Builder, Format, Profile, read_bytes, write};
use culprit_model::{Label as _, Metric, Recording};
use proptest::prelude::*;

use crate::round_trip::selection;

/// Pieces of names that look like something else in one format or another.
const PIECES: &[&str] = &[
    "main",
    "f",
    " ",
    "  ",
    ";",
    ":",
    "!",
    "/",
    "\t",
    "\"",
    "'",
    "\\",
    "<",
    ">",
    "&",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    "# ",
    "-3",
    "0.4",
    "12",
    " 12",
    "dead",
    "beef",
    "0x1f-",
    "+0x10",
    "(deleted)",
    " (deleted)",
    "[kernel.kallsyms]",
    "[unknown]",
    "PERF_RECORD_X",
    "1.000000:",
    ") Thread ",
    "Process ",
    "\u{e9}",
    "\u{1f525}",
    "\u{feff}",
    "\u{a0}",
    "null",
    "%s",
    "$",
    "]]>",
    "&amp;",
    "\n",
    "\r",
    "//",
    "=",
    "op()",
    "std::vec<int, a>",
];

fn name() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(proptest::sample::select(PIECES), 1..5);
    // At least one letter that is seen.
    pieces.prop_map(|pieces| pieces.concat()).prop_map(|name| {
        if name.trim().is_empty() || name.chars().all(|c| c == ';' || c.is_whitespace()) {
            format!("x{name}")
        } else {
            name
        }
    })
}

/// A frame: in a module of its own, with a place in the source, or by its name alone.
#[derive(Debug, Clone)]
struct Place {
    module: Option<String>,
    name: String,
    source: Option<(String, u32)>,
}

fn place() -> impl Strategy<Value = Place> {
    let module = proptest::option::of(name().prop_map(|name| format!("/opt/{name}")));
    let source = proptest::option::of((name(), 1_u32..1000));
    (module, name(), source).prop_map(|(module, name, source)| Place { module, name, source })
}

#[derive(Debug, Clone)]
struct Row {
    thread: Option<usize>,
    time: u64,
    value: u64,
    stack: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Made {
    places: Vec<Place>,
    /// Process and thread: number and name.
    threads: Vec<((u32, String), (u32, String))>,
    rows: Vec<Row>,
    metric: Metric,
}

fn made() -> impl Strategy<Value = Made> {
    let threads = proptest::collection::vec(((0_u32..4, name()), (0_u32..6, name())), 1..4);
    let row = (
        proptest::option::of(0_usize..3),
        0_u64..5_000_000_000,
        1_u64..1_000_000_000_000,
        proptest::collection::vec(0_usize..6, 1..6),
    );
    let row = row.prop_map(|(thread, time, value, stack)| Row { thread, time, value, stack });
    (
        proptest::collection::vec(place(), 6),
        threads,
        proptest::collection::vec(row, 1..12),
        proptest::sample::select(Metric::ALL),
    )
        .prop_map(|(places, threads, rows, metric)| Made { places, threads, rows, metric })
}

impl Made {
    fn recording(&self) -> Recording {
        let mut builder = Builder::default();
        let frames: Vec<_> = self
            .places
            .iter()
            .map(|Place { module, name, source }| {
                let (file, line) =
                    source.as_ref().map_or(("", None), |(f, l)| (f.as_str(), Some(*l)));
                match module {
                    Some(path) => {
                        let module = builder.module(path);
                        builder.function(Some(module), name, file, line)
                    }
                    None => builder.located(name, file, line),
                }
            })
            .collect();
        for row in &self.rows {
            let thread = row.thread.map(|at| {
                let ((pid, process), (tid, thread)) = &self.threads[at % self.threads.len()];
                let process = builder.process(*pid, process);
                builder.thread(process, *tid, thread)
            });
            let stack = builder.stack(row.stack.iter().map(|at| frames[*at]));
            let duration = if self.metric.is_time() { row.value } else { 0 };
            let amount = Amount::at(stack, self.metric, row.value);
            builder.add(Amount { time: row.time, duration, thread, ..amount });
        }
        std::mem::take(builder.recording())
    }
}

/// What a format cannot hold of a name.
fn held(format: Format, name: &str, leaf: bool) -> String {
    match format {
        Format::Collapsed => {
            let name = name.replace([';', '\n', '\r'], ":");
            if leaf { name.trim_end().to_owned() } else { name }
        }
        Format::PerfViewXml => name.replace(['\n', '\r'], "?"),
        _ => name.to_owned(),
    }
}

/// The sum of each thread's stacks, root first.
fn sums(
    recording: &Recording,
    format: Format,
    threads: bool,
) -> BTreeMap<(String, Vec<String>), u64> {
    let mut sums = BTreeMap::new();
    for cost in &recording.costs {
        let thread = cost.thread.filter(|_| threads).map(|id| {
            let thread = recording.thread(id);
            let process = recording.process(thread.process);
            format!("{} {:?} {} {:?}", process.pid.0, process.name, thread.tid.0, thread.name)
        });
        let frames = cost.stack.into_iter().flat_map(|stack| recording.stack(stack));
        let names = frames.enumerate();
        let names = names.map(|(at, id)| held(format, &recording.frame_name(id), at == 0));
        let mut names: Vec<String> = names.collect();
        names.reverse();
        *sums.entry((thread.unwrap_or_default(), names)).or_default() += cost.value;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_reads_back_whatever_the_names_are(made in made()) {
        let recording = made.recording();
        let selection = selection(&recording, made.metric);
        let profile = Profile { recording: &recording, metric: made.metric, selection: &selection };
        for format in Format::ALL.iter().copied().filter(|f| f.can_write() && f.can_read()) {
            let mut bytes = Vec::new();
            write(&profile, format, &mut bytes).expect("written");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let again = read_bytes("x", bytes.clone(), None);
            // Lines of one name each may be any text, so that their format must be told.
            let again = match again {
                Ok(again) if again.format == format => again,
                _ if format == Format::Collapsed => {
                    read_bytes("x", bytes, Some(format)).expect("read again")
                }
                other => panic!("{format}: {other:?}\n{text}"),
            };
            // These have no threads.
            let threads = !matches!(format, Format::Collapsed | Format::PerfViewXml);
            let (before, after) =
                (sums(&recording, format, threads), sums(&again.recording, format, threads));
            prop_assert_eq!(before, after, "{}\n{}\n{:?}", format, text, again.recording.losses);
            let metric = match format {
                Format::Collapsed => Metric::Samples,
                Format::PerfViewXml if made.metric.is_time() => Metric::Wall,
                Format::PerfViewXml => Metric::Amount,
                _ => made.metric,
            };
            prop_assert!(again.recording.costs.iter().all(|cost| cost.metric == metric));
            prop_assert!(again.recording.losses.is_empty(), "{} {:?}", format, again.recording.losses);
        }
    }
}
