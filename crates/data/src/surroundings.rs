//! The clock and the environment: the one place that reads them.

use std::time::UNIX_EPOCH;

/// Milliseconds since 1970-01-01 UTC.
#[expect(clippy::disallowed_methods, reason = "the one clock of this program")]
pub(crate) fn now_ms() -> i64 {
    let passed = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
    passed.ok().and_then(|passed| i64::try_from(passed.as_millis()).ok()).unwrap_or(0)
}

/// The password of a PostgreSQL database, as its own programs take it.
pub(crate) fn database_password() -> Option<String> {
    std::env::var_os("PGPASSWORD").and_then(|value| value.into_string().ok())
}

/// The password of a SQL Server, as its own programs take it.
pub(crate) fn sqlserver_password() -> Option<String> {
    std::env::var_os("SQLCMDPASSWORD").and_then(|value| value.into_string().ok())
}
