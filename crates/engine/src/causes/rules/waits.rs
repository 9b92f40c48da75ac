//! Rules for locks, for waits for any of several things, and for time.

use culprit_model::Cause;

use super::{Context, Rule, hints, names, under};

/// Functions that wait for a sleeping lock of the kernel; callers say which lock it is.
const KERNEL_LOCKS: &[&str] = &[
    "__mutex_lock*",
    "mutex_lock*",
    "__ww_mutex_lock*",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "rwsem_down_read_failed*",
    "rwsem_down_write_failed*",
    "call_rwsem_down_read_failed*",
    "call_rwsem_down_write_failed*",
    "percpu_rwsem_wait",
    "__percpu_down_read*",
    "percpu_down_write",
    "__down_common",
    "rwbase_read_lock",
    "rwbase_write_lock",
    "__rwbase_read_lock",
    "rt_mutex_slowlock*",
    "__rt_mutex_slowlock*",
    "rtlock_slowlock*",
];

/// Locks and what user space builds of them; poll, epoll, io_uring; sleeps and timers.
pub(super) const WAITS: &[Rule] = &[
    // Locks, and what user space builds from futexes: mutexes, condition variables, joins, pools.
    names(
        Cause::Lock,
        "a futex: a lock, a condition or a thread's end",
        "kernel/futex/waitwake.c",
        &[
            "futex_do_wait",
            "futex_wait_queue",
            "futex_wait_queue_me",
            "__futex_wait",
            "futex_wait",
            "do_futex",
        ],
    ),
    names(
        Cause::Lock,
        "one of several futexes",
        "kernel/futex/waitwake.c",
        &["futex_wait_multiple", "__do_sys_futex_waitv"],
    ),
    names(
        Cause::Lock,
        "a priority-inheritance futex",
        "kernel/futex/pi.c",
        &["futex_lock_pi", "rt_mutex_wait_proxy_lock", "futex_wait_requeue_pi"],
    ),
    names(
        Cause::Memory,
        "the memory map of its process, which another thread changes",
        "mm/memory.c, mm/mmap_lock.c",
        &["__vma_start_write", "__vma_enter_locked", "vma_start_read_locked"],
    ),
    under(
        Context::MemoryMap,
        names(
            Cause::Memory,
            "the lock of its process's memory map",
            "mm/mmap_lock.c, kernel/locking/rwsem.c",
            KERNEL_LOCKS,
        ),
    ),
    // A thread that ends takes no other lock of this kind for reading.
    under(
        Context::Exit,
        names(
            Cause::Memory,
            "the lock of its process's memory map",
            "kernel/exit.c (exit_mm)",
            &["rwsem_down_read_slowpath"],
        ),
    ),
    hints(
        Cause::Memory,
        "the memory map of its process",
        "mm/mmap.c; where lock functions are left out, as /proc does (in_sched_functions)",
        &[
            "lock_mm_and_find_vma",
            "vm_mmap_pgoff",
            "__vm_munmap",
            "vm_munmap",
            "dup_mmap",
            "do_mprotect_pkey",
            "__do_sys_brk",
            "__do_sys_mremap",
            "madvise_lock",
            "mmap_read_lock*",
            "mmap_write_lock*",
        ],
    ),
    names(Cause::Lock, "a lock of the kernel", "kernel/locking/", KERNEL_LOCKS),
    names(
        Cause::Lock,
        "the lock of a socket that another thread or the network uses",
        "net/core/sock.c",
        &["__lock_sock", "lock_sock_nested"],
    ),
    names(
        Cause::Lock,
        "a file lock",
        "fs/locks.c",
        &[
            "locks_lock_inode_wait",
            "flock_lock_inode_wait",
            "posix_lock_inode_wait",
            "flock_lock_file_wait",
            "do_lock_file_wait",
            "fcntl_setlk*",
            "__do_sys_flock",
            "__break_lease",
        ],
    ),
    names(
        Cause::Lock,
        "a name lookup of another thread",
        "fs/dcache.c, fs/inode.c",
        &["d_alloc_parallel", "d_wait_lookup", "__wait_on_freeing_inode", "wait_on_new_inode"],
    ),
    // Waiting for any of several things.
    names(
        Cause::Poll,
        "an event of an epoll set",
        "fs/eventpoll.c",
        &["ep_poll", "do_epoll_wait", "do_epoll_pwait*", "ep_schedule_timeout"],
    ),
    names(
        Cause::Poll,
        "an event of a descriptor in poll or select",
        "fs/select.c",
        &[
            "poll_schedule_timeout",
            "do_sys_poll",
            "do_poll",
            "do_select",
            "core_sys_select",
            "do_compat_select",
        ],
    ),
    names(
        Cause::Poll,
        "a completion of an io_uring",
        "io_uring/io_uring.c, io_uring/wait.c",
        &["io_cqring_wait*", "io_cqring_schedule_timeout"],
    ),
    hints(
        Cause::Poll,
        "the submission of requests to an io_uring",
        "io_uring/io_uring.c",
        &["__do_sys_io_uring_enter"],
    ),
    names(
        Cause::Disk,
        "a completion of asynchronous I/O",
        "fs/aio.c",
        &["read_events", "do_io_getevents", "wait_on_sync_kiocb", "exit_aio"],
    ),
    // Time.
    names(
        Cause::Sleep,
        "a time that it chose",
        "kernel/time/hrtimer.c",
        &[
            "do_nanosleep",
            "hrtimer_nanosleep*",
            "common_nsleep*",
            "alarm_timer_nsleep",
            "alarmtimer_do_nsleep",
            "do_cpu_nanosleep",
        ],
    ),
    names(
        Cause::Sleep,
        "a timer descriptor",
        "fs/timerfd.c",
        &["timerfd_read_iter", "timerfd_read"],
    ),
];
