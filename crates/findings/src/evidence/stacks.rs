//! What each stack tells, decided once per stack.
//!
//! Stacks are a prefix tree, so one walk from parents to children decides all of them: a node has
//! what its parent has and what its own frame adds. An exception or interrupt inside the kernel
//! begins a new story: what the system call below it was doing says nothing about the wait above.

use culprit_engine::names::{Families, Family};
use culprit_model::{FrameId, ModuleId, Recording, StackId};

use super::known::{Known, KnownFrames};

/// How a lock-like wait was entered, by the library functions on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitKind {
    /// For exclusive or shared access that another thread holds.
    Mutex,
    /// For a condition that another thread makes true.
    Condition,
    /// For another thread's end.
    Join,
    /// For a semaphore, of which some build locks and some queues.
    Semaphore,
    /// Until another thread says that it may go on: what locks, queues and futures of some runtimes
    /// are built of.
    Park,
}

/// What one stack tells.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    families: Families,
    wait: Option<WaitKind>,
    /// Innermost user frame that is no wrapper.
    focus: Option<FrameId>,
    /// Innermost user frame of any kind.
    user: Option<FrameId>,
    /// Innermost user frame that is no library code inlined into its caller.
    code: Option<FrameId>,
    /// The kernel frame at which the innermost system call or exception was entered.
    entry: Option<FrameId>,
    /// True when that is still the common way in of all system calls.
    gate: bool,
    /// Number of user frames.
    depth: u32,
    /// Innermost loop of an interpreter.
    looping: Option<FrameId>,
    /// The module of an interpreter's loop that called nothing named since.
    interpreter: Option<ModuleId>,
}

/// What one frame tells by itself.
#[derive(Debug, Clone, Copy)]
struct FrameTold {
    families: Families,
    kernel: bool,
    inlined: bool,
    module: Option<ModuleId>,
    unnamed: bool,
}

/// What every stack of a recording tells.
#[derive(Debug)]
pub(crate) struct Stacks {
    told: Vec<Told>,
}

/// Whether a stack has a frame that is `wanted`; one entry a stack.
pub(crate) fn with_any(recording: &Recording, wanted: impl Fn(FrameId) -> bool) -> Vec<bool> {
    let frames: Vec<bool> =
        (0..recording.frames.len()).map(|at| wanted(FrameId::from_index(at))).collect();
    let mut stacks = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        // Callers stand before what they call.
        let inherited = node.parent.and_then(|p| stacks.get(p.index()).copied()).unwrap_or(false);
        stacks.push(inherited || frames[node.frame.index()]);
    }
    stacks
}

impl Stacks {
    /// Decides every stack; linear in frames and stacks.
    pub(crate) fn of(recording: &Recording, known: &KnownFrames) -> Self {
        let ids = (0..recording.frames.len()).map(FrameId::from_index);
        let frames: Vec<_> = ids.map(|id| frame_told(recording, known.get(id), id)).collect();
        let mut told: Vec<Told> = Vec::with_capacity(recording.stacks.len());
        for node in &recording.stacks {
            let parent = node.parent.and_then(|p| told.get(p.index())).copied().unwrap_or_default();
            told.push(step(parent, node.frame, frames[node.frame.index()]));
        }
        Self { told }
    }

    fn told(&self, stack: Option<StackId>) -> Told {
        stack.and_then(|s| self.told.get(s.index())).copied().unwrap_or_default()
    }

    /// True when the stack is inside a function of the family.
    pub(crate) fn in_family(&self, stack: Option<StackId>, family: Family) -> bool {
        self.told(stack).families.has(family)
    }

    /// How a lock-like wait was entered, where library functions tell.
    pub(crate) fn wait_kind(&self, stack: Option<StackId>) -> Option<WaitKind> {
        self.told(stack).wait
    }

    /// The function to look at for a wait: the innermost user function that is no wrapper of a
    /// system call, else the innermost of any kind.
    pub(crate) fn focus(&self, stack: Option<StackId>) -> Option<FrameId> {
        let told = self.told(stack);
        told.focus.or(told.user).or(told.entry)
    }

    /// The innermost user function that is no wrapper of a system call; none where only those are
    /// known.
    pub(crate) fn own_focus(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told(stack).focus
    }

    /// The kernel function at which the innermost system call or exception was entered.
    pub(crate) fn entry(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told(stack).entry
    }

    /// The innermost frame outside the kernel.
    pub(crate) fn user(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told(stack).user
    }

    /// The function whose code was on the CPU: the innermost user function, a library's inlined
    /// helpers counted as their caller's.
    pub(crate) fn code(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told(stack).code
    }

    /// True when the stack ends where system calls enter and leave the kernel.
    pub(crate) fn at_gate(&self, stack: Option<StackId>) -> bool {
        self.told(stack).gate
    }

    /// True when the stack is inside a system call that gives data to somebody: a wait there is for
    /// room, not for input.
    pub(crate) fn writes(&self, stack: Option<StackId>) -> bool {
        self.in_family(stack, Family::Sends)
    }

