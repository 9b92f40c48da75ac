//! `make corpus`: records `corpus/` anew, all of it or what `ONLY` names.
//!
//! Names are those of the stored texts: `guilty/hot.c`, `casebook/date-parse`, `why/tail-poll`. `ONLY`
//! is a part of them, or several with commas between. Everything runs in a folder whose name is the same
//! on every machine. What comes out is kept, right or wrong; a program is recorded again, three times at
//! most, when other work on the machine disturbed the recording.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::guilty::truth::{Group, Program, programs};
use crate::guilty::{Source, Until, commands, measure};
use crate::support::{Lab, all_rights, skip, stderr};

#[path = "../../src/replay/pack.rs"]
pub(crate) mod pack;

use pack::{Files, corpus};

/// The folder below `/var/tmp` in which everything is built and recorded.
const FOLDER: &str = "corpus";
/// Programs that switch or start others so often that all of their run is as large as a dozen others. Of
/// these the first seconds are kept.
const PARTS: [(&str, &str); 17] = [
    ("first_sight/log-stages", "1"),
    ("first_sight/maria-feed", "4"),
    ("first_sight/tar-dd-backup", "2"),
    ("unseen/disk_report.sh", "1"),
    ("unseen/framer.c", "0.5"),
    ("unseen/line_server.c", "2"),
    ("unseen/mutex_stats.rs", "2"),
    ("unseen/photo_tool.c", "2"),
    ("unseen/quota_cache.go", "2"),
    ("unseen/roundtrips_sp.c", "0.4"),
    ("unseen/route_table.c", "1.5"),
    ("unseen/sales.sh", "1"),
    ("unseen/stock_check.rs", "1"),
    ("unseen/stock_sync.rs", "1"),
    ("unseen/subshell.sh", "1.5"),
    ("unseen/tick_fanout.cc", "1.5"),
    ("unseen/tollday.sh", "2"),
];
/// How often a case that does not show what it should is run again.
const TRIES: usize = 3;

/// What is to be recorded.
struct Only(Vec<String>);

impl Only {
    fn read() -> Self {
        let only = std::env::var_os("ONLY").unwrap_or_default();
        let only = only.into_string().expect("a pattern in UTF-8");
        Self(only.split(',').map(|part| part.trim().to_owned()).collect())
    }

    fn wants(&self, name: &str) -> bool {
        self.0.iter().any(|part| name.contains(part.as_str()))
    }
}

#[test]
#[ignore = "records corpus/: make corpus"]
fn the_corpus_is_recorded_anew() {
    assert!(all_rights(), "kernel stacks and wakers need root");
    let (lab, only) = (Lab::named(FOLDER), Only::read());
    for group in Group::ALL {
        match group {
            Group::FirstSight => record_folders(&lab, group, &only),
            _ => record_programs(&lab, group, &only),
        }
    }
    record_cases(&lab, &only);
    record_why(&lab, &only);
}

/// A recording without compression: the pack compresses what recordings share.
fn unpacked(lab: &Lab, recording: &Path) -> Vec<u8> {
    let mut opened = culprit_recording::open(recording).expect("a recording");
    // The variables of the machine that recorded it are nobody's business, and change each time.
    opened.recording.meta.configuration = None;
    let copy = lab.path("unpacked.culprit");
    culprit_recording::write_unpacked(&copy, &opened.recording).expect("a recording");
    std::fs::read(copy).expect("a recording")
}

/// Changes the files of a pack.
fn repack(name: &str, change: impl FnOnce(&mut Files)) {
    let path = corpus().join(format!("{name}{}", pack::SUFFIX));
    let mut files = pack::read(&path);
    change(&mut files);
    pack::write(&path, &files);
    let size = std::fs::metadata(&path).expect("a pack").len();
    println!("{name}{}: {} files, {} KiB", pack::SUFFIX, files.len(), size >> 10);
}

/// Recordings of one language share most names.
fn pack_of(program: &Program) -> String {
    let language = program.file.rsplit('.').next().unwrap_or_default();
    format!("{}-{language}", program.group.folder())
}

fn record_programs(lab: &Lab, group: Group, only: &Only) {
    let mut wanted = programs(group);
    wanted.retain(|program| only.wants(&program.name()));
    let folder = lab.path(group.folder());
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = |program: &Program| {
        let copy = folder.join(&program.file);
        std::fs::copy(program.path(), &copy).expect("a source");
        Source::at(copy, program)
    };
    let sources: Vec<Source> = wanted.iter().map(source).collect();
    let built = commands(&lab.path(""), &sources);
    let mut packs: BTreeMap<String, Files> = BTreeMap::new();
    let count = wanted.len();
    for (at, (program, command)) in wanted.iter().zip(built).enumerate() {
        let name = program.name();
        let Some(command) = command else {
            skip(&name, "its compiler or interpreter");
            continue;
        };
        let recording = recorded(lab, program, &command, (at + 1, count));
        packs.entry(pack_of(program)).or_default().insert(name, recording);
    }
    for (name, files) in packs {
        repack(&name, |pack| pack.extend(files));
    }
}

