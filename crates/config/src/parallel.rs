//! Work on all processors whose result is the same on any number of them.

use std::cmp::Ordering;
use std::thread;

/// Fewer items than this are not worth a thread: starting one takes as long as 100 of them.
const FEWEST: usize = 10_000;

/// How many items each processor takes of so many.
fn share(count: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    count.div_ceil(processors).max(FEWEST)
}

/// Calls a function with each item and its partner.
pub(crate) fn zip<A: Send, B: Sync>(
    items: &mut [A],
    others: &[B],
    each: impl Fn(&mut A, &B) + Sync,
) {
    let share = share(items.len());
    let parts = items.chunks_mut(share).zip(others.chunks(share));
    let each = &each;
    let work = move |(items, others): (&mut [A], &[B])| {
        items.iter_mut().zip(others).for_each(|(item, other)| each(item, other));
    };
    if parts.len() < 2 {
        parts.for_each(work);
        return;
    }
    thread::scope(|scope| {
        for part in parts {
            scope.spawn(move || work(part));
        }
    });
}

/// Sorts; equal items keep their order.
pub(crate) fn sort_by<T: Send>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering + Sync) {
    let share = share(items.len());
    if items.len() > share {
        let order = &order;
        thread::scope(|scope| {
            for part in items.chunks_mut(share) {
                scope.spawn(move || part.sort_by(order));
            }
        });
    }
    // The parts are runs, which the sort finds and merges.
    items.sort_by(order);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_the_whole() {
        let mut items: Vec<(usize, usize)> = (0..50_000).map(|at| (at * 7_919 % 101, at)).collect();
        let mut sorted = items.clone();
        sorted.sort_by_key(|item| item.0);
        sort_by(&mut items, |a, b| a.0.cmp(&b.0));
        assert_eq!(items, sorted);
        let others: Vec<usize> = (0..items.len()).collect();
        zip(&mut items, &others, |item, other| *item = (*other, *other));
        assert!(items.iter().enumerate().all(|(at, item)| *item == (at, at)));
    }
}
