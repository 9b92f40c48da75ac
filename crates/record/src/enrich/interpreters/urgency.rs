//! How soon the thread that reads interpreters runs when it wants to.

use super::MILLISECOND;
use crate::sys::{be_prompt, be_realtime};

/// How long a round of few threads takes at most.
const SLICE: u64 = MILLISECOND / 10;
/// Who wakes later than this, so many times, does not get a CPU when it should: where the kernel shares CPUs out
/// among groups of threads, a thread is only prompt within its group.
const LATE: u64 = MILLISECOND;
const MOST_LATE: u32 = 3;

/// How the reading thread gets a CPU: with as little harm to others as will do. Pauses keep it from taking more than
/// its share.
#[derive(Debug)]
pub(super) struct Urgency {
    late: u32,
}

impl Urgency {
    /// Beside others, on an idle CPU. Not allowed without CAP_SYS_NICE; then readings come late where CPUs are busy.
    pub(super) fn new() -> Self {
        let _ = be_prompt(SLICE);
        Self { late: 0 }
    }

    /// The thread woke so much later than it wanted, in ns. If that happens often, it goes before all others.
    pub(super) fn woke(&mut self, late: u64) {
        if late > LATE && self.late < MOST_LATE {
            self.late += 1;
            if self.late == MOST_LATE {
                let _ = be_realtime();
            }
        }
    }
}
