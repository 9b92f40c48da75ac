//! Addresses and passwords of databases.

use std::path::Path;

use culprit_audit::SqlServerDsn;
use culprit_audit::clean::{CleanError, Dsn};

use crate::failure::Failure;
use crate::surroundings::{database_password, sqlserver_password};

/// Bytes of a file with a password at most.
const PASSWORD_BYTES: u64 = 4096;

/// Reads addresses. The password comes from a file, else from PGPASSWORD, else from the address.
///
/// # Errors
/// When an address or the file cannot be read.
pub(super) fn dsns(texts: &[String], password_file: Option<&Path>) -> Result<Vec<Dsn>, Failure> {
    let password = match password_file {
        Some(path) => Some(password(path)?),
        None => database_password(),
    };
    let parse = |text: &String| Dsn::parse(text, password.as_deref());
    texts.iter().map(parse).collect::<Result<_, _>>().map_err(|error| failure(&error))
}

/// Reads addresses of databases in SQL Server. The password comes from a file, else from
/// SQLCMDPASSWORD, else from the address.
///
/// # Errors
/// When an address or the file cannot be read.
pub(super) fn sqlserver_dsns(
    texts: &[String],
    password_file: Option<&Path>,
) -> Result<Vec<SqlServerDsn>, Failure> {
    let password = match password_file {
        Some(path) => Some(password(path)?),
        None => sqlserver_password(),
    };
    let parse = |text: &String| SqlServerDsn::parse(text, password.as_deref());
    texts.iter().map(parse).collect::<Result<_, _>>().map_err(|error| failure(&error))
}

/// The first line of a file.
fn password(path: &Path) -> Result<String, Failure> {
    let failed =
        |why: String| Failure::bad_input(format!("cannot read `{}`: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if size > PASSWORD_BYTES {
        return Err(failed(format!("it has {size} bytes, too many for a password")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// An error of a clean-up as the program's failure.
pub(super) fn failure(error: &CleanError) -> Failure {
    let what = error.to_string();
    let asked = matches!(error, CleanError::Stopped { asked: true, .. });
    let failure = match (asked, error.is_refusal()) {
        (true, _) => Failure::interrupted(what),
        (_, true) => Failure::refused(what),
        _ => Failure::bad_input(what),
    };
    error.hints().into_iter().fold(failure, Failure::hint)
}
