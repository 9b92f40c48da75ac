//! From a profile to whole spans (`X`) a thread.
//!
//! Neighbouring samples of a thread that share callers are one span of these callers. The format
//! knows time alone: values of other metrics are written as that many nanoseconds, end to end, with
//! the metric's name in `otherData`.

use std::io::{self, Write};

use culprit_model::{Label as _, SelectedRow, Step, ThreadId};
use serde::Serialize;
use serde_json::value::RawValue;

use super::trace::{METRIC, NO_THREAD};
use crate::json::decimal;
use crate::profile::Profile;
use crate::threads::{self, Threads};

#[derive(Serialize)]
struct Span<'a> {
    ph: &'static str,
    name: &'a str,
    cat: &'static str,
    pid: u32,
    tid: u32,
    ts: Box<RawValue>,
    dur: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Source<'a>>,
}

#[derive(Serialize)]
struct Source<'a> {
    filename: &'a str,
    line: Option<u32>,
}

#[derive(Serialize)]
struct Name<'a> {
    ph: &'static str,
    name: &'static str,
    pid: u32,
    tid: u32,
    args: NameArgs<'a>,
}

#[derive(Serialize)]
struct NameArgs<'a> {
    name: &'a str,
}

pub(super) fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let metric = profile.metric.word();
    writeln!(
        out,
        "{{\"otherData\":{{\"{METRIC}\":\"{metric}\",\"culprit\":\"{}\"}},\"displayTimeUnit\":\"ms\",\"traceEvents\":[",
        env!("CARGO_PKG_VERSION")
    )?;
    let mut events = Events { profile, out, pid: 0, tid: 0, first: true };
    for (thread, rows) in Threads::of(profile).iter() {
        events.names(thread)?;
        events.rows(rows)?;
    }
    events.out.write_all(b"\n]}\n")
}

/// The list under way.
struct Events<'a, 'b> {
    profile: &'a Profile<'a>,
    out: &'b mut dyn Write,
    pid: u32,
    tid: u32,
    first: bool,
}

impl<'a> Events<'a, '_> {
    fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        if !std::mem::replace(&mut self.first, false) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }

    /// Names the thread whose rows follow.
    fn names(&mut self, thread: Option<ThreadId>) -> io::Result<()> {
        let recording = self.profile.recording;
        (self.pid, self.tid) = (0, NO_THREAD);
        let Some(thread) = thread.map(|id| recording.thread(id)) else { return Ok(()) };
        let process = recording.process(thread.process);
        (self.pid, self.tid) = (process.pid.0, thread.tid.0);
        for (what, name) in [("process_name", &process.name), ("thread_name", &thread.name)] {
            let args = NameArgs { name };
            self.event(&Name { ph: "M", name: what, pid: self.pid, tid: self.tid, args })?;
        }
        Ok(())
    }

    /// The spans of a thread's rows. A row that starts before the one in front of it has ended
    /// starts at that end.
    fn rows<'r>(&mut self, rows: impl Iterator<Item = &'r SelectedRow>) -> io::Result<()> {
        let mut open: Vec<(&'a Step, u64)> = Vec::new();
        let mut now = 0;
        for row in rows.filter(|row| row.value > 0) {
            let stack = threads::frames(self.profile, row);
            let start = row.time.0.max(now);
            let same = |(open, step): &(&(&'a Step, u64), &&'a Step)| std::ptr::eq(open.0, **step);
            let shared = match start == now {
                true => open.iter().zip(&stack).take_while(same).count(),
                false => 0,
            };
            self.close(&mut open, shared, now)?;
            open.extend(stack[shared..].iter().map(|step| (*step, start)));
            now = start.saturating_add(row.value);
        }
        self.close(&mut open, 0, now)
    }

    /// Ends all but the outermost open spans, outer ones first, as readers expect equal ones.
    fn close(&mut self, open: &mut Vec<(&'a Step, u64)>, left: usize, now: u64) -> io::Result<()> {
        for (step, start) in open.drain(left..) {
            let (file, line) = threads::source(self.profile, step);
            self.event(&Span {
                ph: "X",
                name: &step.name,
                cat: "culprit",
                pid: self.pid,
                tid: self.tid,
                ts: decimal(start, 3)?,
                dur: decimal(now - start, 3)?,
                args: file.map(|filename| Source { filename, line }),
            })?;
        }
        Ok(())
    }
}
