//! The threads that answer, and how to stop them.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

use crate::error::Error;

/// Plans are trees that are walked by recursion: a question of a thousand terms must not end the
/// program. Only what is used of it takes memory.
const STACK_BYTES: usize = 64 << 20;

/// Stops a question from another thread, such as one that waits for Ctrl-C.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Stops it, now and for ever.
    pub fn pull(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_pulled(&self) -> bool {
        *self.0.borrow()
    }

    async fn pulled(&self) {
        // The sender is ours, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|pulled| *pulled).await;
    }
}

/// Threads of one question, or of a connection. Dropping the last handle waits for nobody.
#[derive(Debug, Clone)]
pub(crate) struct Threads(Arc<Owned>);

#[derive(Debug)]
struct Owned(Option<Runtime>);

impl Threads {
    /// As many as may run at once.
    pub(crate) fn start(count: usize) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(count.max(1))
            .thread_stack_size(STACK_BYTES)
            .thread_name("culprit-query")
            .enable_all()
            .build();
        runtime.map(|runtime| Self(Arc::new(Owned(Some(runtime))))).map_err(Error::Threads)
    }

    /// Waits for work that is done by the threads, or for the stop.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        stop: &Stop,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let Some(runtime) = &self.0.0 else { return Err(Error::Stopped) };
        let work = runtime.spawn(work);
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = stop.pulled() => Err(Error::Stopped),
                done = work => done.unwrap_or_else(|error| Err(Error::Run { why: error.to_string() })),
            }
        })
    }

    /// Waits for what the threads have sent, or for the stop; none when nothing more comes.
    pub(crate) fn receive<T>(
        &self,
        stop: &Stop,
        from: &mut Receiver<T>,
    ) -> Result<Option<T>, Error> {
        let Some(runtime) = &self.0.0 else { return Err(Error::Stopped) };
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = stop.pulled() => Err(Error::Stopped),
                received = from.recv() => Ok(received),
            }
        })
    }

    /// Lets the threads do something meanwhile.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0.0 {
            runtime.spawn(work);
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
