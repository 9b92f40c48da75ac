//! What an image stores: its layers, who made each, and what of it nobody can see.
//!
//! ```text
//! engine ──archive, as it is sent──> tar ──> layers (tar in tar) ──> files with their hashes
//!                                      └───> manifest, configuration ─> instructions
//! layers in order ──> what a later layer deletes, replaces or stores again ──> findings
//! ```
//!
//! In memory are names, sizes and hashes of files; of files that may be configuration also the content
//! (`files`).

mod files;
mod layers;
mod read;
mod tar;

use std::io;

use culprit_findings::ImageStored;
use culprit_place::{EngineKind, Image, PlaceSpec};

pub(crate) use files::{ImageContents, image_contents};

use crate::failure::Failure;
use crate::output::{Progress, bytes};
use crate::{places, settings};

/// The image that a place is made from, where it is one that the engine has by a name.
pub(crate) fn named(place: &PlaceSpec) -> Option<(EngineKind, &str)> {
    match place {
        PlaceSpec::Engine { engine, image: Image::Named(name), .. } => Some((*engine, name)),
        _ => None,
    }
}

/// Reads an image through its engine.
///
/// # Errors
/// When the engine does not answer, has no such image, or gives something else.
pub(crate) fn stored(
    (engine, name): (EngineKind, &str),
    progress: &Progress,
) -> Result<ImageStored, Failure> {
    let export = culprit_place::export_image(engine, name, &settings::of_places());
    let export = export.map_err(|error| places::failure(&error))?;
    let mut counted = Counted { source: export, read: 0, told: 0, progress };
    let archive = read::archive(&mut counted).map_err(|error: io::Error| {
        Failure::refused(format!("cannot read the image `{name}`: {error}"))
            .hint(format!("check the image with `{engine} save {name} | tar t`"))
    })?;
    progress.clear();
    Ok(layers::stored(name, archive))
}

/// What processors this machine has, as the image format calls them: by Go's names (`GOARCH`).
pub(crate) fn machine() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        "loongarch64" => "loong64",
        other => other,
    }
}

/// Tells how much was read.
struct Counted<'a, R> {
    source: R,
    read: u64,
    told: u64,
    progress: &'a Progress,
}

/// How often it is told.
const STEP: u64 = 32 << 20;

impl<R: io::Read> io::Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        self.read += read as u64;
        if self.read >= self.told + STEP {
            self.told = self.read;
            #[expect(clippy::cast_precision_loss, reason = "53 bits hold 9 PB")]
            let told = bytes(self.read as f64);
            self.progress.doing(format!("reading the image: {told}"));
        }
        Ok(read)
    }
}
