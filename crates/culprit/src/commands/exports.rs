//! Exports of measurements: each goes to a file, or one to stdout instead of the results.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::failure::Failure;
use crate::files;
use crate::output::Output;

/// Where an export goes that is meant for stdout.
const STDOUT: &str = "-";

/// Where each of the exports goes, if it was asked for.
#[derive(Debug)]
pub(super) struct Exports<'a>(pub(super) Vec<&'a Option<PathBuf>>);

/// Makes an export.
pub(super) type Form<'a> = &'a dyn Fn() -> Result<String, Failure>;

impl<'a> Exports<'a> {
    /// Those that go to files.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a Path> {
        let paths = self.0.iter().filter_map(|path| path.as_deref());
        paths.filter(|path| *path != Path::new(STDOUT))
    }

    fn need_stdout(&self) -> bool {
        self.0.iter().any(|path| path.as_deref() == Some(Path::new(STDOUT)))
    }

    /// # Errors
    /// When the JSON and an export both need stdout.
    pub(super) fn check(&self, output: &Output) -> Result<(), Failure> {
        if !(output.wants_json() && self.need_stdout()) {
            return Ok(());
        }
        let what = "cannot print the results: `--json` and the export both need stdout";
        Err(Failure::bad_input(what).hint("write the export to a file"))
    }

    /// Writes them, in the order of their paths.
    ///
    /// # Errors
    /// When one cannot be made or written.
    pub(super) fn write(&self, forms: &[Form<'_>], output: &mut Output) -> Result<(), Failure> {
        for (path, form) in self.0.iter().zip(forms) {
            match path {
                None => {}
                Some(path) if path == Path::new(STDOUT) => output.print(&form()?)?,
                Some(path) => files::write_whole(path, form()?.as_bytes())?,
            }
        }
        Ok(())
    }

    /// Shows the results: on stderr where stdout has an export.
    ///
    /// # Errors
    /// When stdout cannot take them.
    pub(super) fn show(
        &self,
        document: &impl Serialize,
        text: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if output.wants_json() {
            output.document(document)
        } else if self.need_stdout() {
            output.say_painted(text);
            Ok(())
        } else {
            output.print(text)
        }
    }
}
