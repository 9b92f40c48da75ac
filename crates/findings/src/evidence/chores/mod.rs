//! Chores: work that libraries and language runtimes do for a program, known by their own names.
//!
//! ```text
//! main > load > strptime > __strptime_internal > strtol      parses dates, called by load
//! main > load > Regex::new > malloc > brk                    compiles an expression
//! ```
//!
//! Whatever runs below a function of a chore belongs to it: its cost is inclusive. Where chores are
//! nested, the one that says more about the purpose takes the time ([`Chore::rank`]), and between
//! equals the outermost, because it is the one that the program asked for: allocating inside a
//! regular expression's compiler is compiling, copying inside a growing vector is growing, a
//! number in a JSON text is JSON, but a date in it is a date. A system call ends a chore (what
//! `printf` writes is no formatting), except that memory comes from the kernel. An exception that a
//! library throws is a chore of its own: its way up through the frames costs more than all that the
//! library did before.
//!
//! The names are data: [`culprit_engine::names`].

mod words;

use std::collections::BTreeMap;

use culprit_engine::names::{Families, Family, plain};
use culprit_engine::own::CodeOrigin;
use culprit_model::{FrameId, Interval, ModuleId, Nanos, Recording, StackId};

use super::chain::{Chain, SegmentId};
use super::known::{Known, KnownFrames};
use culprit_engine::names::is_compiled_at_run_time;
use words::worded;

/// What library code works at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chore {
    /// Dates and times from and to text or calendar fields.
    Dates,
    /// Case conversion, comparison without case, collation.
    Cases,
    /// Compiling regular expressions.
    Regex,
    /// JSON, XML, base64, object serialisation, character encodings.
    Serialize,
    /// Numbers and formatted text.
    Numbers,
    /// Enlarging containers: reallocation, rehashing.
    Growth,
    /// Looking up in hash tables and trees.
    Hash,
    /// Allocating and freeing memory.
    Allocate,
    /// Copying memory, joining strings.
    Copy,
    /// Collecting garbage.
    Collect,
    /// Making code ready to run: compiling it, loading classes, modules and assemblies.
    Generate,
    /// Throwing exceptions, and writing down the stack that they were thrown on.
    Throw,
}

impl Chore {
    /// How much it says about the purpose: the higher one takes nested time.
    const fn rank(self) -> u8 {
        match self {
            // Nothing that a program asks for: the runtime's own.
            Self::Collect => 6,
            Self::Generate | Self::Throw => 5,
            // Names one avoidable habit.
            Self::Dates | Self::Cases | Self::Regex => 4,
            // Names the kind of data.
            Self::Serialize | Self::Numbers => 3,
            // Part of what tables and allocators do, and the part that a hint avoids.
            Self::Growth => 2,
            Self::Hash | Self::Allocate => 1,
            // What every other chore also does.
            Self::Copy => 0,
        }
    }
}

/// The chore that one stack is in.
#[derive(Debug, Clone, Copy)]
struct Doing {
    chore: Chore,
    /// The library's function that the chore was entered by.
    entry: FrameId,
    /// The application's function that called it; none where only library code is above.
    caller: Option<FrameId>,
}

/// What one stack tells.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    doing: Option<Doing>,
    /// The innermost frame of the application.
    application: Option<FrameId>,
    /// The function whose work it is.
    owner: Option<Owner>,
    /// In the kernel: whether a system call entered it, not a fault or an interrupt.
    in_call: Option<bool>,
    /// True below an interpreter's own code.
    interpreted: bool,
    /// True in a library's sorting, and not in what compares for it.
    sorting: bool,
    /// True in a thread of the runtime's own, not of the program's.
    worker: bool,
}

/// The function whose work a stack is.
#[derive(Debug, Clone, Copy)]
struct Owner {
    frame: FrameId,
    /// True for a function of the application: what libraries do for it is its own.
    application: bool,
}

/// What one frame tells by itself.
#[derive(Debug, Clone, Copy, Default)]
struct FrameTold {
    chore: Option<Chore>,
    /// Of a function of the application, by the words in its name.
    worded: Option<Chore>,
    module: Option<ModuleId>,
    named: bool,
    /// In a module of libraries and runtimes.
    stock: bool,
    shared: bool,
    generated: bool,
    kernel: bool,
    library: bool,
    interpreter: bool,
    /// By its name and module.
    families: Families,
}

/// What library code every stack of a recording is in.
#[derive(Debug)]
pub(crate) struct Chores {
    told: Vec<Told>,
    frames: Vec<FrameTold>,
}

/// The chain's time on a CPU by chore, summed once for all rules.
#[derive(Debug, Default)]
pub(crate) struct ChoreTime {
    /// All time on a CPU.
    pub(crate) cpu: Nanos,
    /// The segments in each chore, in order.
    pub(crate) segments: BTreeMap<Chore, Vec<SegmentId>>,
    /// Those that by the words in its name are a function's of the application, and in no library's
    /// chore that says as much.
    pub(crate) worded: BTreeMap<Chore, Vec<SegmentId>>,
}

