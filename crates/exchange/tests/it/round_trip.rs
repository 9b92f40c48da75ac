//! What is written reads back to the same stacks and sums, and the name of a file does not count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use culprit_exchange::{Format, Profile, read, read_bytes, write};
use culprit_model::{
    Label as _, Metric, Recording, SelectedRow, Selection, Source, Step, StepId, Text,
};

/// Every fixture, with the format that it is of.
pub(crate) fn fixtures() -> Vec<(Format, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for format in Format::ALL {
        let Ok(files) = std::fs::read_dir(folder.join(format.word())) else { continue };
        let mut files: Vec<_> = files.map(|file| file.expect("an entry").path()).collect();
        files.sort();
        found.extend(files.into_iter().map(|path| (*format, path)));
    }
    found
}

/// What a lost stack is called on the way out.
const LOST: &str = "[stack lost]";

fn quiet() -> impl FnMut(u64, u64) {
    |_, _| ()
}

/// The sum of each stack, root first. As between names, a `;` in one is none for collapsed stacks.
pub(crate) fn sums(recording: &Recording) -> BTreeMap<(Metric, String), u64> {
    let mut sums = BTreeMap::new();
    for cost in &recording.costs {
        let frames = cost.stack.into_iter().flat_map(|stack| recording.stack(stack));
        let names = frames.map(|frame| recording.frame_name(frame).replace(';', ":"));
        let mut names: Vec<_> = names.collect();
        names.reverse();
        if names.is_empty() {
            names.push(LOST.to_owned());
        }
        *sums.entry((cost.metric, names.join(";"))).or_default() += cost.value;
    }
    sums
}

/// Ends of activities as `TIME THREAD KIND NAME KEY`, the time in units of so many nanoseconds.
pub(crate) fn edges(recording: &Recording, unit: u64) -> Vec<String> {
    let edge = |edge: &culprit_model::ActivityEdge| {
        let tid = recording.thread(edge.thread).tid.0;
        let key = edge.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
        format!("{} {tid} {} {}{key}", edge.time.0 / unit, edge.kind, edge.name)
    };
    recording.activity_edges.iter().map(edge).collect()
}

/// All costs of a metric as they are, without any filter.
pub(crate) fn selection(recording: &Recording, metric: Metric) -> Selection {
    let mut selection = Selection::default();
    let mut known = rustc_hash::FxHashMap::default();
    let mut child = |parent: Option<StepId>, name: Text, source: Source| {
        let steps = &mut selection.steps;
        Some(*known.entry((parent, name.clone(), source)).or_insert_with(|| {
            steps.push(Step { parent, name, source });
            StepId::from_index(steps.len() - 1)
        }))
    };
    let costs = recording.costs.iter().filter(|cost| cost.metric == metric);
    let rows = costs.map(|cost| {
        let mut frames: Vec<_> = cost.stack.into_iter().flat_map(|s| recording.stack(s)).collect();
        frames.reverse();
        let lost = if frames.is_empty() { child(None, LOST.into(), Source::Other) } else { None };
        let leaf = frames.into_iter().fold(lost, |at, frame| {
            child(at, recording.frame_name(frame).into(), Source::Frame(frame))
        });
        SelectedRow {
            time: cost.time,
            duration: cost.duration,
            thread: cost.thread,
            leaf,
            value: cost.value,
            count: cost.count,
        }
    });
    selection.rows = rows.collect();
    selection
}

#[test]
fn every_format_that_is_read_has_a_fixture() {
    for format in Format::ALL.iter().filter(|format| format.can_read()) {
        assert!(fixtures().iter().any(|(of, _)| of == format), "{format} has no fixture");
    }
}

#[test]
fn files_are_told_apart_without_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, path) in fixtures() {
        let named = read(&path, None, &mut quiet()).expect("a fixture");
        assert_eq!(named.format, format, "{}", path.display());
        let nameless = folder.path().join("x");
        std::fs::copy(&path, &nameless).expect("a copy");
        let unnamed = read(&nameless, None, &mut quiet()).expect("a fixture");
        assert_eq!(named.recording, unnamed.recording, "{}", path.display());
        let Recording { costs, switches, activity_edges, .. } = named.recording;
        assert!(!costs.is_empty() || !switches.is_empty() || !activity_edges.is_empty());
    }
}

#[test]
fn what_is_written_reads_back_to_the_same_sums() {
    for (_, path) in fixtures() {
        let first = read(&path, None, &mut quiet()).expect("a fixture").recording;
        let metrics: std::collections::BTreeSet<_> = first.costs.iter().map(|c| c.metric).collect();
        for metric in metrics {
            let selection = selection(&first, metric);
            for format in Format::ALL.iter().filter(|f| f.can_write() && f.can_read()) {
                let mut bytes = Vec::new();
                let profile = Profile { recording: &first, metric, selection: &selection };
                write(&profile, *format, &mut bytes).expect("written");
                // Stacks of one frame each are lines that could be any text: their format must be told.
                let again = read_bytes("again", bytes.clone(), None)
                    .or_else(|_| read_bytes("again", bytes, Some(*format)))
                    .expect("read again");
                assert_eq!(again.format, *format, "{}", path.display());
                let second = again.recording;
                let values = |recording, only: Option<Metric>| {
                    let mut stacks: Vec<(String, u64)> = sums(recording)
                        .into_iter()
                        .filter(|((metric, _), value)| {
                            only.is_none_or(|only| only == *metric) && *value > 0
                        })
                        .map(|((_, stack), value)| (stack, value))
                        .collect();
                    stacks.sort();
                    stacks
                };
                let (before, after) = (values(&first, Some(metric)), values(&second, None));
                assert_eq!(before, after, "{} as {format}", path.display());
            }
        }
    }
}

#[test]
fn packed_files_are_unpacked() {
    use std::io::Write as _;
    let plain = b"main;a 1\nmain;b 2\n".to_vec();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("packed");
    let gzip = gzip.finish().expect("packed");
    let zstd = zstd::encode_all(&*plain, 1).expect("packed");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, bytes) in [("readme", &b"nothing"[..]), ("x.gz", &gzip)] {
        zip.start_file(name, options).expect("packed");
        zip.write_all(bytes).expect("packed");
    }
    let zip = zip.finish().expect("packed").into_inner();
    let expected = read_bytes("x", plain, None).expect("read").recording;
    for packed in [gzip, zstd, zip] {
        assert_eq!(read_bytes("x", packed, None).expect("read").recording, expected);
    }
}
