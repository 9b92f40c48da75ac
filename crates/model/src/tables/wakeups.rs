//! Who made whom ready.

use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::label::labels;
use crate::time::Time;

labels! {
    /// What kind of event woke a thread.
    WakeSource ("wake source") {
        /// Another thread (or the thread's own timer set by it).
        Thread = "thread",
        /// A timer's interrupt.
        Timer = "timer",
        /// A disk's completion interrupt.
        Disk = "disk",
        /// The network's receive path, in interrupt context.
        Network = "network",
        /// Another interrupt.
        Interrupt = "interrupt",
        /// An interrupt that was not traced, as some are that end a CPU's idle time. The row's time
        /// is the latest possible.
        Unseen = "unseen",
    }
}

labels! {
    /// Which tracepoint reported it.
    WakeupKind ("wakeup kind") {
        /// `sched_waking`: in the waker's context.
        Waking = "waking",
        /// `sched_wakeup`: when the woken thread got onto a run queue.
        Wakeup = "wakeup",
    }
}

table! {
    /// A recorded thread was made ready. Ordered by time.
    Wakeup in "wakeups" {
        /// When.
        time: Time,
        /// The thread that was made ready.
        thread: ThreadId,
        /// Which tracepoint reported it.
        kind: WakeupKind,
        /// What kind of event did it.
        source: WakeSource,
        /// The thread that did it; none for interrupts, whose interrupted task has no part in it.
        waker: Option<ThreadId>,
        /// Where the waker was; none if wakeups are recorded without stacks.
        waker_stack: Option<StackId>,
    }
}