impl ChoreTime {
    /// Sums a chain; linear in segments.
    pub(crate) fn of(chain: &Chain, intervals: &[Interval], chores: &Chores) -> Self {
        let mut time = Self::default();
        for (id, segment) in chain.iter() {
            let interval = &intervals[segment.interval.index()];
            if interval.cause.is_cpu() {
                time.cpu += segment.length;
                let chore = chores.chore(interval.stack);
                if let Some(chore) = chore {
                    time.segments.entry(chore).or_default().push(id);
                }
                let more = |own: &Chore| chore.is_none_or(|of| of.rank() < own.rank());
                if let Some(worded) = chores.worded(interval.stack).filter(more) {
                    time.worded.entry(worded).or_default().push(id);
                }
            }
        }
        time
    }
}

impl Chores {
    /// Decides every stack; linear in frames and stacks.
    pub(crate) fn of(recording: &Recording, known: &KnownFrames) -> Self {
        let ids = (0..recording.frames.len()).map(FrameId::from_index);
        let frames: Vec<_> = ids.map(|id| frame_told(recording, known.get(id), id)).collect();
        let mut told: Vec<Told> = Vec::with_capacity(recording.stacks.len());
        for node in &recording.stacks {
            let parent = node.parent.and_then(|p| told.get(p.index())).copied().unwrap_or_default();
            let own = frames[node.frame.index()];
            let owner = if own.kernel { parent.owner } else { owner(&frames, parent, node.frame) };
            told.push(Told { owner, ..step(parent, node.frame, own) });
        }
        Self { told, frames }
    }

    fn frame(&self, frame: FrameId) -> FrameTold {
        self.frames.get(frame.index()).copied().unwrap_or_default()
    }

    /// True for a function of the kernel.
    pub(crate) fn is_kernel(&self, frame: FrameId) -> bool {
        self.frame(frame).kernel
    }

    /// True for code that is not the application's.
    pub(crate) fn is_library(&self, frame: FrameId) -> bool {
        let told = self.frame(frame);
        told.library || told.chore.is_some() || told.kernel
    }

    /// True for a function of a managed runtime, by which it runs whatever a program consists of.
    pub(crate) fn is_runtime(&self, frame: FrameId) -> bool {
        self.frame(frame).families.has(Family::Runtime)
    }

    /// True for code that a runtime generated.
    pub(crate) fn is_generated(&self, frame: FrameId) -> bool {
        self.frame(frame).generated
    }

    fn doing(&self, stack: Option<StackId>) -> Option<Doing> {
        let told = self.told.get(stack?.index())?;
        // Memory and files to load come from the kernel; whatever else enters it does something of its
        // own.
        let asks = |d: &Doing| {
            matches!(d.chore, Chore::Allocate | Chore::Growth | Chore::Collect | Chore::Generate)
        };
        told.doing.filter(|d| told.in_call != Some(true) || asks(d))
    }

    /// The chore that a stack is in.
    pub(crate) fn chore(&self, stack: Option<StackId>) -> Option<Chore> {
        self.doing(stack).map(|d| d.chore)
    }

    /// The library's function that the stack's chore was entered by.
    pub(crate) fn entry(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.doing(stack).map(|d| d.entry)
    }

    /// True for a stack that an interpreter's own code is in.
    pub(crate) fn is_interpreted(&self, stack: Option<StackId>) -> bool {
        stack.and_then(|s| self.told.get(s.index())).is_some_and(|t| t.interpreted)
    }

    /// True for a stack of a runtime's own thread, which works beside the program's.
    pub(crate) fn is_worker(&self, stack: Option<StackId>) -> bool {
        stack.and_then(|s| self.told.get(s.index())).is_some_and(|t| t.worker)
    }

    /// The innermost function of the application, whether or not a stack is in a chore.
    pub(crate) fn application(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told.get(stack?.index())?.application
    }

    /// The function whose work a stack is: the innermost one of the application with what libraries do
    /// for it; without one, the library's; none where code without a name runs, or where a runtime
    /// runs what has none.
    pub(crate) fn owner(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told.get(stack?.index())?.owner.map(|owner| owner.frame)
    }

    /// The chore that the name of the stack's owner tells by its words.
    fn worded(&self, stack: Option<StackId>) -> Option<Chore> {
        self.owner(stack).and_then(|frame| self.frame(frame).worded)
    }

    /// True for a function of the application that has a name.
    pub(crate) fn is_application(&self, frame: FrameId) -> bool {
        let told = self.frame(frame);
        told.named && !told.families.has(Family::Plumbing) && !self.is_library(frame)
    }

    /// True for a function with a name of a package that the application uses: neither a runtime's nor the
    /// system's, nor one that every program calls.
    pub(crate) fn is_package(&self, frame: FrameId) -> bool {
        let told = self.frame(frame);
        let other = [Family::Runtime, Family::Plumbing, Family::Wrapper];
        let of_system =
            told.kernel || told.stock || other.into_iter().any(|family| told.families.has(family));
        told.named && told.library && !of_system && told.chore.is_none()
    }

