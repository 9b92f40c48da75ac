//! What an image stores, and what that says.

use culprit_model::Finding;

use super::{emulated_arch, image_bloat};

/// What an image stores.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageStored {
    /// Its name.
    pub name: String,
    /// What processors it is for, as the image format calls them (`amd64`, `arm64`); none where it
    /// does not say so.
    pub architecture: Option<String>,
    /// Bytes of all files of all layers.
    pub bytes: u64,
    /// From the lowest up.
    pub layers: Vec<ImageLayer>,
    /// Bytes that later layers hide.
    pub vain_bytes: u64,
    /// Bytes of files that are seen, with the content of another one that is seen.
    pub copied_bytes: u64,
    /// How many files that are.
    pub waste_files: usize,
    /// The largest of them.
    pub waste: Vec<ImageWaste>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLayer {
    /// The instruction that made it; empty where nobody has written it down.
    pub instruction: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Files with content.
    pub files: u64,
    /// Bytes of them that later layers hide.
    pub vain_bytes: u64,
    /// Why its files are not, or not all, known.
    pub problem: Option<String>,
}

/// A file that is stored in vain or twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageWaste {
    /// Its path.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Why it is.
    pub kind: WasteKind,
    /// The layer that stores it first.
    pub stored_by: usize,
    /// The layer that hides it, or stores the copy.
    pub by: usize,
}

/// Why a file is stored in vain or twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WasteKind {
    /// A later layer removes it.
    Deleted,
    /// A later layer has another content at its path.
    Replaced,
    /// A later layer has the same content at its path: owner, mode or time were changed.
    StoredAgain,
    /// Another path has the same content.
    Copy,
}

impl WasteKind {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
            Self::StoredAgain => "stored-again",
            Self::Copy => "copy",
        }
    }
}

/// The findings of an image; `machine` is what processors this machine has, as the image format calls
/// them.
#[must_use]
pub fn find_image(image: &ImageStored, machine: &str) -> Vec<Finding> {
    emulated_arch::find(image, machine).into_iter().chain(image_bloat::find(image)).collect()
}
