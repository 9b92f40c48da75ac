//! A plan's folder: files below one digest, written once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use culprit_model::Row;
use sha2::{Digest as _, Sha256};

use super::error::CleanError;
use super::keys::PlanKey;
use super::plan::{CleanLevel, PLAN_SCHEMA, Plan};
use crate::error::Error;

/// The document.
pub(crate) const PLAN: &str = "plan.json";
/// What one process that changes something holds.
const LOCK: &str = "apply.lock";

/// SHA-256 as hexadecimal text.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes a file and waits until the disk has it, its name included.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// A plan that is being made. What was written is removed when it is not finished: a plan needs a folder of
/// its own, and the next one may have the same.
#[derive(Debug)]
pub(crate) struct NewFolder {
    pub(crate) path: PathBuf,
    files: BTreeMap<String, String>,
}

impl NewFolder {
    /// Makes the folder, which must not exist or be empty.
    pub(crate) fn create(path: &Path) -> Result<Self, CleanError> {
        let failed = |error| Error::io("create", path, error);
        std::fs::create_dir_all(path).map_err(failed)?;
        if std::fs::read_dir(path).map_err(failed)?.next().is_some() {
            let why =
                format!("`{}` is not empty; a plan needs a folder of its own", path.display());
            return Err(CleanError::Options(why));
        }
        Ok(Self { path: path.to_owned(), files: BTreeMap::new() })
    }

    /// Writes a file of the plan.
    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), CleanError> {
        write_durably(&self.path.join(name), bytes)?;
        self.files.insert(name.to_owned(), digest(bytes));
        Ok(())
    }

    /// Writes rows; none make no file.
    pub(crate) fn write_rows<R: Row>(&mut self, name: &str, rows: &[R]) -> Result<(), CleanError> {
        if rows.is_empty() {
            return Ok(());
        }
        let bytes = culprit_recording::rows_to_parquet(rows).map_err(Error::Encode)?;
        self.write(name, &bytes)
    }

    /// Writes the document, with which the plan is whole.
    pub(crate) fn finish(mut self, plan: Plan) -> Result<Plan, CleanError> {
        let mut plan = Plan { files: self.files.clone(), digest: String::new(), ..plan };
        let text = serde_json::to_string_pretty(&plan)
            .map_err(|error| Error::io("write", &self.path, error.into()))?;
        plan.digest = digest(text.as_bytes());
        let signed = with_digest(&text, "", &plan.digest);
        write_durably(&self.path.join(PLAN), format!("{signed}\n").as_bytes())?;
        self.files.clear();
        Ok(plan)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // What cannot be removed stays, and the next plan is refused.
        for name in self.files.keys().map(|name| self.path.join(name)) {
            std::fs::remove_file(&name).ok();
            name.parent().and_then(|folder| std::fs::remove_dir(folder).ok());
        }
        std::fs::remove_dir(&self.path).ok();
    }
}

/// The text of a document with another digest; the digest is its last entry.
fn with_digest(text: &str, old: &str, new: &str) -> String {
    let entry = |digest: &str| format!("\"digest\": \"{digest}\"\n}}");
    match text.strip_suffix(&entry(old)) {
        Some(rest) => format!("{rest}{}", entry(new)),
        None => text.to_owned(),
    }
}

/// A plan that was read and is as it was made.
#[derive(Debug)]
pub(crate) struct PlanFolder {
    pub(crate) path: PathBuf,
    pub(crate) plan: Plan,
    pub(crate) level: CleanLevel,
}

impl PlanFolder {
    /// Reads a plan and checks every file of it.
    ///
    /// # Errors
    /// When it is no plan, or was changed after it was made.
    pub(crate) fn open(path: &Path) -> Result<Self, CleanError> {
        let wrong = |why: String| CleanError::Plan { path: path.to_owned(), why };
        let file = path.join(PLAN);
        let bytes = std::fs::read(&file).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => wrong("it has no `plan.json`".to_owned()),
            _ => Error::io("read", &file, error).into(),
        })?;
        let plan: Plan = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("`plan.json` is damaged: {error}")))?;
        if plan.schema > PLAN_SCHEMA {
            return Err(wrong(format!("a newer version wrote it in format {}", plan.schema)));
        }
        // The text counts, not the values: a fraction need not survive reading and writing.
        let text = String::from_utf8_lossy(&bytes);
        let bare = with_digest(text.trim_end(), &plan.digest, "");
        if digest(bare.as_bytes()) != plan.digest {
            return Err(wrong("`plan.json` was changed after the plan was made".to_owned()));
        }
        for (name, expected) in &plan.files {
            let bytes = std::fs::read(path.join(name))
                .map_err(|error| wrong(format!("cannot read `{name}`: {error}")))?;
            if digest(&bytes) != *expected {
                return Err(wrong(format!("`{name}` was changed after the plan was made")));
            }
        }
        let level =
            plan.level.parse().map_err(|_| wrong(format!("unknown level `{}`", plan.level)))?;
        Ok(Self { path: path.to_owned(), plan, level })
    }

    /// The lease: at most one process changes something by this plan.
    pub(crate) fn lock(&self) -> Result<File, CleanError> {
        let path = self.path.join(LOCK);
        let lock = File::create(&path).map_err(|error| Error::io("create", &path, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(_) => Err(CleanError::InUse { path: self.path.clone() }),
        }
    }

    /// The keys of one kind and shard, ordered by GUID.
    pub(crate) fn keys(&self, name: &str) -> Result<Vec<PlanKey>, CleanError> {
        if !self.plan.files.contains_key(name) {
            return Ok(Vec::new());
        }
        let path = self.path.join(name);
        let rows: Vec<PlanKey> = crate::store::read_rows(&path.into())?;
        Ok(rows)
    }

    /// Refuses a plan of another level.
    pub(crate) fn expect_level(&self, level: CleanLevel) -> Result<(), CleanError> {
        if self.level == level {
            return Ok(());
        }
        let why = format!("it is of level `{}`", self.level);
        let hint = format!(
            "this is for plans of level `{level}`; `culprit audit clean status PLAN` shows how far this \
             one is"
        );
        Err(CleanError::state(&self.path, why, hint))
    }
}

/// Names of the files with keys.
pub(crate) fn key_file(kind: &str, shard: u32) -> String {
    format!("keys/{kind}-shard-{shard}.parquet")
}
/// Interactions that leave.
pub(crate) const INTERACTIONS: &str = "interactions";
/// Contacts that leave.
pub(crate) const CONTACTS: &str = "contacts";
/// Contacts that lose some of their interactions.
pub(crate) const PARTIAL: &str = "partial-contacts";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_not_finished_leaves_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        let mut plan = NewFolder::create(&path).unwrap();
        plan.write("keys/a.parquet", b"a").unwrap();
        plan.write("keys/b.parquet", b"b").unwrap();
        // A file has its name already: what failed is named, and nothing is left.
        std::fs::write(path.join("undo"), "").unwrap();
        assert!(plan.write("undo/a.sql", b"").is_err());
        std::fs::remove_file(path.join("undo")).unwrap();
        drop(plan);
        assert!(!path.exists());
    }
}
