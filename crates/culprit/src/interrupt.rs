//! Ctrl-C and its relatives: end what runs, keep what is there.
//!
//! A thread of its own waits for the signals and calls back; nothing happens in a signal handler.
//! What is interrupted has two signals to end in its own way: the third, and any that comes when
//! nobody watches any more, ends this program as if it had never watched.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use culprit_experiment::{Control, Interrupt};
use culprit_place::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::failure::{Context as _, Failure};

/// The signals that ask a program to end.
const ASKING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// After this many signals the next one ends the program at once.
const PATIENCE: u32 = 2;
/// True while a signal has its default effect, although a handler is installed: handlers stay.
static UNWATCHED: AtomicBool = AtomicBool::new(false);

/// Does something that Ctrl-C ends.
///
/// # Errors
/// When the kernel refuses the handler.
pub(crate) fn interruptible<T>(work: impl FnOnce(&Control) -> T) -> Result<T, Failure> {
    let control = Control::new();
    let signalled = control.clone();
    let interrupts = Interrupts::watch(move |interrupt| signalled.interrupt(interrupt))?;
    let done = work(&control);
    drop(interrupts);
    Ok(done)
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
        let what = || "cannot watch for Ctrl-C".to_owned();
        UNWATCHED.store(false, Ordering::SeqCst);
        let mut signals = Signals::new(ASKING).or_refused(what)?;
        for signal in ASKING {
            signal_hook::flag::register_conditional_default(signal, &UNWATCHED).or_refused(what)?;
        }
        let handle = signals.handle();
        let listen = move || {
            for (nth, signal) in (1..).zip(signals.forever()) {
                UNWATCHED.store(nth >= PATIENCE, Ordering::SeqCst);
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
        UNWATCHED.store(true, Ordering::SeqCst);
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
