//! A folder that goes away with its value, for what one round makes.

use std::path::{Path, PathBuf};

use super::Fault;

/// A folder that goes away with its value.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes it; it must not be there yet.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn make(path: PathBuf) -> Result<Self, Fault> {
        std::fs::create_dir(&path)
            .map_err(|error| Fault::io("create the folder", &path, &error))?;
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays goes with the worker's own folder.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
