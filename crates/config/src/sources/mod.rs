//! Finding and reading sources: the one folder of the crate that looks at a file system.
//!
//! ```text
//! root      files below one folder, wherever they are
//! detect    which profiles fit a folder
//! collect   the sources of a layered profile, in their order
//! define    what decides which files count, and their names
//! load      a file or the environment as a source with what it holds
//! ```
//!
//! Everything stays below one root folder: a link or `..` that leads out of it is refused. What is read
//! becomes a [`Loaded`], with what became of it; nothing here fails as a whole.

mod collect;
mod define;
mod detect;
mod load;
mod root;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::files::Files;
use crate::profile::Define;
use crate::provenance::{Outcome, Source};
use crate::readers::Contents;
use crate::value::Raw;

pub use collect::collect;
pub use detect::{detects, detects_in, falls_back_in, fitting_below};
pub(crate) use load::{environment_source, hash, load_file, shown_path, state_of};
pub use root::FileRead;
pub(crate) use root::Root;

/// What to read, beyond what a profile says.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The project's folder.
    pub root: PathBuf,
    /// Compose files instead of those that are found, relative to the root.
    pub compose_files: Vec<PathBuf>,
    /// Files of variables for `${...}` in compose files, instead of `.env`.
    pub env_files: Vec<PathBuf>,
    /// Values of defines.
    pub defines: Vec<(String, Vec<String>)>,
    /// The environment that a program started from here would get; none: it is left out.
    pub environment: Option<Vec<(String, Raw)>>,
    /// The arguments that a program started from here would get.
    pub arguments: Vec<String>,
    /// Whether variables that no other source knows count as keys, too.
    pub all_variables: bool,
    /// The files, if they are not in the folder `root` of this machine.
    pub files: Option<Arc<dyn Files>>,
    /// The image of services of a compose project.
    pub image: Option<ServiceImage>,
}

/// An image that services of a compose project may have.
#[derive(Debug, Clone)]
pub struct ServiceImage {
    /// Its names, `shop:1`.
    pub names: Vec<String>,
    /// Its variables.
    pub environment: Vec<(String, Raw)>,
}

impl Request {
    /// The value of a variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&Raw> {
        let mut variables = self.environment.iter().flatten();
        variables.find(|(other, _)| other == name).map(|(_, value)| value)
    }
}

/// The value of a define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// Its values; empty: it is not set.
    pub values: Vec<String>,
    /// What sets it, in words.
    pub from: String,
}

/// A source with what it holds.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The source.
    pub source: Source,
    /// Its layer: an index of the profile's.
    pub layer: usize,
    /// What it holds; empty if it could not be read.
    pub contents: Contents,
    /// What became of single entries before they compete, by index, and why: entries that the rules of
    /// the profile treat in another way than their source. [`Outcome::Won`] with a remark for one that
    /// competes.
    pub verdicts: BTreeMap<usize, (Outcome, String)>,
    /// The keys and values that the value of an entry was made from, by index.
    pub made: BTreeMap<usize, Vec<(String, Raw)>>,
    /// The variables that entries are written as, by index, where that is not their key.
    pub written: BTreeMap<usize, String>,
    /// The variables that the source asks for, set or not, each with the key that it sets.
    pub asked: BTreeMap<String, String>,
    /// What would make a file count that a define does not choose.
    pub choice: Option<Choice>,
    /// Whether the program may read it in another way, as `why` of the source says.
    pub is_doubtful: bool,
}

/// The layer of sources that are of none.
pub(crate) const NO_LAYER: usize = usize::MAX;

/// The value of a define that chooses a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The define.
    pub define: String,
    /// The variable that sets it.
    pub variable: String,
    /// The value that chooses the file.
    pub value: String,
}

impl Choice {
    /// The value of a define that a file's name holds, and the variable that gives it: the one that sets
    /// the define now, else the first.
    pub(crate) fn new(define: &Define, now: &Defined, value: &str) -> Option<Self> {
        let is_now = |name: &&String| now.from == format!("variable {name}");
        let variable = define.variables.iter().find(is_now).or_else(|| define.variables.first())?;
        let (define, variable) = (define.name.clone(), variable.clone());
        (!value.is_empty()).then(|| Self { define, variable, value: value.to_owned() })
    }
}

impl Loaded {
    /// A source of a layer.
    pub(crate) fn new(layer: usize, (source, contents): (Source, Contents)) -> Self {
        Self {
            source,
            layer,
            contents,
            verdicts: BTreeMap::new(),
            made: BTreeMap::new(),
            written: BTreeMap::new(),
            asked: BTreeMap::new(),
            choice: None,
            is_doubtful: false,
        }
    }

    /// What the value of an entry was made from.
    pub(crate) fn made(&self, entry: usize) -> &[(String, Raw)] {
        self.made.get(&entry).map_or(&[], Vec::as_slice)
    }
}

/// All sources of a profile.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The sources, weakest first; those that are not read stand at their layer's place.
    pub loaded: Vec<Loaded>,
    /// The parts of sources in the order of their strength, the weakest first. A source that includes
    /// another has two: what stands before it, and what stands behind.
    pub parts: Vec<Part>,
    /// The defines of the profile.
    pub defines: Vec<Defined>,
}

/// Entries of a source that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The source: an index of [`Collected::loaded`].
    pub loaded: usize,
    /// Indexes of its entries.
    pub entries: Range<usize>,
}

impl Collected {
    /// Sources in order, each in one part.
    pub(crate) fn in_order(loaded: Vec<Loaded>, defines: Vec<Defined>) -> Self {
        let part = |(at, one): (usize, &Loaded)| Part {
            loaded: at,
            entries: 0..one.contents.entries.len(),
        };
        let parts = loaded.iter().enumerate().map(part).collect();
        Self { loaded, parts, defines }
    }
}
