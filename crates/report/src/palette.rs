//! One colour a cause, the same in terminals, pictures and pages.
//!
//! Hues follow what a cause is about, so that a strip can be read before its legend is: green runs,
//! amber is ready, blue to violet waits for a device or peer, red for another thread, grey for time
//! that the program chose to pass. Colour is never the only sign: every bar and box has its text.

use culprit_model::Cause;

/// A cause's colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CauseColor {
    /// `#rrggbb`, legible under dark and light text alike.
    pub hex: &'static str,
    /// The nearest of the 256 terminal colours.
    pub ansi: u8,
    /// A letter for bars without colour.
    pub letter: char,
}

const fn color(hex: &'static str, ansi: u8, letter: char) -> CauseColor {
    CauseColor { hex, ansi, letter }
}

/// The colour of a cause.
pub(crate) const fn cause_color(cause: Cause) -> CauseColor {
    match cause {
        Cause::CpuUser => color("#4caf6a", 71, '█'),
        Cause::CpuKernel => color("#1f9d8f", 36, '▓'),
        Cause::Runnable => color("#e0b23c", 178, 'r'),
        Cause::RunnableQuota => color("#c9811c", 172, 'q'),
        Cause::Disk => color("#8f7ae5", 98, 'd'),
        Cause::Fsync => color("#6f56d1", 62, 'y'),
        Cause::Fault => color("#b685e0", 140, 'f'),
        Cause::Net => color("#4f8fe6", 68, 'n'),
        Cause::Lock => color("#dc4f4f", 167, 'l'),
        Cause::Sleep => color("#9aa3b2", 247, 's'),
        Cause::Poll => color("#78849a", 103, 'p'),
        Cause::Pipe => color("#3aa8c4", 38, '='),
        Cause::Ipc => color("#2f86a6", 31, 'i'),
        Cause::Child => color("#dd77a8", 175, 'c'),
        Cause::Notify => color("#7fb3a6", 109, 'w'),
        Cause::Memory => color("#e2784a", 173, 'm'),
        Cause::Signal => color("#a8a08c", 144, 'g'),
        Cause::Stopped => color("#6b6760", 242, 'x'),
        Cause::Other => color("#8d8680", 245, '?'),
    }
}

/// The group that a cause belongs to: what the thread's time was, in one word.
pub(crate) const fn group_of(cause: Cause) -> &'static str {
    if cause.is_cpu() {
        "on-CPU"
    } else if cause.is_runnable() {
        "ready"
    } else {
        "blocked"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::Label as _;

    #[test]
    fn no_two_causes_look_alike() {
        let looks = |f: fn(CauseColor) -> String| {
            let set: std::collections::BTreeSet<_> =
                Cause::ALL.iter().map(|cause| f(cause_color(*cause))).collect();
            set.len()
        };
        assert_eq!(looks(|c| c.hex.to_owned()), Cause::ALL.len());
        assert_eq!(looks(|c| c.ansi.to_string()), Cause::ALL.len());
        assert_eq!(looks(|c| c.letter.to_string()), Cause::ALL.len());
    }
}
