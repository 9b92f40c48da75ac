//! The threads of a timeline and their intervals, for a page.

use culprit_engine::lanes::Lanes;
use culprit_model::{FrameId, Label as _, Recording, StackId, ThreadId, Time};
use serde::Serialize;

use crate::thread_time::ThreadTime;

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
    /// The last time before the wait's end at which it lived: a thread may end a wait by its own end.
    at: u64,
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
        let end = interval.start + interval.duration;
        let last = Time(end.0.saturating_sub(1));
        let waker = |thread: ThreadId| WakerJson {
            thread: threads.iter().position(|time| time.id == thread),
            at: lanes.last_alive(thread, last).unwrap_or(last).0,
            name: recording.thread_name(thread),
            stack: interval.waker_stack.map(names),
        };
        Self {
            from: interval.start.0,
            to: end.0,
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
    use culprit_model::notation;

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
            assert_eq!(wait["waker"]["at"], 3_999_999);
        }
        let lanes = LaneJson::all(&digest.recording, &digest.threads);
        let lanes = serde_json::to_value(lanes).unwrap();
        assert_eq!((&lanes[0]["row"], &lanes[0]["process"]), (&0.into(), &"app".into()));
    }
}
