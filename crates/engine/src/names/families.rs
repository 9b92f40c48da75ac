//! The families of functions, modules and threads that rules know.

use culprit_model::{Label, labels};

labels! {
    /// What a function, a module or a runtime's thread belongs to.
    Family ("family") {
        /// Read and write system calls, in the kernel and in the C library's wrappers.
        ReadWrite = "read-write",
        /// Calls that write to a file, also those that must read a part of it first.
        WriteCall = "write-call",
        /// Kernel: flushes to stable storage.
        Flush = "flush",
        /// Kernel: making a process or thread.
        Fork = "fork",
        /// Kernel: loading a program.
        Exec = "exec",
        /// Kernel: ending a process or thread.
        Exit = "exit",
        /// Kernel: the end of a thread, killed or not.
        Ends = "ends",
        /// Kernel: a thread ends its whole process.
        EndsProcess = "ends-process",
        /// Kernel: a thread gives back what it has, its memory map too.
        EndsThread = "ends-thread",
        /// Kernel: TCP, UDP and the socket layer.
        Net = "net",
        /// Kernel: unix-domain sockets.
        UnixSocket = "unix-socket",
        /// Kernel: read and write calls that move a message, an answer or an event each: to sockets
        /// and to the descriptors of counters, timers, signals and watches.
        Message = "message",
        /// Kernel: gives data to a pipe, a file or a socket.
        Sends = "sends",
        /// Kernel: pipes and FIFOs.
        Pipe = "pipe",
        /// Kernel: file-change notification.
        Notify = "notify",
        /// Kernel: sleeping locks of the kernel itself.
        KernelLock = "kernel-lock",
        /// Kernel: waiting for a connection to arrive.
        Accept = "accept",
        /// Kernel: making a connection.
        Connect = "connect",
        /// Kernel: an exception or interrupt entered here.
        Boundary = "boundary",
        /// Kernel: an exception entered here, of every architecture and version.
        Exception = "exception",
        /// Kernel: a device, a timer or another processor interrupted here.
        Interrupt = "interrupt",
        /// Kernel: the common way in of all system calls.
        Gate = "gate",
        /// Kernel: a recorder's probe stops the program here. Nothing else enters these functions in a
        /// program that nobody debugs.
        Trap = "trap",
        /// Kernel: takes a thread off the CPU, whatever the reason.
        SwitchesOut = "switches-out",
        /// Kernel: a thread does not come back from here.
        NeverReturns = "never-returns",
        /// Gives the CPU to other threads that are ready.
        Yield = "yield",
        /// Kernel: changing or reading the memory map of a process, which one lock guards.
        MemoryMap = "memory-map",
        /// Kernel: serving a page fault, the lock of the memory map in hand.
        FaultService = "fault-service",
        /// Kernel: reading the page of a mapped file that a fault touched.
        FileFault = "file-fault",
        /// Kernel: the part of a flush that waits for the device or the journal, once a flush.
        Commit = "commit",
        /// Kernel: from a path to a file: open, stat, access, readlink.
        Path = "path",
        /// Kernel: making, renaming, removing files and folders, changing what is noted about them.
        Metadata = "metadata",
        /// Kernel: copying a file of a lower layer before its first change.
        CopyUp = "copy-up",
        /// Kernel: serving a page fault of any kind.
        PageFault = "page-fault",
        /// Kernel: giving a first page to memory that was never touched.
        FirstTouch = "first-touch",
        /// Kernel: copying a page that is shared until it is changed.
        CopyOnWrite = "copy-on-write",
        /// Kernel: reading a file's pages that are not in memory.
        ReadMiss = "read-miss",
        /// Kernel: reads that are given their place in the file.
        PlacedRead = "placed-read",
        /// Kernel: moving the position in a file.
        Seek = "seek",
        /// Kernel: holding a writer back until dirty pages are written.
        DirtyLimit = "dirty-limit",
        /// Kernel: reading the entries of a directory.
        ReadDirectory = "read-directory",
        /// Kernel: sending, delivering and returning from signals.
        Signal = "signal",
        /// Kernel: locks of files.
        FileLock = "file-lock",
        /// Kernel: a fault on a page sends a signal.
        FaultSignal = "fault-signal",
        /// Kernel: changes the protection of pages.
        Protect = "protect",
        /// Kernel: setting timers, and what they do when they expire.
        Timer = "timer",
        /// Kernel: waiting on and waking up futexes.
        Futex = "futex",
        /// Kernel: freeing memory before more is given.
        Reclaim = "reclaim",
        /// Kernel: running the filter on system calls.
        Seccomp = "seccomp",
        /// Kernel: closing a descriptor.
        Close = "close",
        /// Kernel: what closing does for a descriptor that is open.
        CloseOpen = "close-open",
        /// Kernel: reading a clock for a program.
        ClockRead = "clock-read",
        /// Kernel: reading the CPU time of a thread or process, which only the kernel knows.
        CpuClock = "cpu-clock",
        /// Kernel: calls that only ask: what is ready, what was used, who one is, what is set.
        Ask = "ask",
        /// Library: what standard libraries and runtimes do around looking for a path: arguments,
        /// errors, answers.
        PathCall = "path-call",
        /// Library: what runtimes do around a read or write call: arguments, errors, answers.
        ReadCall = "read-call",
        /// Library: finding out the local time zone.
        TimeZone = "time-zone",
        /// Library: resolving names.
        Resolver = "resolver",
        /// Library: taking a mutex, a read-write lock, an interpreter's lock.
        Mutex = "mutex",
        /// Library: waiting on a condition variable, barrier, future or queue.
        Condition = "condition",
        /// Library: waiting on a semaphore.
        Semaphore = "semaphore",
        /// Library: parked until another thread says that this one may go on.
        Park = "park",
        /// Library: waiting for a thread's end.
        Join = "join",
        /// Library: a pause as long as the program says, also where it is built of something else.
        Pause = "pause",
        /// Library: the slow ways into and out of a lock among tasks of a runtime, which parks tasks
        /// and not threads.
        TaskLock = "task-lock",
        /// Library: packages of such locks.
        TaskLockPackage = "task-lock-package",
        /// Library: a runtime that runs many tasks on few threads, where it parks a thread that has
        /// none.
        Scheduler = "scheduler",
        /// Library: tasks of such a runtime itself, which nobody waits for while a task of the program
        /// works.
        Housekeeping = "housekeeping",
        /// Library: the loop of an interpreter that one thread at a time may run.
        Interpreter = "interpreter",
        /// Library: stands for functions of an interpreter that are not known.
        StandsIn = "stands-in",
        /// Library: a runtime's launcher made this thread to run the program itself.
        Launched = "launched",
        /// Library: run-time linking.
        Link = "link",
        /// Library: a run-time linker begins here, before the program's first function.
        LinkStart = "link-start",
        /// Library: a run-time linker that running code enters.
        LinkLater = "link-later",
        /// Library: a thin wrapper around a system call or a library's waiting internals, so that the
        /// interesting function is its caller.
        Wrapper = "wrapper",
        /// Library: dates and times from and to text or calendar fields.
        Dates = "dates",
        /// Library: case conversion, comparison without case, collation.
        Cases = "cases",
        /// Library: compiling regular expressions.
        Regex = "regex",
        /// Library: JSON, XML, base64, object serialisation, character encodings.
        Serialize = "serialize",
        /// Library: numbers and formatted text.
        Numbers = "numbers",
        /// Library: enlarging containers: reallocation, rehashing.
        Growth = "growth",
        /// Library: looking up in hash tables and trees.
        Hash = "hash",
        /// Library: allocating and freeing memory.
        Allocate = "allocate",
        /// Library: copying memory, joining strings.
        Copy = "copy",
        /// Library: collecting garbage.
        Collect = "collect",
        /// Library: making code ready to run: compiling it, loading classes, modules and assemblies.
        Generate = "generate",
        /// Kernel: looks at each descriptor of a `poll` or `select`, whether something is there.
        PollScan = "poll-scan",
        /// Library: runs a module's own code, so that others can use what it defines.
        Imports = "imports",
        /// Library: an event loop calls what waits for an event, one after the other.
        EventCallback = "event-callback",
        /// Library: waits for data of a socket, perhaps with a time limit.
        Receives = "receives",
        /// Library: starts a thread, or ends one of its own.
        StartsThread = "starts-thread",
        /// Library: sorts. The small moves that it makes are sorting.
        Sorts = "sorts",
        /// Library: an exception is made or begins its way up through the frames, or a stack is written
        /// down for one.
        Throws = "throws",
        /// Library: runs a program's own code again. Loading ends there.
        CallsBack = "calls-back",
        /// Library: runs code that has no name of its own on the stack, or is called to do so. It is on
        /// the stack whatever a program does.
        Plumbing = "plumbing",
        /// Library: a runtime's own thread works here, beside the program's.
        RuntimeWorker = "runtime-worker",
        /// Library: no application code by its namespace or module.
        Library = "library",
        /// Where a native program or thread begins and ends before its own code does.
        Start = "start",
        /// Programs and threads begin here: all time goes through it.
        Entry = "entry",
        /// A managed runtime, by which it runs whatever a program consists of.
        Runtime = "runtime",
        /// Module: of libraries and runtimes.
        Stock = "stock",
        /// Module: a library of a language's runtime.
        RuntimeModule = "runtime-module",
        /// Module: a library of the system.
        SystemModule = "system-module",
        /// Module: CPython, its library, its extension modules.
        Python = "python",
        /// Module: Ruby's virtual machine.
        Ruby = "ruby",
        /// Module: the Java virtual machine.
        Jvm = "jvm",
        /// Module: .NET's virtual machine.
        Coreclr = "coreclr",
        /// Module: a run-time linker.
        Linker = "linker",
        /// Module: musl, whose linker is part of its C library.
        Musl = "musl",
    }
}

