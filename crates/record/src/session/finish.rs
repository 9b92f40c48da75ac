//! The end of a recording: rows read back, names settled, and which stretch of it is meant.
//!
//! Events were written with stacks as they looked at the time. Now that everything is learnt (what
//! dumps taught about frame-pointer chains, what a JIT called its code) each stack gets its final
//! row, the tables that grew in memory replace their first versions, and nodes that nobody uses any
//! more are dropped.

use culprit_model::{LossKind, MarkKind, Pid, ProcessId, Recording, Stack, StackId, Time};

use crate::error::Error;
use crate::events::worker::Remains;
use crate::probes::unsampled;
use crate::session::plan::Target;
use crate::session::{Armed, Closing, Progress};
use crate::symbolize::modules::{MEMORY_FILE, base_name};
use crate::symbolize::unnamed;

/// How the recorded command ended, as far as the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ending {
    /// The command's own process, where it was not known when the recording was armed (a
    /// container's).
    pub root: Option<Pid>,
    /// Its exit code: 128 + N when signal N ended it.
    pub exit_code: Option<i32>,
    /// When the recording was asked to end ([`crate::StopHandle::stopped_at`]); what happened
    /// afterwards, such as the end of a command that ran for too long, is not meant.
    pub stopped: Option<u64>,
}

/// A finished recording.
#[derive(Debug)]
pub struct Finished {
    /// All tables but the intervals, which the engine builds.
    pub recording: Recording,
    /// What the recording is about: of a command, from its execve to the end of the last of its
    /// processes; of what ran already, to the end of the last one. Before and after lie the
    /// launchers of places, and the time in which the end was noticed.
    pub span: (Time, Time),
    /// Final counts.
    pub stats: Progress,
    /// Why writing stopped early, if it did: what was written until then is in the recording.
    pub stopped_by: Option<culprit_recording::Error>,
    /// The unfinished file, for a note on why it stays unfinished.
    pub spool: culprit_recording::SpoolWriter,
    /// The recorder's events, which are closed beside what is done with this.
    pub closing: Closing,
}

impl Armed {
    /// Ends the recording and reads it back. The file of the recording still holds the unfinished
    /// form; the caller writes the finished one over it.
    ///
    /// # Errors
    /// When a thread of the recorder panicked, or the file cannot be read back.
    pub fn finish(self, ending: Ending) -> Result<Finished, Error> {
        let stats = self.progress();
        let (root, target, toll) = (self.root, self.target.clone(), self.toll);
        let sampler = self.sampler.clone();
        let (mut meta, output, mut remains, closing) = self.halt()?;
        remains.settle();
        if let Some(toll) = toll {
            remains.tell_toll("probes", toll);
        }
        remains.remove_runtime_files(meta.start.realtime);
        let opened = culprit_recording::open(&output)?;
        let mut recording = opened.recording;
        settle_stacks(&mut recording, &remains);
        settle_order(&mut recording);
        recording.processes = remains.handler.tracker.processes().to_vec();
        recording.threads = remains.handler.tracker.threads().to_vec();
        recording.modules = remains.handler.modules.rows().to_vec();
        let is_generated = |module| remains.handler.modules.is_generated(module);
        let unnamed = unnamed::losses(&recording, &is_generated);
        let kept = recording.losses.drain(..).filter(|loss| is_the_files(loss.kind));
        let mut losses = remains.handler.ledger.rows();
        losses.extend(kept);
        losses.extend(unnamed);
        losses.extend(sampler.iter().flat_map(|library| unsampled::losses(&recording, library)));
        losses.extend(remains.failure.as_ref().map(|error| write_failed(&recording, error)));
        recording.losses = losses;
        let pid = root.or(ending.root);
        meta.root_process = pid.and_then(|pid| first_of(&recording, pid));
        if target == Target::Command && meta.root_process.is_none() {
            meta.root_process = first_executed(&recording, &meta.command);
        }
        meta.exit_code = ending.exit_code;
        meta.recorder_memory_bytes += remains.image_bytes() as u64;
        meta.complete = true;
        recording.meta = meta;
        settle_root(&mut recording);
        let span = span(&recording, &target, ending);
        let (stopped_by, spool) = (remains.failure, remains.spool);
        Ok(Finished { recording, span, stats, stopped_by, spool, closing })
    }
}

/// Losses that the file itself tells of; that its recorder has not finished it is no news here.
fn is_the_files(kind: LossKind) -> bool {
    matches!(kind, LossKind::OldestDropped | LossKind::FileDamaged | LossKind::NamesDamaged)
}

fn write_failed(recording: &Recording, error: &culprit_recording::Error) -> culprit_model::Loss {
    let detail = match error {
        culprit_recording::Error::DiskFull { .. } => {
            "the disk was full, so the recording ended early".to_owned()
        }
        other => format!("the recording ended early: {other}"),
    };
    culprit_model::Loss {
        kind: LossKind::DiskFull,
        count: 1,
        from: recording.switches.last().map(|switch| switch.time),
        to: None,
        detail: detail.into(),
    }
}

