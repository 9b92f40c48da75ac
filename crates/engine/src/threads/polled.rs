//! Thread time where nothing but looks at `/proc` exists: each look speaks for the time around it.
//!
//! ```text
//! looks        R        S        S             R
//! intervals  | cpu   | blocked         | cpu      |      split half-way between two looks
//! ```

use culprit_model::{Cause, Observation, Time};

use crate::causes::observed;

/// A stretch of time with the cause of the look in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) cause: Cause,
}

/// Stretches that tile `from..to`, one a run of looks with one cause. The state letter of a thread
/// that is ready and of one that runs is the same; both count as user code.
pub(super) fn looks<'a>(
    from: Time,
    to: Time,
    observations: impl Iterator<Item = &'a Observation>,
) -> Vec<Look> {
    let mut found: Vec<Look> = Vec::new();
    let mut last = from;
    for observation in observations {
        let time = observation.time.clamp(from, to);
        let cause = observed(observation).unwrap_or(Cause::CpuUser);
        let border = Time(last.0.midpoint(time.0));
        match found.last_mut() {
            None => found.push(Look { from, to, cause }),
            Some(open) if open.cause == cause => {}
            Some(open) => {
                open.to = border;
                found.push(Look { from: border, to, cause });
            }
        }
        last = time;
    }
    found
}
