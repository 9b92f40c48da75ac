//! Prints the functions that a recording's clock samples hit most, by thread: `top FILE [THREAD]`.
//!
//! Reads the unfinished file that the example `record` leaves; the recorder is tuned with it.

use std::collections::BTreeMap;

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: top FILE [THREAD]")?;
    let wanted = arguments.next();
    let recording = culprit_recording::open(file)?.recording;
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for sample in &recording.samples {
        let thread = recording.thread(sample.thread).name.as_str();
        if wanted.as_deref().is_some_and(|wanted| wanted != thread) {
            continue;
        }
        let leaf = sample.stack.and_then(|stack| recording.stack(stack).next());
        let name = leaf.map_or_else(|| "?".to_owned(), |frame| recording.frame_name(frame));
        *counts.entry((thread.to_owned(), name)).or_default() += 1;
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for ((thread, name), count) in rows.into_iter().take(60) {
        println!("{count:7} {thread:16} {name}");
    }
    Ok(())
}
