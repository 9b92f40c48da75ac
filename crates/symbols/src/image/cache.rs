//! One parsed image per file, however many processes map it.
//!
//! A container of thousand short processes maps the same ten libraries ten thousand times. The cheap
//! question (`fstat`) is asked first; two files with one build id (an image layer and its copy) share an
//! image as well.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{FileIdentity, ImageKey, ModuleImage};
use crate::{BuildId, Error};

/// Images by file and by build id. Holds every image until dropped; [`memory_bytes`](Self::memory_bytes)
/// says what that costs.
#[derive(Debug, Default)]
pub struct ImageCache {
    by_file: FxHashMap<FileIdentity, Arc<ModuleImage>>,
    by_key: FxHashMap<ImageKey, Arc<ModuleImage>>,
}

impl ImageCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The image of an open file, parsed at most once. `open` finds separate debug files, see
    /// [`ModuleImage::attach_debug_files`].
    ///
    /// # Errors
    /// As [`ModuleImage::open`]; failures are not remembered.
    pub fn open(
        &mut self,
        file: File,
        path: &str,
        expected: Option<&BuildId>,
        open: &mut dyn FnMut(&Path) -> Option<File>,
    ) -> Result<Arc<ModuleImage>, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), offset: 0, source };
        let identity = FileIdentity::of(&file.metadata().map_err(failed)?);
        let known = self.by_file.get(&identity);
        if let Some(known) = known.filter(|image| agrees(image, expected)) {
            return Ok(Arc::clone(known));
        }
        let mut image = ModuleImage::open(file, path, expected)?;
        if let Some(known) = self.by_key.get(image.key()) {
            self.by_file.insert(identity, Arc::clone(known));
            return Ok(Arc::clone(known));
        }
        image.attach_debug_files(open);
        Ok(self.insert(identity, Arc::new(image)))
    }

    /// The image with a build id, if any file with it was opened.
    pub fn by_build_id(&self, id: &BuildId) -> Option<&Arc<ModuleImage>> {
        self.by_key.get(&ImageKey::BuildId(id.clone()))
    }

    /// Number of distinct images.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether nothing was opened yet.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Bytes that all images hold together.
    pub fn memory_bytes(&self) -> usize {
        self.by_key.values().map(|image| image.memory_bytes()).sum()
    }

    fn insert(&mut self, identity: FileIdentity, image: Arc<ModuleImage>) -> Arc<ModuleImage> {
        self.by_file.insert(identity, Arc::clone(&image));
        self.by_key.insert(image.key().clone(), Arc::clone(&image));
        image
    }
}

fn agrees(image: &ModuleImage, expected: Option<&BuildId>) -> bool {
    match (image.build_id(), expected) {
        (Some(found), Some(expected)) => found.matches(expected),
        _ => true,
    }
}
