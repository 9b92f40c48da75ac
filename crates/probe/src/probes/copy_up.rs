//! `copy-up`: what the first change of a file costs that lies in a lower layer.
//!
//! An overlay copies a file whole when it is first opened for writing, so the time is charged to
//! `open` and not to the write: whoever times reads and writes alone does not see it. Opened,
//! written, synced, opened again, each timed by itself, and a second such file has its mode changed,
//! which copies it, too. Bytes that were copied are counted by the kernel's account of this process.
//!
//! Each round finds files that nobody has written to yet: in a sandbox, files of the host below a
//! sandbox that is made anew; with an engine, files of an image of our own in a new container; where
//! there are no layers, new files. What somebody sees who had such a file open before is told by
//! `coherence`.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use culprit_model::Unit;
use culprit_place::{LowerFile, PlaceSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arm::{Arm, Role};
use crate::error::{Error, Result};
use crate::inside::{Clock, Fault, Here, Task, bytes_written};
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::probes::coherence::{self, Seen};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is told of one size, for ids and names are constants.
macro_rules! metrics {
    ($id:literal, $name:literal) => {
        Metrics {
            open: Metric::lower(
                concat!("open_ns.", $id),
                concat!("open ", $name),
                Unit::Nanos,
                Part::Headline,
            ),
            chmod: Metric::lower(
                concat!("chmod_ns.", $id),
                concat!("chmod ", $name),
                Unit::Nanos,
                Part::Headline,
            ),
            write: Metric::lower(
                concat!("first_write_ns.", $id),
                concat!("first write ", $name),
                Unit::Nanos,
                Part::Shown,
            ),
            fsync: Metric::lower(
                concat!("fsync_ns.", $id),
                concat!("fsync ", $name),
                Unit::Nanos,
                Part::Shown,
            ),
            reopen: Metric::lower(
                concat!("second_open_ns.", $id),
                concat!("second open ", $name),
                Unit::Nanos,
                Part::Shown,
            ),
            copied: Metric::fact(
                concat!("open_copied_bytes.", $id),
                concat!("copied by open ", $name),
                Unit::Bytes,
            ),
        }
    };
}
/// How large a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// 64 KiB.
    K64,
    /// 1 MiB.
    M1,
    /// 64 MiB.
    M64,
    /// 1 GiB.
    G1,
}

impl Size {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] = [Self::K64, Self::M1, Self::M64, Self::G1];

    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::K64 => 64 << 10,
            Self::M1 => 1 << 20,
            Self::M64 => 64 << 20,
            Self::G1 => 1 << 30,
        }
    }

    /// As options have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::K64 => "64k",
            Self::M1 => "1m",
            Self::M64 => "64m",
            Self::G1 => "1g",
        }
    }

    const fn metrics(self) -> Metrics {
        match self {
            Self::K64 => metrics!("64k", "64 KiB"),
            Self::M1 => metrics!("1m", "1 MiB"),
            Self::M64 => metrics!("64m", "64 MiB"),
            Self::G1 => metrics!("1g", "1 GiB"),
        }
    }
}

/// What is told of each size.
struct Metrics {
    open: Metric,
    chmod: Metric,
    write: Metric,
    fsync: Metric,
    reopen: Metric,
    copied: Metric,
}

const TREE: Metric =
    Metric::lower("chmod_tree_ns", "chmod of a file in the tree", Unit::Nanos, Part::Headline);
const TREE_AGAIN: Metric =
    Metric::lower("chmod_tree_again_ns", "second chmod in the tree", Unit::Nanos, Part::Shown);

/// What is measured.
#[derive(Debug, Clone)]
pub struct CopyUp {
    /// The sizes of files.
    pub sizes: Vec<Size>,
    /// How many files of 1 KiB have their mode changed one after the other; 0 for none.
    pub tree: u32,
}

impl Default for CopyUp {
    fn default() -> Self {
        Self { sizes: vec![Size::M64, Size::M1, Size::K64], tree: 0 }
    }
}

/// Where the files lie in our own image, and what they are called in every folder.
const IN_IMAGE: &str = "/culprit-lower";
const TREE_FOLDER: &str = "tree";
const TREE_BYTES: u64 = 1 << 10;

impl CopyUp {
    fn files(&self, folder: &Path) -> Vec<LowerFile> {
        let one = |path: String, bytes| LowerFile {
            path: folder.join(path),
            bytes,
            count: None,
            copy_of: None,
        };
        let pairs = self.sizes.iter().flat_map(|size| {
            ["open", "chmod"].map(|what| one(format!("{what}-{}", size.id()), size.bytes()))
        });
        let tree = (self.tree > 0).then(|| LowerFile {
            path: folder.join(TREE_FOLDER),
            bytes: TREE_BYTES,
            count: Some(self.tree),
            copy_of: None,
        });
        pairs.chain(tree).chain(coherence::files(folder)).collect()
    }

