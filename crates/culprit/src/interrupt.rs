//! Ctrl-C and its relatives: end what runs, keep what is there.
//!
//! A thread of its own waits for the signals and calls back; nothing happens in a signal handler.

use std::io;
use std::thread::JoinHandle;

use culprit_place::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::failure::{Context as _, Failure};

/// A signal that asks this program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupt {
    /// Which one.
    pub(crate) signal: Signal,
    /// How many came, this one included.
    pub(crate) nth: u32,
    /// True when the terminal sent it to our whole process group, commands that we run included.
    pub(crate) everybody: bool,
}

/// Watches for the signals until it is dropped.
#[derive(Debug)]
pub(crate) struct Interrupts {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Interrupts {
    /// Calls `on` for each signal that asks this program to end.
    ///
    /// # Errors
    /// When the kernel refuses the handler.
    pub(crate) fn watch(mut on: impl FnMut(Interrupt) + Send + 'static) -> Result<Self, Failure> {
        let what = || "watch for Ctrl-C".to_owned();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).or_refused(what)?;
        let handle = signals.handle();
        let listen = move || {
            for (nth, signal) in (1..).zip(signals.forever()) {
                let everybody = signal == SIGINT && in_foreground();
                on(Interrupt { signal: Signal(signal), nth, everybody });
            }
        };
        let thread = std::thread::Builder::new().name("culprit-signals".to_owned());
        let thread = thread.spawn(listen).or_refused(what)?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; there is nothing left to interrupt.
            let _ = thread.join();
        }
    }
}

/// Whether our process group is the one that the terminal sends Ctrl-C to.
fn in_foreground() -> bool {
    let group = rustix::termios::tcgetpgrp(io::stdin())
        .or_else(|_| rustix::termios::tcgetpgrp(io::stderr()));
    group.is_ok_and(|group| group == rustix::process::getpgrp())
}
