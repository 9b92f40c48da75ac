//! Which files of a folder are recordings, and work on all of them.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use culprit_model::{Label as _, Loss, LossSeverity, Recording};
use culprit_report::views::LeftOut;
use rayon::prelude::*;

use crate::failure::{Context as _, Failure, chain};
use crate::output::Output;
use crate::pool;

/// What the names of recordings end in.
const EXTENSION: &str = "culprit";
/// Files that are named in a warning; `--json` has all.
const NAMED: usize = 10;
/// Pieces of work for each CPU: recordings differ in size.
const PIECES: usize = 8;

/// The `*.culprit` files of a folder, in the order of their names.
///
/// # Errors
/// When the folder cannot be read, or has none.
pub(crate) fn listed(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot = || format!("cannot read the folder `{}`", folder.display());
    let entries = std::fs::read_dir(folder).or_bad_input(cannot)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.or_bad_input(cannot)?.path();
        if path.extension().is_some_and(|ending| ending == EXTENSION) && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Failure::bad_input(format!(
            "cannot use the folder `{}`: it contains no recording (`*.{EXTENSION}`)",
            folder.display()
        )));
    }
    files.sort();
    Ok(files)
}

/// Warns of files with the same content: both count. Only files of one size are read.
pub(crate) fn warn_of_copies(files: &[PathBuf], output: &Output) {
    let mut sizes: BTreeMap<u64, Vec<&PathBuf>> = BTreeMap::new();
    for path in files {
        let Ok(found) = std::fs::metadata(path) else { continue };
        sizes.entry(found.len()).or_default().push(path);
    }
    let mut copies = Vec::new();
    for alike in sizes.values().filter(|alike| alike.len() > 1) {
        let mut first: HashMap<Vec<u8>, &PathBuf> = HashMap::new();
        for path in alike {
            // One that cannot be read is named elsewhere.
            let Ok(hash) = content_hash(path) else { continue };
            match first.get(&hash) {
                Some(of) => copies.push((*path, *of)),
                None => {
                    first.insert(hash, path);
                }
            }
        }
    }
    if copies.is_empty() {
        return;
    }
    let mut text = "warning: files with the same content count as two recordings\n".to_owned();
    for (path, of) in copies.iter().take(NAMED) {
        text.push_str(&format!("  {} is a copy of {}\n", path.display(), of.display()));
    }
    if copies.len() > NAMED {
        text.push_str(&format!("  {} more\n", copies.len() - NAMED));
    }
    output.warn(&text);
}

/// Hash of a file's bytes.
fn content_hash(path: &Path) -> std::io::Result<Vec<u8>> {
    use sha2::Digest as _;
    let (mut file, mut hash) = (std::fs::File::open(path)?, sha2::Sha256::new());
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hash.finalize().to_vec());
        }
        hash.update(&buffer[..read]);
    }
}

/// The recordings of a folder that can be opened; the others are named on stderr.
///
/// # Errors
/// As [`listed`], and when none can be opened.
pub(crate) fn readable(folder: &Path, output: &Output) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    for path in listed(folder)? {
        match culprit_recording::peek(&path) {
            Ok(_) => files.push(path),
            Err(error) => left_out.push(LeftOut { path, why: chain(&error) }),
        }
    }
    warn(&left_out, files.len(), output);
    warn_of_copies(&files, output);
    if files.is_empty() { Err(nothing_left(folder, &left_out)) } else { Ok(files) }
}

/// No file of a folder could be used.
pub(crate) fn nothing_left(folder: &Path, left_out: &[LeftOut]) -> Failure {
    let first = left_out.first().map(|file| format!("; the first: {}", file.why));
    Failure::bad_input(format!(
        "cannot use the folder `{}`: none of its {} files can be used{}",
        folder.display(),
        left_out.len(),
        first.unwrap_or_default()
    ))
}

/// Names what is not in a sum.
pub(crate) fn warn(left_out: &[LeftOut], used: usize, output: &Output) {
    if left_out.is_empty() {
        return;
    }
    let all = left_out.len() + used;
    let mut text = format!("warning: {} of {all} recordings are not included\n", left_out.len());
    for LeftOut { path, why } in left_out.iter().take(NAMED) {
        text.push_str(&format!("  {}: {why}\n", path.display()));
    }
    if left_out.len() > NAMED {
        let more = left_out.len() - NAMED;
        text.push_str(&format!("  {more} more; `--json` lists all of them\n"));
    }
    output.warn(&text);
}

/// A recording of a folder, whole, with its intervals.
///
/// # Errors
/// When it cannot be opened.
pub(crate) fn open(path: &Path) -> Result<Recording, String> {
    let opened = culprit_recording::open(path).map_err(|error| chain(&error))?;
    Ok(crate::load::with_intervals(opened))
}

/// What a recording of a folder has lost, as losses of the folder. What is no loss of data is left to
/// the recording's own views.
pub(crate) fn losses(path: &Path, recording: &Recording) -> Vec<Loss> {
    let of_file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let lost = recording.losses.iter().filter(|loss| loss.kind.severity() >= LossSeverity::Loss);
    let named = |loss: &Loss| {
        let what = if loss.detail.is_empty() { loss.kind.word() } else { &loss.detail };
        Loss { from: None, to: None, detail: format!("{of_file}: {what}").into(), ..loss.clone() }
    };
    lost.map(named).collect()
}

/// Does something with each file, on all CPUs. What comes back is in the order of the files, one
/// value for several that follow each other.
pub(crate) fn in_pieces<T: Send>(
    files: &[PathBuf],
    output: &Output,
    work: impl Fn(&[PathBuf], &dyn Fn()) -> T + Sync,
) -> Vec<T> {
    pool::ready();
    let progress = output.progress();
    progress.steps(files.len() as u64);
    progress.doing("reading recordings");
    let pieces = files.len().div_ceil(rayon::current_num_threads() * PIECES).max(1);
    let each = files.par_chunks(pieces).with_max_len(1);
    let done = each.map(|piece| work(piece, &|| progress.step())).collect();
    progress.clear();
    done
}
