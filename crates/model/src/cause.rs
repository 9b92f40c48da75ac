//! Why a thread's time passed: the leaf of every wall-clock stack.

use crate::label::labels;

labels! {
    /// Why a thread's wall-clock time passed. The words are the same in JSON, filters, colours and
    /// prose; which kernel stack gives which cause is the engine's table.
    Cause ("cause") {
        /// On a CPU, in user code.
        CpuUser = "cpu.user",
        /// On a CPU, in the kernel.
        CpuKernel = "cpu.kernel",
        /// Ready, but no CPU was free.
        Runnable = "runnable",
        /// Ready, but held back by a cgroup's CPU quota.
        RunnableQuota = "runnable.quota",
        /// Waited for a read or write of a disk.
        Disk = "blocked.disk",
        /// Waited for data to reach stable storage.
        Fsync = "blocked.fsync",
        /// Waited for a page fault that read from a disk.
        Fault = "blocked.fault",
        /// Waited for a network peer.
        Net = "blocked.net",
        /// Waited for a lock. In a recording's intervals also for a condition variable or another thread's
        /// end: all of these are futexes to the kernel.
        Lock = "blocked.lock",
        /// Slept until a timeout of its own.
        Sleep = "blocked.sleep",
        /// Waited in poll, select or epoll.
        Poll = "blocked.poll",
        /// Waited for the other end of a pipe.
        Pipe = "blocked.pipe",
        /// Waited in a unix socket, eventfd, message queue or semaphore.
        Ipc = "blocked.ipc",
        /// Waited for a child process.
        Child = "blocked.child",
        /// Waited for a file-change notification.
        Notify = "blocked.notify",
        /// Waited for memory: reclaim, the memory-map lock, swap.
        Memory = "blocked.memory",
        /// Waited for a signal.
        Signal = "blocked.signal",
        /// Stopped, traced or frozen.
        Stopped = "blocked.stopped",
        /// Blocked for an unknown reason.
        Other = "blocked.other",
        /// Waited for another thread: for its end, a condition, or something to do. Views tell it from a lock
        /// by the library's functions; a recording's intervals do not have it.
        Thread = "blocked.thread",
    }
}

impl Cause {
    /// True for time on a CPU.
    #[must_use]
    #[inline]
    pub const fn is_cpu(self) -> bool {
        matches!(self, Self::CpuUser | Self::CpuKernel)
    }

    /// True for time in which the thread was ready but did not run.
    #[must_use]
    #[inline]
    pub const fn is_runnable(self) -> bool {
        matches!(self, Self::Runnable | Self::RunnableQuota)
    }

    /// True for time in which the thread could not have run.
    #[must_use]
    #[inline]
    pub const fn is_blocked(self) -> bool {
        !self.is_cpu() && !self.is_runnable()
    }
}