    /// The innermost loop of an interpreter that runs the program's code.
    pub(crate) fn interpreter(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told(stack).looping
    }

    /// How many user frames the stack has.
    pub(crate) fn user_depth(&self, stack: Option<StackId>) -> u32 {
        self.told(stack).depth
    }
}

fn frame_told(recording: &Recording, known: Known, id: FrameId) -> FrameTold {
    let frame = recording.frame(id);
    let families = known.families;
    // An unnamed frame is nothing to look at while a named one is near.
    let unnamed = frame.function.as_str() == "?";
    let families = if unnamed { families.with(Families::of(Family::Wrapper)) } else { families };
    FrameTold {
        families,
        kernel: known.kernel,
        inlined: frame.inlined,
        module: frame.module,
        unnamed,
    }
}

/// What a stack tells when `frame` is called from a stack that told `parent`.
fn step(parent: Told, frame: FrameId, own: FrameTold) -> Told {
    if own.kernel {
        // All system calls come in through the same few functions; the one after them is the call.
        let behind = parent.entry.is_none() || parent.gate;
        // An interrupt's time is that of the call or fault that it comes into: a request's start ends in
        // one where the disk answers at once, and where a call holds interrupts off the clock looks only
        // when it lets them in again.
        if !behind && own.families.has(Family::Interrupt) {
            return parent;
        }
        // What is below an exception is another story.
        let boundary = own.families.has(Family::Boundary);
        let inherited = if boundary { user_part(parent.families) } else { parent.families };
        let enters = boundary || behind;
        return Told {
            families: inherited.with(own.families),
            entry: if enters { Some(frame) } else { parent.entry },
            gate: enters && own.families.has(Family::Gate),
            ..parent
        };
    }
    let wait = [
        (Family::Mutex, WaitKind::Mutex),
        (Family::Condition, WaitKind::Condition),
        (Family::Join, WaitKind::Join),
        (Family::Semaphore, WaitKind::Semaphore),
        (Family::Park, WaitKind::Park),
    ]
    .into_iter()
    .find(|(family, _)| own.families.has(*family))
    .map(|(_, kind)| kind);
    let wrapper = own.families.has(Family::Wrapper);
    let plumbing = own.families.has(Family::Plumbing);
    // Of itself such a loop waits for nothing but its lock; distributions strip the names between.
    let wait = match wait {
        Some(WaitKind::Condition) if parent.interpreter.is_some() => Some(WaitKind::Mutex),
        other => other,
    };
    let stays = |module: &ModuleId| own.unnamed && own.module == Some(*module);
    let (looping, interpreter) = match own.families.has(Family::Interpreter) {
        true => (Some(frame), own.module),
        false => (parent.looping, parent.interpreter.filter(stays)),
    };
    Told {
        families: user_part(parent.families).with(own.families),
        wait: if wrapper || plumbing { joined(parent.wait, wait) } else { None },
        focus: if wrapper { parent.focus } else { Some(frame) },
        user: Some(frame),
        code: if wrapper && own.inlined { parent.code } else { Some(frame) },
        entry: None,
        gate: false,
        depth: parent.depth + 1,
        looping,
        interpreter,
    }
}

/// How a wait was entered when a library function of kind `outer` called one of kind `inner`. A
/// mutex on either side makes it one: an interpreter waits for its lock in a condition variable,
/// and a condition variable takes its mutex again. A runtime parks a thread in a condition variable,
/// and builds its own queues and futures of parking; an interpreter joins a thread by a semaphore. Once the
/// program's own code runs again, nothing further out counts.
fn joined(outer: Option<WaitKind>, inner: Option<WaitKind>) -> Option<WaitKind> {
    match (outer, inner) {
        (Some(WaitKind::Mutex | WaitKind::Park | WaitKind::Join), _) => outer,
        (Some(_), Some(WaitKind::Park) | None) => outer,
        _ => inner,
    }
}

/// The families that a stack keeps across an exception or a call back into user code: being
/// inside the linker, the resolver, a library's connect or receive, a scheduler's idle part, the program itself,
/// a pause, the begin of a program, the start of a thread, the import of a module, an event loop's callback, the slow way through a lock
/// or the look for the time zone is true for everything below it.
fn user_part(families: Families) -> Families {
    const KEPT: Families = Families::of(Family::Link)
        .with(Families::of(Family::TimeZone))
        .with(Families::of(Family::Resolver))
        .with(Families::of(Family::Connect))
        .with(Families::of(Family::Scheduler))
        .with(Families::of(Family::Launched))
        .with(Families::of(Family::Pause))
        .with(Families::of(Family::Receives))
        .with(Families::of(Family::StartsThread))
        .with(Families::of(Family::Start))
        .with(Families::of(Family::Imports))
        .with(Families::of(Family::EventCallback))
        .with(Families::of(Family::TaskLock));
    families.and(KEPT)
}
