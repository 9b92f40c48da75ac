//! Removes what runs that were killed have left behind. Called at the start of every run.
//!
//! Only things of ours whose maker is known to be dead are touched (see [`crate::owner`]), and no
//! process that a user started on the host is ended: one that is found in a cgroup of ours is
//! moved out of it.

use crate::cgroup;
use crate::engine;
use crate::error::Error;
use crate::place::Settings;
use crate::sandbox;

/// What was found and removed.
#[derive(Debug, Default)]
pub struct Swept {
    /// Containers, over all engines that answer.
    pub containers: usize,
    /// Images of ours.
    pub images: usize,
    /// Programs of ours in containers of others, where we may look into those.
    pub programs: usize,
    /// Sandboxes.
    pub sandboxes: usize,
    /// Cgroups, each tree counted for itself.
    pub cgroups: usize,
    /// What could not be removed; the rest was.
    pub problems: Vec<Error>,
}

impl Swept {
    /// Whether nothing was left, and nothing went wrong.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.containers + self.images + self.programs + self.sandboxes + self.cgroups == 0
            && self.problems.is_empty()
    }

    fn noting(&mut self, (count, problems): (usize, Vec<Error>)) -> usize {
        self.problems.extend(problems);
        count
    }
}

/// Removes what dead runs have left. Never fails as a whole: each problem is told for itself.
#[must_use]
pub fn sweep(settings: &Settings) -> Swept {
    let mut swept = Swept::default();
    // Cgroups last: a process that has ended need not be moved out.
    (swept.containers, swept.images, swept.programs) = engine::sweep(settings, &mut swept.problems);
    swept.sandboxes = swept.noting(sandbox::sweep(&settings.scratch));
    swept.cgroups = swept.noting(cgroup::sweep());
    swept
}
