//! The files of layers: read on all processors, merged one after the other.
//!
//! ```text
//! thread 1   read 0 | merge 0 | read 2      | wait | merge 2
//! thread 2   read 1           | merge 1     | read 3        | merge 3
//! ```
//!
//! The thread that has read a file also merges it, when the files before it are merged: elements are
//! borrowed from the text, so that they do not move. At most one file a processor is in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use roxmltree::Document;

use super::layers::LayerFile;
use super::patch::Merger;
use crate::folder::{self, Text};
use crate::position::Lines;
use crate::provenance::Source;
use crate::readers::parse_xml;
use crate::sources::Root;

/// The elements of a file, with its lines.
pub(super) type Found<'a, 't> = (&'a Lines<'t>, &'a Document<'t>);

/// Whose turn it is.
struct Turn<'a, 'm> {
    merger: &'a mut Merger<'m>,
    /// The file that is merged next; [`NEVER`] after a panic.
    next: usize,
}

/// No file has this number.
const NEVER: usize = usize::MAX;

/// Lets the other threads end when one panics, instead of waiting for it.
struct EndsAll<'a, 'b, 'm>(&'a Mutex<Turn<'b, 'm>>, &'a Condvar);

impl Drop for EndsAll<'_, '_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).next = NEVER;
            self.1.notify_all();
        }
    }
}

/// Reads files, and merges those that count, in their order.
pub(super) fn merge(merger: &mut Merger<'_>, root: &Root, files: &[LayerFile]) {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let (turn, changed) = (Mutex::new(Turn { merger, next: 0 }), Condvar::new());
    let to_read = AtomicUsize::new(0);
    let work = || {
        let _ends_all = EndsAll(&turn, &changed);
        loop {
            let at = to_read.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { return };
            read(root, file, |source, found| {
                let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let waiting = changed.wait_while(turn, |turn| turn.next < at);
                let mut turn = waiting.unwrap_or_else(PoisonError::into_inner);
                if turn.next == at {
                    turn.merger.file(source, found);
                    turn.next += 1;
                }
            });
            changed.notify_all();
        }
    };
    thread::scope(|scope| {
        for _ in 1..processors.min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
}

/// Reads a file, and hands on its elements if it counts and is not refused.
fn read(root: &Root, file: &LayerFile, then: impl FnOnce(Source, Option<Found<'_, '_>>)) {
    let Text { mut source, text } = folder::text_of(root, &file.path, &file.layer, false);
    if let Some((state, why)) = &file.unread {
        (source.state, source.why) = (*state, why.clone());
    }
    let Some(text) = text.filter(|_| file.unread.is_none()) else { return then(source, None) };
    let lines = Lines::new(&text);
    match parse_xml(&text, &lines) {
        Ok(document) => then(source, Some((&lines, &document))),
        Err(error) => {
            (source.state, source.why) = folder::refused(&error);
            then(source, None)
        }
    }
}
