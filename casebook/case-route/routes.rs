//! Threads that look up the handlers of paths, in which case does not count.
//!
//! - `fold`: each path is folded before it is looked up.
//! - `exact`: the path is looked up as it was written; one that is not known yet is folded, and its
//!   spelling remembered.
//!
//! Usage: routes fold|exact LOOKUPS
use std::collections::HashMap;

type Handler = usize;

struct Routes {
    folded: HashMap<String, Handler>,
}

impl Routes {
    #[inline(never)]
    fn route(&self, path: &str) -> Option<Handler> {
        self.folded.get(path.to_lowercase().as_str()).copied()
    }
}

/// What one thread has learnt about spellings.
struct Learnt<'a> {
    routes: &'a Routes,
    spelled: HashMap<String, Handler>,
}

impl Learnt<'_> {
    #[inline(never)]
    fn find(&mut self, path: &str) -> Option<Handler> {
        if let Some(handler) = self.spelled.get(path) {
            return Some(*handler);
        }
        let handler = self.routes.route(path)?;
        self.spelled.insert(path.to_owned(), handler);
        Some(handler)
    }
}

fn serve(routes: &Routes, exact: bool, lookups: usize) -> usize {
    let paths: Vec<String> = (0..50)
        .map(|n| format!("/Databases/Northwind/Collections/Orders/Statistics/Überblick-{n}"))
        .collect();
    let mut learnt = Learnt { routes, spelled: HashMap::new() };
    let mut sum = 0;
    for n in 0..lookups {
        let path = &paths[n % paths.len()];
        let found = if exact { learnt.find(path) } else { routes.route(path) };
        sum += found.expect("a handler");
    }
    sum
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let exact = words[1] == "exact";
    let lookups: usize = words[2].parse().expect("a number");
    let folded = (0..50)
        .map(|n| (format!("/databases/northwind/collections/orders/statistics/überblick-{n}"), n))
        .collect();
    let routes = Routes { folded };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(32));
    let sum: usize = std::thread::scope(|scope| {
        let serving = || serve(&routes, exact, lookups / threads);
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(serving)).collect();
        started.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    });
    println!("{lookups} look-ups by {threads} threads, check {sum}");
}
