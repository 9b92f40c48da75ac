//! Ending a command with everything that it has started.
//!
//! A program's children may have left its process group and its session, and outlive it. Whoever
//! recorded them knows them all: by their cgroup, or by the kernel's records of births. Each is sent
//! its signals through a pidfd, after another look at the list, so that a number which was given to
//! somebody else meanwhile is left alone.

use std::time::Duration;

use culprit_model::Pid;

use crate::command::{Exit, Signal};
use crate::error::Result;
use crate::held::LiveProcess;
use crate::spawn::{open_pidfd, send};

/// How often it is looked whether all have ended.
const LOOK: Duration = Duration::from_millis(20);

/// How long killed processes may take to be gone: one in an uninterruptible wait ends with that.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks everybody to end, kills after `grace` who has not, and tells how the command ended.
pub(crate) fn end(
    command: &dyn LiveProcess,
    members: &dyn Fn() -> Vec<Pid>,
    grace: Duration,
) -> Result<Exit> {
    // A stopped process would keep the request for later.
    for signal in [Signal::TERM, Signal::CONT] {
        command.signal(signal)?;
        signal_all(&others(command, members), members, signal);
    }
    if all_ended(command, members, grace, || ())? {
        return wait(command);
    }
    command.signal(Signal::KILL)?;
    // Who forks while it is killed has children that the list did not have.
    let again = || signal_all(&others(command, members), members, Signal::KILL);
    all_ended(command, members, PATIENCE, again)?;
    wait(command)
}

/// Waits until nobody is left, at most so long; does `meanwhile` before each look.
fn all_ended(
    command: &dyn LiveProcess,
    members: &dyn Fn() -> Vec<Pid>,
    limit: Duration,
    meanwhile: impl Fn(),
) -> Result<bool> {
    // Each look takes as long as it says, so counting them is clock enough.
    for _ in 0..=limit.as_millis() / LOOK.as_millis() {
        meanwhile();
        if command.wait_at_most(Some(LOOK))?.is_some() {
            if others(command, members).is_empty() {
                return Ok(true);
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(false)
}

/// The members beside the command's own process, as far as they have not ended.
fn others(command: &dyn LiveProcess, members: &dyn Fn() -> Vec<Pid>) -> Vec<Pid> {
    let lives = |pid: &Pid| {
        crate::procfs::stat(*pid).is_ok_and(|stat| stat.state != crate::procfs::State::Ended)
    };
    members().into_iter().filter(|pid| Some(*pid) != command.pid()).filter(lives).collect()
}

fn signal_all(pids: &[Pid], members: &dyn Fn() -> Vec<Pid>, signal: Signal) {
    let opened: Vec<_> =
        pids.iter().filter_map(|pid| Some((*pid, open_pidfd(*pid).ok()?))).collect();
    let still = members();
    for (pid, pidfd) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
        // One that may not be signalled (it has changed its user) shows in the next look.
        let _shown_later = send(pidfd, *pid, signal);
    }
}

fn wait(command: &dyn LiveProcess) -> Result<Exit> {
    loop {
        if let Some(exit) = command.wait_at_most(None)? {
            return Ok(exit);
        }
    }
}
