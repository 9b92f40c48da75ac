//! What an arm's folder lies on: no probe, but what findings about storage want to know.

use serde::{Deserialize, Serialize};

use crate::inside::{Fault, Here, Task};
use culprit_place::{mount_of, mounts};

/// Asks for the file system below the arm's folder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Storage {}

impl Task for Storage {
    const NAME: &'static str = "storage";
    /// Its kind as `/proc/self/mountinfo` has it: `ext4`, `overlay`, `fuse.sshfs`, `9p`.
    type Output = Option<String>;

    fn run(self, here: &mut Here) -> Result<Option<String>, Fault> {
        let dir = here.dir()?;
        let dir = dir.canonicalize().map_err(|error| Fault::io("find", dir, &error))?;
        // Without `/proc` there is no answer, and nothing else is lost by it.
        let Ok(mounts) = mounts(None) else { return Ok(None) };
        Ok(mount_of(&mounts, &dir).map(|mount| mount.fs_type.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lies_on_something() {
        let dir = tempfile::tempdir().unwrap();
        let told = Storage {}.run(&mut Here::at(&dir.path().join("ours"))).unwrap();
        assert!(told.is_some_and(|kind| !kind.is_empty()));
    }
}
