//! Who made a thread. A wait that began before the thread that ended it was made was, until then, a wait for
//! whoever made it.
//!
//! ```text
//! reader  pppppppppppp|     p waits for the output of tail
//! sh      UcccccccUUcc|     starts tail when xz has ended
//! xz      .UUUUUUU|
//! tail    .........UUU|
//! path    ssxxxxxxsttt     and not a wait of the reader's own
//! ```

use culprit_model::{Recording, ThreadId};

use super::lives::Lives;

/// The thread that made a thread: the only one of its process, or of the process that forked it, that ran on a CPU
/// when it was born. None where the recording did not see the birth, or where several ran.
pub(super) fn creator(recording: &Recording, lives: &Lives, thread: ThreadId) -> Option<ThreadId> {
    let made = recording.threads.get(thread.index())?;
    let born = recording.intervals[lives.rows(thread)].first()?.start;
    let own = recording.processes.get(made.process.index())?;
    if born != made.start {
        return None;
    }
    let process = if made.tid.0 == own.pid.0 { own.parent? } else { made.process };
    let mut running = lives.threads(process).iter().filter(|other| {
        let row = lives.before(recording, **other, born);
        **other != thread && row.is_some_and(|at| recording.intervals[at].cause.is_cpu())
    });
    let creator = running.next().copied();
    creator.filter(|_| running.next().is_none())
}