fn first_of(recording: &Recording, pid: Pid) -> Option<ProcessId> {
    let found = recording.processes.iter().position(|process| process.pid == pid);
    found.map(ProcessId::from_index)
}

/// The process that executed the command, where nobody could tell its number: a container may end
/// before its engine has said. Runtimes that execute copies of themselves before do so from memory.
fn first_executed(recording: &Recording, command: &[String]) -> Option<ProcessId> {
    let executed = || {
        let marks = recording.marks.iter().filter(|mark| mark.kind == MarkKind::Exec);
        marks.filter(|mark| !mark.text.starts_with(MEMORY_FILE))
    };
    let program = command.first().map_or("", |word| base_name(word));
    let by_name = executed().find(|mark| base_name(&mark.text) == program);
    by_name.or_else(|| executed().next()).map(|mark| mark.process)
}

/// The command's span: from its execve to its end.
fn settle_root(recording: &mut Recording) {
    let Some(root) = recording.meta.root_process else { return };
    let executed = recording
        .marks
        .iter()
        .find(|mark| mark.process == root && mark.kind == MarkKind::Exec)
        .map_or(Time::START, |mark| mark.time);
    let process = &mut recording.processes[root.index()];
    process.exit_code = recording.meta.exit_code.map(i64::from);
    let end = process.end.unwrap_or(Time(recording.meta.wall.0));
    recording.meta.command_span = Some((executed, end));
}

/// Puts rows in the order that their tables state: some were told late (see `instants`).
fn settle_order(recording: &mut Recording) {
    recording.switches.sort_by_key(|row| row.time);
    recording.samples.sort_by_key(|row| row.time);
    recording.wakeups.sort_by_key(|row| row.time);
    recording.interpreter_stacks.sort_by_key(|row| row.time);
    recording.marks.sort_by_key(|row| row.time);
    recording.costs.sort_by_key(|row| (row.thread, row.time));
    recording.activity_edges.sort_by_key(|row| row.time);
}

/// What the recording is about.
fn span(recording: &Recording, target: &Target, ending: Ending) -> (Time, Time) {
    let meta = &recording.meta;
    let wall = Time(meta.wall.0);
    let stopped = ending.stopped.map(|at| Time(at.saturating_sub(meta.start.monotonic)));
    let stopped = stopped.map_or(wall, |at| at.min(wall));
    match (target, meta.command_span) {
        (Target::Machine, _) => (Time::START, wall),
        (_, Some((from, end))) => (from, last_end(recording).unwrap_or(end).min(stopped)),
        (_, None) => (Time::START, last_end(recording).unwrap_or(stopped).min(stopped)),
    }
}

/// When the last recorded process ended; none while one lives.
fn last_end(recording: &Recording) -> Option<Time> {
    let mut ends = recording.processes.iter().filter(|row| row.recorded).map(|row| row.end);
    let first = ends.next()?;
    ends.fold(first, |last, end| last.zip(end).map(|(last, end)| last.max(end)))
}

/// Gives every row its final stack and drops the nodes that none needs.
fn settle_stacks(recording: &mut Recording, remains: &Remains) {
    let stacks = remains.resolver.stacks();
    let mut keep = vec![false; stacks.len()];
    for stack in stack_cells(recording) {
        *stack = remains.stack(*stack);
        let mut next = *stack;
        while let Some(node) = next
            && !keep[node.index()]
        {
            keep[node.index()] = true;
            next = stacks[node.index()].parent;
        }
    }
    let (rows, places) = compact(stacks, &keep);
    for stack in stack_cells(recording) {
        *stack = stack.and_then(|stack| places[stack.index()]);
    }
    recording.stacks = rows;
    recording.frames = remains.resolver.frames().to_vec();
}

/// Every cell of the recording that names a stack.
fn stack_cells(recording: &mut Recording) -> impl Iterator<Item = &mut Option<StackId>> {
    let switches = recording.switches.iter_mut().map(|row| &mut row.stack);
    let samples = recording.samples.iter_mut().map(|row| &mut row.stack);
    let wakeups = recording.wakeups.iter_mut().map(|row| &mut row.waker_stack);
    let faults = recording.faults.iter_mut().map(|row| &mut row.stack);
    let costs = recording.costs.iter_mut().map(|row| &mut row.stack);
    let interpreted = recording.interpreter_stacks.iter_mut().map(|row| &mut row.stack);
    switches.chain(samples).chain(wakeups).chain(faults).chain(costs).chain(interpreted)
}

/// The kept nodes, parents still before children, and where each node went.
fn compact(stacks: &[Stack], keep: &[bool]) -> (Vec<Stack>, Vec<Option<StackId>>) {
    let mut rows = Vec::new();
    let mut places = vec![None; stacks.len()];
    for (at, stack) in stacks.iter().enumerate().filter(|(at, _)| keep[*at]) {
        let parent = stack.parent.and_then(|parent| places[parent.index()]);
        places[at] = Some(StackId::from_index(rows.len()));
        rows.push(Stack { parent, frame: stack.frame });
    }
    (rows, places)
}
