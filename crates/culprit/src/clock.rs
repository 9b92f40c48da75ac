//! The one clock of the program: monotonic, for waits and limits.

use std::time::{Duration, Instant};

/// A point on the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Instant);

impl Moment {
    /// Now.
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    /// How long before a later point it was; no time when that is earlier.
    pub(crate) fn until(self, later: Self) -> Duration {
        later.0.saturating_duration_since(self.0)
    }

    /// How long ago it was.
    pub(crate) fn elapsed(self) -> Duration {
        self.until(Self::now())
    }
}