    fn touch(&self, folder: &Path) -> Touch {
        Touch { folder: folder.to_path_buf(), sizes: self.sizes.clone(), tree: self.tree }
    }

    fn make(&self, folder: &Path) -> Make {
        let files = self.files(folder).into_iter();
        Make { files: files.map(|file| (file.path, file.bytes, file.count)).collect() }
    }
}

impl Probe for CopyUp {
    fn id(&self) -> &'static str {
        "copy-up"
    }

    fn metrics(&self) -> Vec<Metric> {
        let all: Vec<Metrics> = self.sizes.iter().map(|size| size.metrics()).collect();
        let tree = [TREE, TREE_AGAIN];
        all.iter()
            .flat_map(|m| [m.open, m.chmod, m.write, m.fsync, m.reopen, m.copied])
            .chain(tree.into_iter().take(if self.tree > 0 { 2 } else { 0 }))
            .chain(coherence::METRICS)
            .collect()
    }

    fn workload(&self) -> Value {
        let sizes: Vec<u64> = self.sizes.iter().map(|size| size.bytes()).collect();
        json!({"file_bytes": sizes, "tree_files": self.tree, "tree_file_bytes": TREE_BYTES})
    }

    fn words(&self) -> Vec<String> {
        let sizes: Vec<&str> = self.sizes.iter().map(|size| size.id()).collect();
        let mut words = vec![format!(
            "files of {} in a lower layer, if the place has one, new in each round: open for \
             writing, write one byte, sync, open again; then chmod of a second file",
            sizes.join(", ")
        )];
        if self.tree > 0 {
            words.push(format!("chmod of {} lower files of 1 KiB, twice", self.tree));
        }
        words.push(
            "a file is opened for reading and mapped before its first change: whether both show \
             the new data, and whether the inode number is the same afterwards"
                .to_owned(),
        );
        words.push("a folder is renamed: whether the kernel allows it".to_owned());
        words
    }

    /// Weight plays no part in how much is copied, so there is no host in a cgroup.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let mut arms = standard_arms(asked);
        arms.retain(|arm| arm.role != Role::HostInCgroup);
        for arm in &mut arms {
            match &mut arm.spec {
                PlaceSpec::Engine { options, .. } if arm.location == "layer" => {
                    arm.dir = PathBuf::from(IN_IMAGE);
                    options.lower = self.files(&arm.dir);
                }
                PlaceSpec::Container { name } => {
                    return Err(Error::Asked {
                        what: format!(
                            "cannot measure copy-up in the container `{name}`: the probe's files \
                             are not in its layers"
                        ),
                        hint: Some("measure its image instead: `docker:IMAGE`".to_owned()),
                    });
                }
                _ => {}
            }
        }
        Ok(arms)
    }

    fn measure(&self, stand: &mut Stand<'_>, round: ProbeRound) -> Result<Sample> {
        let own = stand.dir().join(format!("round-{}", round.seed));
        let folder = match (&stand.arm().spec, stand.arm().location) {
            (PlaceSpec::Engine { .. }, "layer") => {
                stand.renew_place()?;
                PathBuf::from(IN_IMAGE)
            }
            (PlaceSpec::Sandbox { .. }, "layer") => {
                // What the host has there when the sandbox is made is its lower layer.
                let dir = stand.dir().to_path_buf();
                stand.ask_host(&self.make(&own), &dir)?;
                stand.renew_place()?;
                own
            }
            _ => {
                stand.ask(&self.make(&own))?;
                own
            }
        };
        let told = stand.ask(&self.touch(&folder))?;
        if let (PlaceSpec::Sandbox { .. }, dir) = (&stand.arm().spec, stand.dir().to_path_buf()) {
            stand.ask_host(&Remove { folder }, &dir)?;
        } else {
            stand.ask(&Remove { folder })?;
        }
        Ok(self.sample(&told))
    }
}

impl CopyUp {
    fn sample(&self, told: &Told) -> Sample {
        let mut sample = Sample::default();
        for (size, one) in self.sizes.iter().zip(&told.sizes) {
            let metrics = size.metrics();
            sample = sample
                .with(metrics.open.id, one.open_ns as f64)
                .with(metrics.chmod.id, one.chmod_ns as f64)
                .with(metrics.write.id, one.write_ns as f64)
                .with(metrics.fsync.id, one.fsync_ns as f64)
                .with(metrics.reopen.id, one.reopen_ns as f64)
                .maybe(metrics.copied.id, one.copied_bytes.map(|bytes| bytes as f64));
        }
        sample = told.seen.add_to(sample);
        match told.tree {
            Some((first, again)) => sample.with(TREE.id, first).with(TREE_AGAIN.id, again),
            None => sample,
        }
    }
}

