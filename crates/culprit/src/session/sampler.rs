//! The library that samples allocations, as a file that the recorded command preloads.
//!
//! ```text
//! /var/tmp/culprit_.../libculprit-alloc.so    readable for every user, removed after the recording
//! LD_PRELOAD=libmine.so:/var/tmp/culprit_.../libculprit-alloc.so
//! ```
//!
//! The user's own libraries stay before ours: an allocator among them serves the program as without us, and
//! the recording says that it was not sampled.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use culprit_place::{Command, Place};
use culprit_record::{AllocationTrace, Extras, SAMPLER_FILE_NAME, sampler_library};

use crate::failure::{Context as _, Failure};
use crate::places;
use crate::settings::of_places;

/// The variable by which a dynamic linker is told what to load before all else.
const PRELOAD: &str = "LD_PRELOAD";

/// The library's folder; removed when it is dropped. What a killed run leaves, the next one removes.
#[derive(Debug)]
pub(crate) struct SamplerFolder {
    folder: PathBuf,
}

impl SamplerFolder {
    /// Writes the library, which takes a sample each so many bytes on average.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn new(mean: u64) -> Result<Self, Failure> {
        let name = culprit_place::fresh_name().map_err(|error| places::failure(&error))?;
        let folder = of_places().scratch.join(name);
        let made = Self { folder };
        let what = || format!("cannot write `{}`", made.file().display());
        made.write(mean).or_refused(what)?;
        Ok(made)
    }

    /// The library's file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(SAMPLER_FILE_NAME)
    }

    fn write(&self, mean: u64) -> std::io::Result<()> {
        DirBuilder::new().mode(0o755).create(&self.folder)?;
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o644).open(self.file())?;
        file.write_all(&sampler_library(mean))?;
        // Whatever our umask is: the command may run as another user.
        file.set_permissions(Permissions::from_mode(0o644))?;
        std::fs::set_permissions(&self.folder, Permissions::from_mode(0o755))
    }
}

impl Drop for SamplerFolder {
    fn drop(&mut self) {
        // What stays is swept by the next run.
        let _swept_later = std::fs::remove_dir_all(&self.folder);
    }
}

/// Lets the command of a place load the library, where one samples: notes the library's two names, and returns
/// the variable that the command needs.
///
/// # Errors
/// When the place cannot take the file.
pub(crate) fn preload(
    place: &dyn Place,
    command: &Command,
    extras: &mut Extras,
) -> Result<Option<(OsString, OsString)>, Failure> {
    let Some(AllocationTrace::Sampled(library)) = &mut extras.allocations else {
        return Ok(None);
    };
    *library = place.share_library(&library.file).map_err(|error| places::failure(&error))?;
    let inherited = place.environment().map_err(|error| places::failure(&error))?;
    let set = inherited.iter().chain(&command.env).rev().find(|(name, _)| name == PRELOAD);
    let value = value(set.map(|(_, value)| value.as_os_str()), &library.path);
    Ok(Some((PRELOAD.into(), value)))
}

/// What is preloaded already, then the library.
fn value(set: Option<&OsStr>, library: &Path) -> OsString {
    let mut value = set.unwrap_or_default().to_owned();
    if !value.is_empty() {
        value.push(":");
    }
    value.push(library);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_libraries_stay_before_ours() {
        let library = Path::new("/t/l.so");
        assert_eq!(value(None, library), "/t/l.so");
        assert_eq!(value(Some("".as_ref()), library), "/t/l.so");
        assert_eq!(value(Some("a.so b.so".as_ref()), library), "a.so b.so:/t/l.so");
    }

    #[test]
    fn the_library_can_be_read_by_everybody_and_goes_with_its_folder() {
        let folder = SamplerFolder::new(4096).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.folder), mode(&folder.file())), (0o755, 0o644));
        assert!(std::fs::read(folder.file()).unwrap().starts_with(b"\x7fELF"));
        let path = folder.file();
        drop(folder);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }
}
