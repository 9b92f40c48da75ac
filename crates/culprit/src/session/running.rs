//! Recording what runs already: processes, a container, a cgroup, the machine.

use std::path::Path;
use std::time::Duration;

use culprit_model::Recording;
use culprit_place::Cgroup;
use culprit_probe::inside::Clock;
use culprit_record::{Ending, Progress, Target, Waiting};

use super::{Control, Settings, failure, finish, plan};
use crate::failure::Failure;
use crate::places;
use crate::running::kept;

/// Records a running target until it has ended, the limit is over, or a signal came.
///
/// # Errors
/// When it cannot be recorded.
pub(crate) fn run_target(
    (target, place): (Target, String),
    settings: &Settings,
    output: &Path,
    limit: Option<Duration>,
    control: &Control,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Recording, Option<String>), Failure> {
    let mut group = Group::of(&target)?;
    let mut options = settings.options(target.clone(), output);
    options.place.clone_from(&place);
    let armed = plan(options)?.arm(Waiting::default()).map_err(|error| failure(&error))?;
    let started = Clock::now();
    armed.run(control.stop(), &mut |now| {
        // Looked at four times a second: a limit of seconds needs no more.
        let over =
            limit.is_some_and(|limit| u128::from(Clock::now() - started) >= limit.as_nanos());
        if over || group.as_mut().is_some_and(Group::has_ended) {
            control.stop().stop();
        }
        progress(now);
    });
    let ending = Ending { stopped: control.stop().stopped_at(), ..Ending::default() };
    finish(armed, ending, (output, settings), |meta, key| {
        kept::of_target(&target, &place, meta, key)
    })
}

/// A recorded cgroup: it has ended when it is gone or nobody is left in it, as a container's is when
/// the container has ended.
pub(super) struct Group {
    cgroup: Cgroup,
    /// Whether somebody has been in it; an empty one may be waiting for its first process.
    lived: bool,
}

impl Group {
    /// The target's cgroup, if it is one.
    pub(super) fn of(target: &Target) -> Result<Option<Self>, Failure> {
        let Target::Cgroup(folder) = target else { return Ok(None) };
        let cgroup = Cgroup::open(folder).map_err(|error| places::failure(&error))?;
        Ok(Some(Self { cgroup, lived: false }))
    }

    pub(super) fn has_ended(&mut self) -> bool {
        match self.cgroup.members() {
            Ok(members) if members.is_empty() => self.lived,
            Ok(_) => {
                self.lived = true;
                false
            }
            Err(_) => true,
        }
    }
}
