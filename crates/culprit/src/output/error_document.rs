//! A failure as the one document that `--json` promises.

use culprit_report::json::SCHEMA;
use serde::Serialize;

use crate::failure::Failure;

/// Why a command could not do what was asked.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorDocument {
    schema: u32,
    error: ErrorJson,
}

#[derive(Debug, Serialize)]
struct ErrorJson {
    message: String,
    hint: Option<String>,
    exit_code: u8,
}

impl ErrorDocument {
    /// The document of a failure.
    pub(crate) fn new(failure: &Failure) -> Self {
        let error = ErrorJson {
            message: failure.to_string(),
            hint: failure.way_out(),
            exit_code: failure.code(),
        };
        Self { schema: SCHEMA, error }
    }
}
