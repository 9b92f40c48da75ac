//! Rules for what is no wait for any cause of the list: the kernel's own work, and threads that were
//! taken off the CPU although they could have gone on.

use culprit_model::Cause;

use super::{Rule, hints, leaves};

/// Named waits without a cause of their own; preemption, yields, CPU quotas.
pub(super) const RUNNING: &[Rule] = &[
    // Named, but none of the causes.
    hints(
        Cause::Other,
        "the kernel's work queue",
        "kernel/workqueue.c",
        &["__flush_work", "flush_work", "__flush_workqueue"],
    ),
    hints(
        Cause::Other,
        "all CPUs to pass a quiet state (RCU)",
        "kernel/rcu/",
        &["synchronize_rcu*", "__wait_rcu_gp", "wait_rcu_gp", "synchronize_srcu*", "rcu_barrier"],
    ),
    hints(
        Cause::Other,
        "work, as a worker thread of the kernel",
        "io_uring/io-wq.c, io_uring/sqpoll.c, kernel/vhost_task.c",
        &["io_wq_worker", "io_sq_thread", "vhost_task_fn"],
    ),
    // Off the CPU without waiting.
    leaves(
        Cause::RunnableQuota,
        "the next period of its cgroup's CPU quota",
        "kernel/sched/fair.c, throttle_cfs_rq_work (since 6.18)",
        &["throttle_cfs_rq_work", "task_work_run"],
    ),
    leaves(
        Cause::Runnable,
        "a CPU",
        "kernel/entry/common.c, kernel/sched/core.c",
        &[
            "irqentry_exit_to_user_mode",
            "exit_to_user_mode_loop",
            "exit_to_user_mode_prepare",
            "exit_to_usermode_loop",
            "prepare_exit_to_usermode",
            "syscall_exit_to_user_mode*",
            "irqentry_exit",
            "do_syscall_64",
            "do_notify_resume",
            "el0_interrupt",
            "el0_svc",
            "ret_from_fork*",
            "schedule_tail",
        ],
    ),
    leaves(
        Cause::Runnable,
        "a CPU, which it gave away itself",
        "kernel/sched/syscalls.c",
        &["__x64_sys_sched_yield", "__arm64_sys_sched_yield", "do_sched_yield", "sys_sched_yield"],
    ),
];
