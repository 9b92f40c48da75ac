//! The threads that share the work on recordings and configurations.

use std::io;
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, Builder};

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Makes the threads, once: one for each CPU, or fewer where a limit does not allow so many. Where it allows
/// none, the calling thread does the work. To be called before work is shared, and not earlier: a recorder has
/// no use for them.
pub(crate) fn ready() {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        // The pool cannot be made with fewer threads once one of them fails, so it gets threads that exist.
        let mut idle: Vec<_> = (0..cpus).map_while(|_| idle_thread().ok()).collect();
        let pool = ThreadPoolBuilder::new().num_threads(idle.len().max(1));
        let made = if idle.is_empty() {
            pool.use_current_thread().build_global()
        } else {
            let put_to_work = |work| match idle.pop().map(|thread| thread.send(work)) {
                Some(Ok(())) => Ok(()),
                _ => Err(io::ErrorKind::BrokenPipe.into()),
            };
            pool.spawn_handler(put_to_work).build_global()
        };
        // Where this failed, the first to share work says why.
        drop(made);
    });
}

/// A thread that waits for its work in a pool, and ends without.
fn idle_thread() -> io::Result<Sender<ThreadBuilder>> {
    let (give, work) = channel::<ThreadBuilder>();
    let thread = Builder::new().name("culprit-work".to_owned());
    thread.spawn(move || work.recv().map(ThreadBuilder::run))?;
    Ok(give)
}
