//! Work on all cores.

use std::sync::Mutex;

use crate::error::Error;

/// Cores that an import uses.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does pieces of work on all cores; the results are in the order of the work.
///
/// # Errors
/// The first error; the rest of the work is left.
pub(crate) fn parallel<W: Send, R: Send>(
    work: Vec<W>,
    each: impl Fn(W) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    parallel_with(work, cores(), each)
}

/// Does pieces of work on so many threads at most; the results are in the order of the work.
///
/// # Errors
/// The first error; the rest of the work is left.
pub(crate) fn parallel_with<W: Send, R: Send, E: Send>(
    work: Vec<W>,
    threads: usize,
    each: impl Fn(W) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let count = work.len();
    let left = Mutex::new(work.into_iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(count));
    let run = || {
        loop {
            let next = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let Some((at, piece)) = next else { return };
            let result = each(piece);
            let failed = result.is_err();
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
            if failed {
                let mut left = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                left.by_ref().for_each(drop);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
