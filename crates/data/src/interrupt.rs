//! Ctrl-C and its relatives: the first stops the work, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Calls `stop` at the first signal that asks the program to end.
///
/// # Errors
/// When the kernel refuses the handler or the thread.
pub(crate) fn watch(stop: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let refused =
        |error: std::io::Error| Failure::refused(format!("cannot watch for Ctrl-C: {error}"));
    let asking = [SIGINT, SIGTERM, SIGHUP];
    let mut signals = Signals::new(asking).map_err(refused)?;
    let again = Arc::new(AtomicBool::new(false));
    for signal in asking {
        // In this order: the first signal finds the flag unset and sets it.
        signal_hook::flag::register_conditional_default(signal, again.clone()).map_err(refused)?;
        signal_hook::flag::register(signal, again.clone()).map_err(refused)?;
    }
    let listen = move || {
        if signals.forever().next().is_some() {
            stop();
        }
    };
    std::thread::Builder::new()
        .name("culprit-signals".to_owned())
        .spawn(listen)
        .map_err(refused)?;
    Ok(())
}
