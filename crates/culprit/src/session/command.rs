//! Recording a command from its first instruction to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use culprit_experiment::{LAST_GRACE, RecordedCommand};
use culprit_model::{Meta, Rung};
use culprit_place::{Cgroup, Command, Pid, Place, Running, procfs};
use culprit_record::{Armed, Ending, Options, Progress, Target, Waiting};

use super::running::Group;
use super::{Control, Settings, failure, finish, plan, sampler};
use crate::failure::Failure;
use crate::places;
use crate::running::kept::{self, CommandFolder};
use crate::runtimes::RuntimeHelp;

/// One run of a command.
#[derive(Debug)]
pub(crate) struct CommandRun<'a> {
    /// Where it runs.
    pub(crate) place: &'a dyn Place,
    /// What runs.
    pub(crate) command: &'a Command,
    /// What is recorded instead of the command while that runs, and the place of it.
    pub(crate) recorded: Option<(Target, String)>,
    /// How it is recorded.
    pub(crate) settings: &'a Settings,
    /// The recording.
    pub(crate) output: &'a Path,
    /// The run ends after this time, and the command with it.
    pub(crate) limit: Option<Duration>,
}

/// Runs and records a command.
///
/// # Errors
/// When the place cannot run it, or it cannot be recorded.
pub(crate) fn run_command(
    run: &CommandRun<'_>,
    control: &Control,
    progress: &mut dyn FnMut(&Progress),
) -> Result<RecordedCommand, Failure> {
    let place_failure = |error: culprit_place::Error| places::failure(&error);
    let mut options = options(run)?;
    let preloaded = sampler::preload(run.place, run.command, &mut options.extras)?;
    let mut plan = plan(options)?;
    let help = runtime_help(run, plan.rung())?;
    let mut command = with_variables(run.command, &help);
    // Behind the command's own, whose value it has in it.
    command.env.extend(preloaded);
    plan.help_runtimes(help.helped, help.facts);
    let cgroup = if plan.wants_cgroup() {
        Some(run.place.make_cgroup().map_err(place_failure)?)
    } else {
        None
    };
    let held = run.place.hold(&command, cgroup.as_ref()).map_err(place_failure)?;
    let root = held.pid().filter(|_| run.holds_command());
    // Of a short command nothing is left when it has ended.
    let mut folder = held.pid().and_then(CommandFolder::open);
    let waiting = Waiting { pid: root, cgroup: cgroup.as_ref() };
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
    // A container's process is only known now.
    folder = folder.or_else(|| running.pid().and_then(CommandFolder::open));
    let mut group = match &run.recorded {
        Some((target, _)) => Group::of(target)?,
        None => None,
    };
    let watched = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| control.watch(&running, run.limit));
        armed.run(control.stop(), &mut |now| {
            if group.as_mut().is_some_and(Group::has_ended) {
                control.stop().stop();
            }
            progress(now);
        });
        if !run.holds_command() {
            // What was recorded has ended, so the load command has nothing to put load on.
            control.stop().stop();
        }
        // The recorder may end by itself, on a full disk; the command is then watched on.
        watcher.join()
    });
    let ended = watched.unwrap_or(Ok(None)).map_err(place_failure)?;
    let exit = match ended {
        Some(exit) => exit,
        None => {
            let members = || members(run, &running, cgroup.as_ref(), &armed);
            running.end(&members, LAST_GRACE).map_err(place_failure)?
        }
    };
    let stopped = control.stop().stopped_at();
    let exit_code = Some(exit.shell_code()).filter(|_| run.holds_command());
    let root = running.pid().filter(|_| run.holds_command());
    let ending = Ending { root, exit_code, stopped };
    let keep = |meta: &Meta, key| match &run.recorded {
        Some((target, place)) => kept::of_target(target, place, meta, key),
        None => Some(kept::of_command(run.place, &command.env, folder.take(), key)),
    };
    let (recording, problem) = finish(armed, ending, (run.output, run.settings), keep)?;
    // What the command left running is moved out; a cgroup that resists is swept by the next run.
    drop(cgroup);
    Ok(RecordedCommand { recording, exit, cut: ended.is_none(), problem })
}

impl CommandRun<'_> {
    /// Whether the recording is of the command, or has it in it.
    fn holds_command(&self) -> bool {
        self.recorded.as_ref().is_none_or(|(target, _)| *target == Target::Machine)
    }
}

/// What is set for language runtimes. A command that is not recorded itself gets nothing.
fn runtime_help(run: &CommandRun<'_>, rung: Rung) -> Result<RuntimeHelp, Failure> {
    if !run.holds_command() {
        return Ok(RuntimeHelp::default());
    }
    if !run.settings.runtime_help {
        return Ok(RuntimeHelp::off("`--no-runtime-help` was given"));
    }
    if rung == Rung::Polling {
        return Ok(RuntimeHelp::off("this recording has no stacks"));
    }
    let environment = run.place.environment().map_err(|error| places::failure(&error))?;
    let writes_files = run.place.can_write_files().map_err(|error| places::failure(&error))?;
    Ok(RuntimeHelp::new(&environment, writes_files))
}

/// The command with the variables for runtimes before its own.
fn with_variables(command: &Command, help: &RuntimeHelp) -> Command {
    let own = command.env.iter().cloned();
    Command { env: help.variables.iter().cloned().chain(own).collect(), ..command.clone() }
}

/// The recorder's options.
fn options(run: &CommandRun<'_>) -> Result<Options, Failure> {
    let words = run.command.argv.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let (target, place) = match &run.recorded {
        Some((target, place)) => (target.clone(), place.clone()),
        None => (Target::Command, run.place.spec().to_string()),
    };
    let mut options = run.settings.options(target, run.output);
    options.place = place;
    if run.holds_command() {
        options.command = words;
        options.place_facts.extend(places::facts(run.place)?);
    } else {
        // The facts of the place are of the load command's, not of what is recorded.
        options.place_facts.push(("load".to_owned(), words.join(" ")));
    }
    Ok(options)
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
        None if run.recorded.is_none() => armed.living(),
        _ => running.pid().and_then(|pid| procfs::tree(pid).ok()).unwrap_or_default(),
    }
}
