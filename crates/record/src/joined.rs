//! Cgroups that recorded processes join after the start.
//!
//! A command may write itself into a cgroup (`echo $$ > cgroup.procs; exec ...`), or a manager moves it. Its
//! limits hold from then on, so they are counted from then on, added to those of the recorded cgroup:
//!
//! ```text
//! recorded cgroup   periods 0 0 0 0 0
//! joined cgroup             7 9 12 15     since it was joined: 0 2 5 8
//! recording                 0 0 2 5 8
//! ```

use std::collections::BTreeSet;

use culprit_model::Pid;
use culprit_place::{CounterReader, Counters};

use crate::modules::kernel_pid;

/// Cgroups that are followed at most: a machine's manager may move processes into hundreds.
const MOST_JOINED: usize = 16;

/// The cgroups whose counters a recording has.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    recorded: Option<CounterReader>,
    /// The recorder's own, in which a command begins.
    own: Option<CounterReader>,
    joined: Vec<Joined>,
    /// What `/proc/PID/cgroup` said of processes whose cgroups are known: most processes say the same.
    seen: BTreeSet<String>,
}

/// A cgroup that a recorded process was found in later.
#[derive(Debug)]
struct Joined {
    reader: CounterReader,
    /// What it had counted when it was found.
    before: Counters,
}

impl Cgroups {
    /// Those of a recording whose own cgroup is `recorded`.
    pub(crate) fn new(recorded: Option<CounterReader>) -> Self {
        let own = CounterReader::of_process(Pid(std::process::id())).ok();
        Self { recorded, own, ..Self::default() }
    }

    /// Looks where processes are now: each with the text of its `/proc/PID/cgroup`.
    pub(crate) fn look(&mut self, processes: impl Iterator<Item = (i32, String)>) {
        for (pid, memberships) in processes {
            if self.joined.len() == MOST_JOINED {
                return;
            }
            if self.seen.contains(&memberships) {
                continue;
            }
            // One that has ended is nowhere.
            let Ok(reader) = CounterReader::of_process(kernel_pid(pid)) else { continue };
            if !self.is_known(&reader) {
                let before = reader.read();
                self.joined.push(Joined { reader, before });
            }
            self.seen.insert(memberships);
        }
    }

    fn is_known(&self, reader: &CounterReader) -> bool {
        let joined = self.joined.iter().map(|joined| &joined.reader);
        let known: Vec<&CounterReader> =
            self.recorded.iter().chain(&self.own).chain(joined).collect();
        reader.lies_within(&known)
    }

    /// What all of them count, where any is followed.
    pub(crate) fn read(&self) -> Option<Counters> {
        let recorded = self.recorded.as_ref().map(CounterReader::read);
        let joined = self.joined.iter().map(|joined| joined.reader.read().since(&joined.before));
        recorded.into_iter().chain(joined).reduce(|all, more| all.with(&more))
    }
}