/// A set of families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Families(u128);

impl Families {
    /// No family.
    pub const NONE: Self = Self(0);

    /// The set of one family.
    #[must_use]
    pub const fn of(family: Family) -> Self {
        Self(1 << family as u8)
    }

    /// True when `family` is in the set.
    #[must_use]
    #[inline]
    pub const fn has(self, family: Family) -> bool {
        self.0 & Self::of(family).0 != 0
    }

    /// Both sets together.
    #[must_use]
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What both sets have.
    #[must_use]
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True when no family is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The families of the set, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Family> {
        Family::ALL.iter().copied().filter(move |family| self.has(*family))
    }
}

impl FromIterator<Family> for Families {
    fn from_iter<I: IntoIterator<Item = Family>>(families: I) -> Self {
        families.into_iter().fold(Self::NONE, |all, family| all.with(Self::of(family)))
    }
}

/// Kinds of work of libraries.
pub(super) const WORK: Families = Families::of(Family::Dates)
    .with(Families::of(Family::Cases))
    .with(Families::of(Family::Regex))
    .with(Families::of(Family::Serialize))
    .with(Families::of(Family::Numbers))
    .with(Families::of(Family::Growth))
    .with(Families::of(Family::Hash))
    .with(Families::of(Family::Allocate))
    .with(Families::of(Family::Copy))
    .with(Families::of(Family::Collect))
    .with(Families::of(Family::Generate))
    .with(Families::of(Family::Throws));