/// The recording of a program, the first part of it where all of it is large.
fn recorded(
    lab: &Lab,
    program: &Program,
    command: &[String],
    (number, count): (usize, usize),
) -> Vec<u8> {
    let name = program.name();
    let part = PARTS.iter().find(|(part, _)| *part == name).map(|(_, seconds)| *seconds);
    let outcome = measure(lab, program, command, (Until::Undisturbed, part));
    let right = if outcome.is_right() { "right" } else { "wrong" };
    let disturbed = outcome.disturbed.unwrap_or_else(|| "nothing".to_owned());
    let recording = unpacked(lab, &lab.path("program.raw"));
    let size = recording.len() >> 10;
    println!("{number} of {count}: {name}: {right}, disturbed by {disturbed}, {size} KiB");
    recording
}

/// Records programs that are folders: `setup.sh` once, which is not measured, then `run.sh`.
fn record_folders(lab: &Lab, group: Group, only: &Only) {
    let wanted: Vec<Program> =
        programs(group).into_iter().filter(|program| only.wants(&program.name())).collect();
    let Some(source) =
        wanted.first().and_then(|program| program.path().ancestors().nth(2).map(Path::to_owned))
    else {
        return;
    };
    let folder = lab.path(group.folder());
    let copied = culprit_testkit::program("cp").arg("-a").arg(&source).arg(&folder).status();
    assert!(copied.expect("cp runs").success(), "cannot copy {}", source.display());
    let mut files = Files::new();
    for (number, program) in wanted.iter().enumerate() {
        let (name, at) = (program.name(), folder.join(&program.file));
        let setup = at.join("setup.sh");
        if setup.is_file() {
            let done = culprit_testkit::program(&setup).output().expect("a shell");
            if !done.status.success() {
                skip(&name, &format!("what its setup.sh needs: {}", stderr(&done)));
                continue;
            }
        }
        let command = [at.join("run.sh").to_string_lossy().into_owned()];
        files.insert(name, recorded(lab, program, &command, (number + 1, wanted.len())));
    }
    if !files.is_empty() {
        repack(group.folder(), |pack| pack.extend(files));
    }
}

/// The files of a folder that end in one of these, recordings without compression.
fn files(lab: &Lab, folder: &Path, endings: &[&str]) -> Files {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let named = paths.into_iter().map(|path| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, path)
    });
    named
        .filter(|(name, _)| endings.iter().any(|ending| name.ends_with(ending)))
        .map(|(name, path)| {
            let bytes = match path.extension().is_some_and(|end| end == "culprit") {
                true => unpacked(lab, &path),
                false => std::fs::read(path).expect("a file"),
            };
            (name, bytes)
        })
        .collect()
}

fn record_cases(lab: &Lab, only: &Only) {
    let listed = lab.json(&["casebook", "list"]);
    for case in listed["cases"].as_array().expect("cases") {
        let case = case["name"].as_str().expect("a name");
        let name = format!("casebook/{case}");
        if only.wants(&name) {
            record_case(lab, case, &name);
        }
    }
}

fn record_case(lab: &Lab, case: &str, name: &str) {
    let kept = lab.path("cases").join(case);
    for attempt in 1..=TRIES {
        // A folder that is there already is none of a new run.
        let _ = std::fs::remove_dir_all(&kept);
        let run = ["casebook", "run", case, "--keep", "cases"];
        let output = lab.culprit().args(run).output().expect("culprit runs");
        match output.status.code() {
            Some(0) => break,
            Some(1) if attempt < TRIES => println!("{name}: not as expected, again"),
            Some(1) => println!("{name}: not as expected"),
            _ => return skip(name, &stderr(&output)),
        }
    }
    let mut kept_files = files(lab, &kept, &["runs.json", "answers.json"]);
    let recordings = files(lab, &kept.join("recordings"), &[".culprit"]);
    kept_files
        .extend(recordings.into_iter().map(|(file, bytes)| (format!("recordings/{file}"), bytes)));
    repack(name, |pack| *pack = kept_files);
    let _ = std::fs::remove_dir_all(&kept);
}

/// The case `tail-poll` as a user asks about it.
const WHY: [&str; 12] = [
    "culprit",
    "why",
    "--runs",
    "3",
    "--work",
    "6:rows",
    "--instead",
    "sh fixed.sh 6",
    "--",
    "sh",
    "guilty.sh",
    "6",
];

fn record_why(lab: &Lab, only: &Only) {
    let name = "why/tail-poll";
    if !only.wants(name) {
        return;
    }
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../casebook/tail-poll");
    for file in ["guilty.sh", "fixed.sh"] {
        std::fs::copy(case.join(file), lab.path(file)).expect("a script");
    }
    let output = lab.culprit().args(["why", "-o", "w"]).args(&WHY[2..]).output();
    let output = output.expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let mut kept = files(lab, &lab.path("w"), &[".culprit"]);
    kept.insert("arguments.json".to_owned(), serde_json::to_vec(&WHY).expect("JSON"));
    repack(name, |pack| *pack = kept);
}
