//! The replay: recordings that were kept in `corpus/` go through causes, rules, `why`, the casebook's
//! judgement and reports again, and what comes out is held against what is stored there.
//!
//! ```text
//! corpus/*.tar.zst ──unpack──> rows as recorded ──build──> digest ──> text ──> corpus/said/*.txt
//!                                                            └──> truth of fixtures/*/expected.toml
//! ```
//!
//! Same input, same text: a difference is a change of behaviour. `make bless` stores what is said now;
//! `make corpus` records anew.

mod casebook;
mod damage;
mod hit_rates;
mod pack;
mod phases;
mod programs;
mod raw;
mod snapshot;
mod texts;
mod truth;
mod why;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does something with each item on all CPUs; the results in the order of the items.
fn on_all_cpus<T: Sync, R: Send>(items: &[T], one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, one(item)));
        }
    };
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Where the text of a recording is stored.
fn stored(name: &str) -> PathBuf {
    pack::corpus().join("said").join(format!("{name}.txt"))
}
