//! Makes up the recordings of a fleet from real ones: `fleet SOURCES... OUT COUNT HOSTS`; or adds them up on
//! one thread and prints what it took: `fleet sum OUT`.
//!
//! Each is a copy as another machine would have made it on another day: other numbers of processes and
//! threads, other addresses, the same functions. The copies of a source weigh what it weighs, so all sums
//! are known: source `i` of `n` occurs `COUNT / n` times, once more for the first `COUNT % n`.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use culprit_engine::calls::{CallTree, Query, select};
use culprit_engine::fleet::Fleet;
use culprit_engine::run_time::RunTime;
use culprit_model::{Filter, Metric, Recording};

/// ns in a day.
const DAY: u64 = 86_400_000_000_000;
/// Days that the recordings are spread over.
const DAYS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let [what, folder] = &words[..]
        && what == "sum"
    {
        return sum(Path::new(folder));
    }
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

/// Adds up the run time of a folder's recordings, as views do.
fn sum(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let began = cpu();
    let filter = Filter { metric: Metric::Run, erase_ids: true, ..Filter::default() };
    let query = Query::compile(&filter)?;
    let mut fleet = Fleet::new(Metric::Run);
    let (mut opened, mut walked) = (Duration::ZERO, Duration::ZERO);
    for path in &files {
        let at = cpu();
        let recording = culprit_recording::open(path)?.recording;
        let opened_at = cpu();
        let run = RunTime::build(&recording, &query);
        walked += cpu().saturating_sub(opened_at);
        opened += opened_at.saturating_sub(at);
        fleet.add(&run.recording, &select(&run.recording, &query), Some("Host x"));
    }
    let total = fleet.total();
    let whole = fleet.finish();
    let tree = CallTree::of(&whole, &query);
    writeln!(
        io::stdout().lock(),
        "{} recordings: {:.1} s CPU (opening {:.1} s, run time {:.1} s), {} stacks, sum {total}, tree {}",
        files.len(),
        cpu().saturating_sub(began).as_secs_f64(),
        opened.as_secs_f64(),
        walked.as_secs_f64(),
        whole.stacks.len(),
        tree.total()
    )?;
    Ok(())
}

/// CPU time of this process.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
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
