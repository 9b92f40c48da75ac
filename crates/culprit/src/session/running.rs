//! Recording what runs already: processes, a container, a cgroup, the machine.

use std::path::Path;
use std::time::Duration;

use culprit_model::Recording;
use culprit_record::{Ending, Progress, Target, Waiting};

use super::{Control, Settings, failure, finish, plan};
use crate::clock::Moment;
use crate::failure::Failure;

/// Records a running target until it has ended, the limit is over, or a signal came.
///
/// # Errors
/// When it cannot be recorded.
pub(crate) fn run_target(
    (target, place): (Target, String),
    settings: Settings,
    output: &Path,
    limit: Option<Duration>,
    control: &Control,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Recording, Option<String>), Failure> {
    let mut options = settings.options(target, output);
    options.place = place;
    let armed = plan(options)?.arm(Waiting::default()).map_err(|error| failure(&error))?;
    let started = Moment::now();
    armed.run(control.stop(), &mut |now| {
        // Looked at four times a second: a limit of seconds needs no more.
        if limit.is_some_and(|limit| started.elapsed() >= limit) {
            control.stop().stop();
        }
        progress(now);
    });
    finish(armed, Ending::default(), output)
}
