//! The engine that `--engine` names, and what is said about the comparison with it.

use culprit_model::counted;
use culprit_query::{Checked, Engine, Error, SparkAddress};

use crate::engine_args::EngineArgs;
use crate::failure::Failure;
use crate::output::Talk;

impl EngineArgs {
    /// The engine; none when this machine computes.
    ///
    /// # Errors
    /// When its address cannot be read.
    pub(crate) fn engine(&self) -> Result<Option<Engine>, Failure> {
        let Some(text) = &self.engine else { return Ok(None) };
        let wrong = |why| Error::Address { why };
        let mut address = SparkAddress::parse(text).map_err(wrong)?;
        if let Some(file) = &self.engine_token_file {
            let token = std::fs::read_to_string(file).map_err(|error| {
                Failure::bad_input(format!(
                    "cannot read the token in `{}`: {error}",
                    file.display()
                ))
            })?;
            address = address.with_token(token.trim()).map_err(wrong)?;
        }
        Ok(Some(Engine { address, path: self.engine_path.clone() }))
    }
}

/// Says which slice was computed twice.
pub(crate) fn say_checked(checked: Option<&Checked>, talk: &Talk) {
    let Some(Checked { address, version, slice, questions, rows }) = checked else { return };
    talk.say(&format!(
        "engine {address}, version {version}; this machine computed the slice `{slice}` as well: \
         the same answers to {}, rows: {rows}",
        counted(*questions as u64, "question")
    ));
}
