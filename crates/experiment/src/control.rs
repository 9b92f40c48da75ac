//! What may end a run early: a signal to us, or a limit; and what then happens to the command.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use culprit_place::{Exit, Running, Signal};
use culprit_probe::inside::Clock;
use culprit_record::StopHandle;

/// After the first Ctrl-C a command has this long to end by itself before the recording is ended:
/// programs that clean up want some seconds, people do not wait longer.
const GRACE: Duration = Duration::from_secs(3);
/// A command that was told to end has this long before it is killed.
pub const LAST_GRACE: Duration = Duration::from_secs(2);
/// How often the reasons to end are looked at; the command's own end is noticed at once.
const LOOK: Duration = Duration::from_millis(50);

/// A signal that asks this program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// Which one.
    pub signal: Signal,
    /// How many came, this one included.
    pub nth: u32,
    /// True when the terminal sent it to our whole process group, commands that we run included.
    pub everybody: bool,
}

/// Ends a run from the signal thread. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Control {
    state: Arc<Mutex<State>>,
    stop: StopHandle,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Arc<Running>>,
    /// When the first signal came, ns of the monotonic clock.
    interrupted: Option<u64>,
    now: bool,
}

/// Whether this long has passed since then, ns of the monotonic clock.
fn has_passed(length: Duration, since: u64) -> bool {
    Duration::from_nanos(Clock::now().saturating_sub(since)) >= length
}

impl Control {
    /// Nothing has asked to end anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the recorder is stopped with.
    #[must_use]
    pub fn stop(&self) -> &StopHandle {
        &self.stop
    }

    /// True once a signal asked to end.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.state().interrupted.is_some()
    }

    /// The same signals, for another run: the request to end stays, the run's own end does not.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { state: Arc::clone(&self.state), stop: StopHandle::new() }
    }

    /// A signal came: the first passes it on to the command, which may end in its own way; the
    /// second ends the recording at once.
    pub fn interrupt(&self, interrupt: Interrupt) {
        let mut state = self.state();
        state.interrupted.get_or_insert_with(Clock::now);
        state.now |= interrupt.nth > 1;
        match &state.running {
            Some(running) if !interrupt.everybody => {
                // It may have ended; that is what was wanted.
                let _ = running.signal(interrupt.signal);
            }
            Some(_) => {}
            None => self.stop.stop(),
        }
    }

    /// Waits for the command's end, or for a reason to end the recording before it; then stops the
    /// recording. None when it did not end by itself.
    ///
    /// # Errors
    /// When the command cannot be waited for.
    pub fn watch(
        &self,
        running: &Arc<Running>,
        limit: Option<Duration>,
    ) -> culprit_place::Result<Option<Exit>> {
        self.state().running = Some(Arc::clone(running));
        let started = Clock::now();
        let exit = loop {
            match running.wait_at_most(LOOK) {
                Ok(None) if self.over(started, limit) => break Ok(None),
                Ok(None) => {}
                ended => break ended,
            }
        };
        self.state().running = None;
        self.stop.stop();
        exit
    }

    /// Waits until `ended` says so, a signal came, or the time is over; then stops the recording.
    pub fn wait(&self, limit: Option<Duration>, ended: &dyn Fn() -> bool) {
        let started = Clock::now();
        while !ended() && !self.over(started, limit) && !self.interrupted() {
            std::thread::sleep(LOOK);
        }
        self.stop.stop();
    }

    fn over(&self, started: u64, limit: Option<Duration>) -> bool {
        let state = self.state();
        let grace_is_over = state.interrupted.is_some_and(|at| has_passed(GRACE, at));
        let limit_is_over = limit.is_some_and(|limit| has_passed(limit, started));
        state.now || grace_is_over || limit_is_over || self.stop.is_stopped()
    }
}
