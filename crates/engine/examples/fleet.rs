//! Makes up the recordings of a fleet from real ones: `fleet SOURCES... OUT COUNT HOSTS`.
//!
//! Each is a copy as another machine would have made it on another day: other numbers of processes and
//! threads, other addresses, the same functions. The copies of a source weigh what it weighs, so all sums
//! are known: source `i` of `n` occurs `COUNT / n` times, once more for the first `COUNT % n`.

use std::error::Error;
use std::path::{Path, PathBuf};

use culprit_model::Recording;

/// ns in a day.
const DAY: u64 = 86_400_000_000_000;
/// Days that the recordings are spread over.
const DAYS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let (Some(hosts), Some(count), Some(out)) = (words.pop(), words.pop(), words.pop()) else {
        return Err("usage: fleet SOURCES... OUT COUNT HOSTS".into());
    };
    let (hosts, count): (usize, usize) = (hosts.parse()?, count.parse()?);
    std::fs::create_dir_all(&out)?;
    let sources: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();
    for (at, source) in sources.iter().enumerate() {
        let mut recording = culprit_recording::open(source)?.recording;
        if recording.intervals.is_empty() {
            culprit_engine::threads::build(&mut recording);
        }
        for number in (at..count).step_by(sources.len()) {
            let path = Path::new(&out).join(format!("run-{number:05}.culprit"));
            culprit_recording::write(&path, &copy(&recording, number, number % hosts))?;
        }
    }
    Ok(())
}

fn copy(source: &Recording, number: usize, host: usize) -> Recording {
    let mut recording = source.clone();
    let meta = &mut recording.meta;
    meta.place_facts.retain(|(name, _)| name != "host.name");
    meta.place_facts.push(("host.name".to_owned(), format!("web-{host}")));
    meta.place_facts.push(("label.version".to_owned(), format!("1.{}", number % 3)));
    meta.start.realtime += (number % DAYS) as u64 * DAY;
    let shift = u32::try_from(number).unwrap_or(0) * 7;
    recording.processes.iter_mut().for_each(|process| process.pid.0 += shift);
    recording.threads.iter_mut().for_each(|thread| thread.tid.0 += shift);
    for frame in &mut recording.frames {
        frame.address = frame.address.map(|address| address.wrapping_add(u64::from(shift) << 12));
    }
    recording
}
