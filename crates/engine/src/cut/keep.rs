//! Which rows of the tables that others point into stay, and where they went.

use culprit_model::{FrameId, ProcessId, Recording, Stack, StackId, ThreadId};

use super::{Window, activities};

/// New places of old rows; none for a row that is gone.
#[derive(Debug)]
pub(super) struct Kept {
    processes: Vec<Option<ProcessId>>,
    threads: Vec<Option<ThreadId>>,
    stacks: Vec<Option<StackId>>,
    frames: Vec<Option<FrameId>>,
}

/// Numbers the rows that are kept.
fn places<T>(keep: &[bool], handle: impl Fn(usize) -> T) -> Vec<Option<T>> {
    let mut next = 0;
    let place = |keep: &bool| {
        keep.then(|| {
            next += 1;
            handle(next - 1)
        })
    };
    keep.iter().map(place).collect()
}

/// Leaves the rows that have a place.
fn retain<T, P>(rows: &mut Vec<T>, places: &[Option<P>]) {
    let mut places = places.iter();
    rows.retain(|_| places.next().is_some_and(Option::is_some));
}

impl Kept {
    /// Threads and processes that lived in the window, and the stacks that are left with a row.
    pub(super) fn of(recording: &mut Recording, window: Window) -> Self {
        let threads: Vec<bool> =
            recording.threads.iter().map(|row| window.sees(row.start, row.end)).collect();
        let mut processes: Vec<bool> =
            recording.processes.iter().map(|row| window.sees(row.start, row.end)).collect();
        for (thread, _) in recording.threads.iter().zip(&threads).filter(|(_, keep)| **keep) {
            processes[thread.process.index()] = true;
        }
        let mut stacks = vec![false; recording.stacks.len()];
        let mut frames = vec![false; recording.frames.len()];
        for leaf in stack_cells(recording).filter_map(|cell| *cell).collect::<Vec<_>>() {
            let mut next = Some(leaf);
            while let Some(node) = next.filter(|node| !stacks[node.index()]) {
                let Stack { parent, frame } = recording.stacks[node.index()];
                stacks[node.index()] = true;
                frames[frame.index()] = true;
                next = parent;
            }
        }
        Self {
            processes: places(&processes, ProcessId::from_index),
            threads: places(&threads, ThreadId::from_index),
            stacks: places(&stacks, StackId::from_index),
            frames: places(&frames, FrameId::from_index),
        }
    }

    /// Takes the other rows away and lets the rest point to the new places.
    pub(super) fn apply(&self, recording: &mut Recording) {
        retain(&mut recording.processes, &self.processes);
        retain(&mut recording.threads, &self.threads);
        retain(&mut recording.stacks, &self.stacks);
        retain(&mut recording.frames, &self.frames);
        for process in &mut recording.processes {
            process.parent = process.parent.and_then(|id| self.process(id));
        }
        for stack in &mut recording.stacks {
            stack.parent = stack.parent.and_then(|id| self.stacks[id.index()]);
            // A kept node's frame is kept.
            stack.frame = self.frames[stack.frame.index()].unwrap_or(stack.frame);
        }
        for cell in stack_cells(recording) {
            *cell = cell.and_then(|id| self.stacks[id.index()]);
        }
        self.people(recording);
    }

    /// Rows of processes and threads.
    fn people(&self, recording: &mut Recording) {
        recording.meta.root_process = recording.meta.root_process.and_then(|id| self.process(id));
        recording.threads.retain_mut(|row| self.move_process(&mut row.process));
        recording.mappings.retain_mut(|row| self.move_process(&mut row.process));
        recording.counters.retain_mut(|row| match row.process {
            None => true,
            Some(id) => {
                row.process = self.process(id);
                row.process.is_some()
            }
        });
        recording.marks.retain_mut(|row| {
            row.thread = row.thread.and_then(|id| self.thread(id));
            self.move_process(&mut row.process)
        });
        recording.switches.retain_mut(|row| self.move_thread(&mut row.thread));
        recording.samples.retain_mut(|row| self.move_thread(&mut row.thread));
        recording.faults.retain_mut(|row| self.move_thread(&mut row.thread));
        recording.observations.retain_mut(|row| self.move_thread(&mut row.thread));
        recording.interpreter_stacks.retain_mut(|row| self.move_thread(&mut row.thread));
        recording.activity_edges.retain_mut(|row| self.move_thread(&mut row.thread));
        activities::renumber(recording, |id| self.thread(id));
        recording.costs.retain_mut(|row| match row.thread {
            None => true,
            Some(id) => {
                row.thread = self.thread(id);
                row.thread.is_some()
            }
        });
        recording.wakeups.retain_mut(|row| {
            row.waker = row.waker.and_then(|id| self.thread(id));
            self.move_thread(&mut row.thread)
        });
        recording.intervals.retain_mut(|row| {
            row.waker = row.waker.and_then(|id| self.thread(id));
            self.move_thread(&mut row.thread)
        });
    }

    fn process(&self, id: ProcessId) -> Option<ProcessId> {
        self.processes.get(id.index()).copied().flatten()
    }

    fn thread(&self, id: ThreadId) -> Option<ThreadId> {
        self.threads.get(id.index()).copied().flatten()
    }

    /// Puts a handle right; false when its row is gone.
    fn move_process(&self, id: &mut ProcessId) -> bool {
        self.process(*id).inspect(|place| *id = *place).is_some()
    }

    /// As [`Kept::move_process`].
    fn move_thread(&self, id: &mut ThreadId) -> bool {
        self.thread(*id).inspect(|place| *id = *place).is_some()
    }
}

/// Every cell of the recording that names a stack.
fn stack_cells(recording: &mut Recording) -> impl Iterator<Item = &mut Option<StackId>> {
    let switches = recording.switches.iter_mut().map(|row| &mut row.stack);
    let samples = recording.samples.iter_mut().map(|row| &mut row.stack);
    let wakeups = recording.wakeups.iter_mut().map(|row| &mut row.waker_stack);
    let faults = recording.faults.iter_mut().map(|row| &mut row.stack);
    let intervals =
        recording.intervals.iter_mut().flat_map(|row| [&mut row.stack, &mut row.waker_stack]);
    let costs = recording.costs.iter_mut().map(|row| &mut row.stack);
    let interpreted = recording.interpreter_stacks.iter_mut().map(|row| &mut row.stack);
    let samples = samples.chain(costs).chain(interpreted);
    switches.chain(samples).chain(wakeups).chain(faults).chain(intervals)
}