    /// The application's function that called for the chore, else the library's.
    pub(crate) fn caller(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.doing(stack).map(|d| d.caller.unwrap_or(d.entry))
    }
}

/// Whose work it is when `frame`, outside the kernel, is called from a stack that told `parent`.
fn owner(frames: &[FrameTold], parent: Told, frame: FrameId) -> Option<Owner> {
    let own = frames[frame.index()];
    let above = parent.owner;
    let of_above = |wanted: fn(&FrameTold) -> bool| {
        above.filter(|owner| owner.application && wanted(&frames[owner.frame.index()]))
    };
    if own.families.has(Family::Plumbing) {
        // Generated code has a name only where the runtime gave it one; other callers do not know
        // what the runtime runs for them.
        return of_above(|caller| caller.generated);
    }
    if !own.named {
        // The inside of a library is what its caller asked for.
        let same = above.filter(|owner| frames[owner.frame.index()].module == own.module);
        let inside = if own.stock { of_above(|_| true).or(same) } else { None };
        return inside.or_else(|| same.filter(|_| own.shared));
    }
    if own.library || own.families.has(Family::Wrapper) || own.chore.is_some() {
        return of_above(|_| true).or(Some(Owner { frame, application: false }));
    }
    Some(Owner { frame, application: true })
}

/// What a stack tells when `frame` is called from a stack that told `parent`.
fn step(parent: Told, frame: FrameId, own: FrameTold) -> Told {
    if own.kernel {
        // Faults and interrupts are part of what they interrupt; system calls are not.
        let in_call = parent.in_call.or(Some(!own.families.has(Family::Boundary)));
        // A recorder's probe stopped the program here: nothing that the library does.
        let doing = parent.doing.filter(|_| !own.families.has(Family::Trap));
        return Told { doing, in_call, ..parent };
    }
    let calls_back = |d: &Doing| own.families.has(Family::CallsBack) && d.chore == Chore::Generate;
    let parent_doing = parent.doing.filter(|d| !calls_back(d));
    let more = |chore: Chore| parent_doing.is_none_or(|d| chore.rank() > d.chore.rank());
    let sorting =
        own.families.has(Family::Sorts) || parent.sorting && (own.library || own.chore.is_some());
    let moved = |c: Chore| sorting && c == Chore::Copy;
    let doing = match own.chore.filter(|c| more(*c) && !moved(*c)) {
        Some(chore) => Some(Doing { chore, entry: frame, caller: parent.application }),
        None => parent_doing,
    };
    let application =
        if own.library || own.chore.is_some() { parent.application } else { Some(frame) };
    let interpreted = parent.interpreted || own.interpreter;
    let worker = parent.worker || own.families.has(Family::RuntimeWorker);
    Told { doing, application, in_call: None, interpreted, sorting, worker, ..parent }
}

/// Chores by the family of their functions.
const CHORES: [(Family, Chore); 12] = [
    (Family::Dates, Chore::Dates),
    (Family::Cases, Chore::Cases),
    (Family::Regex, Chore::Regex),
    (Family::Serialize, Chore::Serialize),
    (Family::Numbers, Chore::Numbers),
    (Family::Growth, Chore::Growth),
    (Family::Hash, Chore::Hash),
    (Family::Allocate, Chore::Allocate),
    (Family::Copy, Chore::Copy),
    (Family::Collect, Chore::Collect),
    (Family::Generate, Chore::Generate),
    (Family::Throws, Chore::Throw),
];

/// The chore of a user function; the one that says most where several claim it.
pub(super) fn chore(families: Families) -> Option<Chore> {
    let own = CHORES.iter().filter(|(family, _)| families.has(*family));
    own.map(|(_, chore)| *chore).max_by_key(|chore| chore.rank())
}

fn frame_told(recording: &Recording, known: Known, id: FrameId) -> FrameTold {
    let frame = recording.frame(id);
    let Known { families, module, .. } = known;
    let told = FrameTold {
        families,
        kernel: known.kernel,
        module: frame.module,
        named: frame.function.as_str() != "?",
        ..FrameTold::default()
    };
    if known.kernel {
        return FrameTold { module: None, named: false, ..told };
    }
    if known.script == Some(CodeOrigin::Own) {
        return FrameTold { generated: true, worded: worded(plain(&frame.function)), ..told };
    }
    let row = frame.module.map(|m| recording.module(m));
    let compiled = is_compiled_at_run_time(frame, row);
    let name = row.filter(|_| !compiled).map_or("", |module| module.name.as_str());
    let stock = module.has(Family::Wrapper) || module.has(Family::Stock);
    let library = stock || known.script.is_some() || families.has(Family::Library);
    FrameTold {
        stock,
        shared: name.contains(".so"),
        generated: compiled || name == "[jit]",
        chore: chore(families),
        worded: if library { None } else { worded(plain(&frame.function)) },
        interpreter: module.has(Family::Python),
        library,
        ..told
    }
}
