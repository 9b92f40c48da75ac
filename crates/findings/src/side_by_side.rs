//! Work on several CPUs: what does not need each other's result.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};

/// Two results, each made while the other is; where no thread can be had, one after the other.
pub(crate) fn both<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| match Builder::new().spawn_scoped(scope, &one) {
        Ok(made) => {
            let other = other();
            (joined(made), other)
        }
        Err(_) => (one(), other()),
    })
}

/// `make` of each item, in their order, by as many threads as there are CPUs and can be had.
pub(crate) fn all<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let next = AtomicUsize::new(0);
    let take = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return made };
            made.push((at, make(item)));
        }
    };
    let mut made: Vec<(usize, R)> = thread::scope(|scope| {
        let spawned = (1..threads).map(|_| Builder::new().spawn_scoped(scope, take));
        let others: Vec<_> = spawned.flatten().collect();
        let own = take();
        own.into_iter().chain(others.into_iter().flat_map(joined)).collect()
    });
    made.sort_unstable_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

/// A thread's result; its panic goes on here.
fn joined<R>(thread: ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::{all, both};

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(all(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        assert!(all(&[], |n: &u64| *n).is_empty());
        assert_eq!(both(|| 1, || "two"), (1, "two"));
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_is_not_lost() {
        all(&(0..20).collect::<Vec<u64>>(), |n| assert!(*n != 7, "seven"));
    }
}
