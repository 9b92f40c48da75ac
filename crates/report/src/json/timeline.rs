//! What a page shows of a recording besides its columns: causes with their colours, threads, intervals.

use culprit_engine::lanes::Lanes;
use culprit_model::{Cause, FrameId, Label as _, Recording, StackId, ThreadId};
use serde::Serialize;

use super::ReportDocument;
use crate::digest::ThreadTime;
use crate::palette::{cause_color, group_of};

/// The version of what a page asks the engine and gets.
const FORMAT: u32 = 1;

/// A report, and the causes as columns number them.
#[derive(Debug, Serialize)]
pub struct OverviewDocument<C> {
    #[serde(flatten)]
    report: ReportDocument<C>,
    format: u32,
    causes: Vec<CauseJson>,
}

/// One cause.
#[derive(Debug, Serialize)]
struct CauseJson {
    id: u8,
    word: &'static str,
    state: &'static str,
    colour: &'static str,
}

impl<C> OverviewDocument<C> {
    /// The report with all causes.
    #[must_use]
    pub fn new(report: ReportDocument<C>) -> Self {
        let cause = |cause: &Cause| CauseJson {
            id: cause.code(),
            word: cause.word(),
            state: group_of(*cause),
            colour: cause_color(*cause).hex,
        };
        Self { report, format: FORMAT, causes: Cause::ALL.iter().map(cause).collect() }
    }
}

/// One lane of a timeline.
#[derive(Debug, Serialize)]
pub struct LaneJson {
    /// Its place in the order of lanes.
    row: usize,
    name: String,
    tid: u32,
    process: String,
    pid: u32,
    /// How much of the run was its: what the run waited for of it, or what its waits delayed.
    run_ns: u64,
    wall_ns: u64,
    idle: bool,
}

impl LaneJson {
    /// The lanes of threads, in their order.
    #[must_use]
    pub fn all(recording: &Recording, threads: &[ThreadTime]) -> Vec<Self> {
        let lane = |(row, time): (usize, &ThreadTime)| {
            let thread = recording.thread(time.id);
            let process = recording.process(thread.process);
            Self {
                row,
                name: thread.name.to_string(),
                tid: thread.tid.0,
                process: process.name.to_string(),
                pid: process.pid.0,
                run_ns: time.counted.0,
                wall_ns: time.wall.0,
                idle: time.idle,
            }
        };
        threads.iter().enumerate().map(lane).collect()
    }
}

/// One interval of a thread.
#[derive(Debug, Serialize)]
pub struct IntervalDocument {
    from: u64,
    to: u64,
    cause: u8,
    /// Names, the leaf first.
    stack: Vec<String>,
    waker: Option<WakerJson>,
    /// What it waited for; no recording says so yet.
    object: Option<String>,
}

/// Who ended a wait.
#[derive(Debug, Serialize)]
struct WakerJson {
    /// Its lane; null where that is not shown.
    thread: Option<usize>,
    name: String,
    /// Names, the leaf first; null where wakeups have no stacks.
    stack: Option<Vec<String>>,
}

impl IntervalDocument {
    /// The interval of a row; `threads` are those of the lanes.
    ///
    /// # Panics
    /// Past the last row.
    #[must_use]
    pub fn new(recording: &Recording, lanes: &Lanes, row: usize, threads: &[ThreadTime]) -> Self {
        let interval = &recording.intervals[row];
        let names = |stack: StackId| -> Vec<String> {
            recording.stack(stack).map(|frame: FrameId| recording.frame_name(frame)).collect()
        };
        let waker = |thread: ThreadId| WakerJson {
            thread: threads.iter().position(|time| time.id == thread),
            name: recording.thread_name(thread),
            stack: interval.waker_stack.map(names),
        };
        Self {
            from: interval.start.0,
            to: (interval.start + interval.duration).0,
            cause: lanes.cause(row).code(),
            stack: interval.stack.map(names).unwrap_or_default(),
            waker: interval.waker.map(waker),
            object: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::digest_of;
    use crate::filters::run_filter;
    use crate::testing;
    use culprit_model::{Time, notation};

    #[test]
    fn an_overview_is_the_report_with_the_causes() {
        let digest = digest_of(testing::recording(), &run_filter());
        let report = || ReportDocument::<()>::new(&digest, None);
        let mut with = serde_json::to_value(OverviewDocument::new(report())).unwrap();
        let fields = with.as_object_mut().unwrap();
        let causes = fields.remove("causes").unwrap();
        assert_eq!(fields.remove("format"), Some(1.into()));
        assert_eq!(with, serde_json::to_value(report()).unwrap());
        assert_eq!(causes.as_array().unwrap().len(), Cause::ALL.len());
        assert_eq!(causes[8]["word"], "blocked.lock");
        assert_eq!((&causes[8]["state"], &causes[8]["id"]), (&"blocked".into(), &8.into()));
        assert!(causes[8]["colour"].as_str().unwrap().starts_with('#'));
    }

    #[test]
    fn an_interval_says_who_ended_it() {
        let drawing = "
            stack a cpu.user main;work
            stack l blocked.lock main;[kernel]!futex_do_wait
            app(1)/main(1)    aalla|
            app(1)/worker(2)  aaaaa|
            wake 4 worker > main main;unlock
            root app(1)";
        let recording = notation::parse(drawing).unwrap();
        let lanes = Lanes::of(&recording);
        let digest = digest_of(recording.clone(), &run_filter());
        let of = |time| {
            let row = lanes.row_at(ThreadId(0), Time(time)).unwrap();
            let document = IntervalDocument::new(&recording, &lanes, row, &digest.threads);
            serde_json::to_value(document).unwrap()
        };
        let wait = of(2_500_000);
        assert_eq!(wait["stack"], serde_json::json!(["[kernel]!futex_do_wait", "app!main"]));
        assert_eq!((&wait["from"], &wait["to"]), (&2_000_000.into(), &4_000_000.into()));
        assert_eq!(of(0)["waker"], serde_json::Value::Null);
        if recording.intervals.iter().any(|row| row.waker.is_some()) {
            assert_eq!(wait["waker"]["name"], "worker (2)");
        }
        let lanes = LaneJson::all(&digest.recording, &digest.threads);
        let lanes = serde_json::to_value(lanes).unwrap();
        assert_eq!((&lanes[0]["row"], &lanes[0]["process"]), (&0.into(), &"app".into()));
    }
}
