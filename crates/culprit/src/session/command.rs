//! Recording a command from its first instruction to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use culprit_model::Recording;
use culprit_place::{Cgroup, Command, Exit, Pid, Place, Running, procfs};
use culprit_record::{Armed, Ending, Progress, Target, Waiting};

use super::control::LAST_GRACE;
use super::{Control, Settings, failure, finish, plan};
use crate::failure::Failure;
use crate::places;

/// One run of a command.
#[derive(Debug)]
pub(crate) struct CommandRun<'a> {
    /// Where it runs.
    pub(crate) place: &'a dyn Place,
    /// What runs.
    pub(crate) command: &'a Command,
    /// What is recorded: the command, or the machine while it runs.
    pub(crate) target: Target,
    /// How it is recorded.
    pub(crate) settings: &'a Settings,
    /// The recording.
    pub(crate) output: &'a Path,
    /// The run ends after this time, and the command with it.
    pub(crate) limit: Option<Duration>,
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What was recorded, with intervals.
    pub(crate) recording: Recording,
    /// How the command ended.
    pub(crate) exit: Exit,
    /// True when it did not end by itself.
    pub(crate) cut: bool,
    /// Why the file is not whole, if it is not.
    pub(crate) problem: Option<String>,
}

/// Runs and records a command.
///
/// # Errors
/// When the place cannot run it, or it cannot be recorded.
pub(crate) fn run_command(
    run: &CommandRun<'_>,
    control: &Control,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Ran, Failure> {
    let place_failure = |error: culprit_place::Error| places::failure(&error);
    let mut options = run.settings.options(run.target.clone(), run.output);
    options.command =
        run.command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    options.place = run.place.spec().to_string();
    options.place_facts = places::facts(run.place)?;
    let plan = plan(options)?;
    let cgroup = if plan.wants_cgroup() {
        Some(run.place.make_cgroup().map_err(place_failure)?)
    } else {
        None
    };
    let held = run.place.hold(run.command, cgroup.as_ref()).map_err(place_failure)?;
    let waiting = Waiting { pid: held.pid(), cgroup: cgroup.as_ref() };
    let armed = plan.arm(waiting).map_err(|error| failure(&error))?;
    let running = match held.start() {
        Ok(running) => Arc::new(running),
        Err(error) => {
            // Nothing ran, so there is nothing to keep.
            drop(armed.finish(Ending::default()));
            let _ = std::fs::remove_file(run.output);
            return Err(place_failure(error));
        }
    };
    let watched = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| control.watch(&running, run.limit));
        armed.run(control.stop(), progress);
        // The recorder may end by itself, on a full disk; the command is then watched on.
        watcher.join()
    });
    let ended = watched.unwrap_or(Ok(None)).map_err(place_failure)?;
    let root = running.pid();
    let exit = match ended {
        Some(exit) => exit,
        None => {
            let members = || members(run, &running, cgroup.as_ref(), &armed);
            running.end(&members, LAST_GRACE).map_err(place_failure)?
        }
    };
    let stopped = control.stop().stopped_at();
    let ending = Ending { root, exit_code: Some(exit.shell_code()), stopped };
    let (recording, problem) = finish(armed, ending, (run.output, run.settings))?;
    // What the command left running is moved out; a cgroup that resists is swept by the next run.
    drop(cgroup);
    Ok(Ran { recording, exit, cut: ended.is_none(), problem })
}

/// The processes that are the command's, and nobody else's: those in the cgroup that was made for
/// it; those whose births were recorded, where nothing else is recorded; else those that the process
/// table shows below it.
fn members(
    run: &CommandRun<'_>,
    running: &Running,
    cgroup: Option<&Cgroup>,
    armed: &Armed,
) -> Vec<Pid> {
    match cgroup {
        Some(own) if own.is_ours() => own.members().unwrap_or_default(),
        None if run.target == Target::Command => armed.living(),
        _ => running.pid().and_then(|pid| procfs::tree(pid).ok()).unwrap_or_default(),
    }
}