/// Makes the files.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Make {
    /// Path, bytes, and how many where it is a folder of files.
    files: Vec<(PathBuf, u64, Option<u32>)>,
}

impl Task for Make {
    const NAME: &'static str = "copy-up-make";
    type Output = ();

    fn run(self, here: &mut Here) -> std::result::Result<(), Fault> {
        here.dir()?;
        for (path, bytes, count) in self.files {
            let file = LowerFile { path, bytes, count, copy_of: None };
            for path in file.paths() {
                let failed = |error: std::io::Error| Fault::io("write", &path, &error);
                path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
                let mut to = File::create(&path).map_err(failed)?;
                for block in file.blocks() {
                    to.write_all(&block).map_err(failed)?;
                }
                // A copy need not wait for the write-back of what it copies.
                to.sync_all().map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Removes what a round has left, so that sizes do not add up.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Remove {
    folder: PathBuf,
}

impl Task for Remove {
    const NAME: &'static str = "copy-up-remove";
    type Output = ();

    fn run(self, _: &mut Here) -> std::result::Result<(), Fault> {
        fs::remove_dir_all(&self.folder).map_err(|error| Fault::io("remove", &self.folder, &error))
    }
}

/// Changes the files for the first time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Touch {
    folder: PathBuf,
    sizes: Vec<Size>,
    tree: u32,
}

/// What that took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    sizes: Vec<One>,
    /// One chmod in the tree, and one in the second pass, ns.
    tree: Option<(f64, f64)>,
    seen: Seen,
}

/// What it took with one size.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct One {
    open_ns: u64,
    write_ns: u64,
    fsync_ns: u64,
    reopen_ns: u64,
    chmod_ns: u64,
    copied_bytes: Option<u64>,
}

impl Task for Touch {
    const NAME: &'static str = "copy-up";
    type Output = Told;

    fn run(self, here: &mut Here) -> std::result::Result<Told, Fault> {
        let mut sizes = Vec::new();
        for size in self.sizes {
            if here.stopped() {
                break;
            }
            let path = |what: &str| self.folder.join(format!("{what}-{}", size.id()));
            sizes.push(touch(&path("open"), &path("chmod"))?);
        }
        let tree = (self.tree > 0).then(|| tree(&self.folder.join(TREE_FOLDER))).transpose()?;
        Ok(Told { sizes, tree, seen: coherence::look(&self.folder)? })
    }
}

fn touch(opened: &Path, changed: &Path) -> std::result::Result<One, Fault> {
    let failed = |error: std::io::Error| Fault::io("write to", opened, &error);
    let before = bytes_written();
    let (file, open_ns) = timed(|| OpenOptions::new().write(true).open(opened));
    let mut file = file.map_err(failed)?;
    let copied_bytes = before.zip(bytes_written()).map(|(before, after)| after - before);
    let (written, write_ns) = timed(|| file.write_all(b"x"));
    written.map_err(failed)?;
    let (synced, fsync_ns) = timed(|| file.sync_all());
    synced.map_err(failed)?;
    drop(file);
    let (again, reopen_ns) = timed(|| OpenOptions::new().write(true).open(opened));
    again.map_err(failed)?;
    let (mode, chmod_ns) = timed(|| fs::set_permissions(changed, Permissions::from_mode(0o600)));
    mode.map_err(|error| Fault::io("change the mode of", changed, &error))?;
    Ok(One { open_ns, write_ns, fsync_ns, reopen_ns, chmod_ns, copied_bytes })
}

/// Changes the mode of everything in a folder, twice; ns for one file each.
fn tree(folder: &Path) -> std::result::Result<(f64, f64), Fault> {
    let failed = |error: std::io::Error| Fault::io("change the mode of files in", folder, &error);
    let files: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(failed)?;
    let pass = |mode: u32| {
        let (done, ns) = timed(|| {
            files
                .iter()
                .try_for_each(|file| fs::set_permissions(file, Permissions::from_mode(mode)))
        });
        done.map(|()| ns as f64 / files.len().max(1) as f64).map_err(failed)
    };
    Ok((pass(0o600)?, pass(0o640)?))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let begun = Clock::now();
    let done = work();
    (done, Clock::now() - begun)
}
