use culprit_model::notation::from_columns;
use culprit_model::{Cause, Observation, Recording, Text, ThreadId, Time};

use super::{Causes, observed};

/// The cause of a stack, written innermost first as kernel documents do.
#[track_caller]
fn check(stack: &str, expected: Cause) {
    let mut recording = Recording::default();
    let kernel = stack.split(" < ").collect::<Vec<_>>();
    let names = kernel.iter().rev().map(|name| match name.strip_prefix("user:") {
        Some(user) => format!("app!{user}"),
        None => format!("[kernel]!{name}"),
    });
    let column = names.collect::<Vec<_>>().join("\n");
    let ids = from_columns(&mut recording, &column);
    assert_eq!(Causes::of(&recording).wait(ids[0]).cause, expected, "{stack}");
}

/// Every row of the measured table: Linux 6.18, with one thread a kind of wait.
#[test]
fn measured_stacks_have_their_causes() {
    for (stack, cause) in MEASURED {
        check(stack, *cause);
        check(&format!("__schedule < schedule < {stack} < do_syscall_64 < user:f"), *cause);
    }
}

const MEASURED: &[(&str, Cause)] = &[
    ("futex_do_wait < __futex_wait < futex_wait < do_futex", Cause::Lock),
    ("futex_wait_multiple < __do_sys_futex_waitv", Cause::Lock),
    (
        "rt_mutex_schedule < rt_mutex_slowlock_block.constprop.0 < rt_mutex_wait_proxy_lock < futex_lock_pi",
        Cause::Lock,
    ),
    ("schedule_hrtimeout_range_clock < do_epoll_wait < __x64_sys_epoll_wait", Cause::Poll),
    (
        "schedule_hrtimeout_range_clock < poll_schedule_timeout.constprop.0 < do_sys_poll",
        Cause::Poll,
    ),
    ("poll_schedule_timeout < do_select < core_sys_select", Cause::Poll),
    ("do_nanosleep < hrtimer_nanosleep < common_nsleep", Cause::Sleep),
    ("do_wait_intr_irq < timerfd_read_iter < vfs_read", Cause::Sleep),
    ("do_wait_intr_irq < eventfd_read < vfs_read", Cause::Ipc),
    ("anon_pipe_read < vfs_read < ksys_read", Cause::Pipe),
    ("anon_pipe_write < fifo_pipe_write < vfs_write", Cause::Pipe),
    ("wait_for_partner < fifo_open < do_dentry_open", Cause::Pipe),
    ("wait_woken < sk_wait_data < tcp_recvmsg_locked < tcp_recvmsg < inet_recvmsg", Cause::Net),
    ("wait_woken < sk_stream_wait_memory < tcp_sendmsg_locked < tcp_sendmsg", Cause::Net),
    ("__lock_sock < lock_sock_nested < tcp_recvmsg < inet_recvmsg", Cause::Lock),
    ("wait_woken < __inet_stream_connect < inet_stream_connect < __sys_connect", Cause::Net),
    ("schedule_timeout < inet_csk_accept < inet_accept < do_accept", Cause::Net),
    ("__skb_wait_for_more_packets < __skb_recv_datagram < unix_accept < do_accept", Cause::Ipc),
    ("schedule_timeout < __skb_wait_for_more_packets < __skb_recv_udp < udp_recvmsg", Cause::Net),
    ("__skb_wait_for_more_packets < __unix_dgram_recvmsg < sock_recvmsg", Cause::Ipc),
    ("unix_stream_read_generic < unix_stream_recvmsg", Cause::Ipc),
    ("sock_alloc_send_pskb < unix_stream_sendmsg < sock_write_iter", Cause::Ipc),
    ("wait_woken < inotify_read < vfs_read", Cause::Notify),
    ("io_cqring_wait < __do_sys_io_uring_enter", Cause::Poll),
    ("__x64_sys_pause", Cause::Signal),
    ("sigsuspend < __x64_sys_rt_sigsuspend", Cause::Signal),
    ("do_sigtimedwait < __x64_sys_rt_sigtimedwait", Cause::Signal),
    ("do_wait < kernel_wait4", Cause::Child),
    ("do_wait < kernel_waitid", Cause::Child),
    ("__wait_for_common < wait_for_completion_state < kernel_clone < __do_sys_vfork", Cause::Child),
    ("do_msgrcv < __x64_sys_msgrcv", Cause::Ipc),
    ("__do_semtimedop < do_semtimedop", Cause::Ipc),
    ("wq_sleep < do_mq_timedreceive", Cause::Ipc),
    ("locks_lock_inode_wait < __do_sys_flock", Cause::Lock),
    ("fcntl_setlk < do_fcntl", Cause::Lock),
    (
        "io_schedule < folio_wait_bit_common < filemap_get_pages < filemap_read < vfs_read",
        Cause::Disk,
    ),
    ("io_schedule < folio_wait_bit_common < filemap_get_pages < filemap_splice_read", Cause::Disk),
    ("schedule_timeout < io_schedule_timeout < __iomap_dio_rw < iomap_dio_rw", Cause::Disk),
    (
        "io_schedule < folio_wait_bit_common < filemap_read_folio < filemap_fault < __do_fault \
         < do_fault < __handle_mm_fault < handle_mm_fault < do_user_addr_fault < exc_page_fault \
         < asm_exc_page_fault",
        Cause::Fault,
    ),
    (
        "io_schedule < folio_wait_bit < folio_wait_writeback < __filemap_fdatawait_range \
         < file_write_and_wait_range < ext4_sync_file",
        Cause::Fsync,
    ),
    (
        "io_schedule_timeout < wait_for_completion_io_timeout < submit_bio_wait < blkdev_issue_flush \
         < ext4_sync_file",
        Cause::Fsync,
    ),
    (
        "bit_wait_io < __sync_dirty_buffer < ext4_write_inode < vfs_fsync_range < do_fsync",
        Cause::Fsync,
    ),
    ("jbd2_log_wait_commit < jbd2_complete_transaction", Cause::Fsync),
    ("wb_wait_for_completion < sync_inodes_sb < sync_filesystem", Cause::Fsync),
    (
        "io_schedule_timeout < balance_dirty_pages < balance_dirty_pages_ratelimited_flags",
        Cause::Disk,
    ),
    (
        "rwsem_down_read_slowpath < down_read_killable < lock_mm_and_find_vma < do_user_addr_fault \
         < exc_page_fault < asm_exc_page_fault",
        Cause::Memory,
    ),
    (
        "rwsem_down_write_slowpath < down_write_killable < vm_mmap_pgoff < ksys_mmap_pgoff",
        Cause::Memory,
    ),
    (
        "rwsem_down_write_slowpath < down_write < dup_mmap < dup_mm.constprop.0 < copy_process",
        Cause::Memory,
    ),
    ("rwsem_down_read_slowpath < down_read < do_exit < do_group_exit", Cause::Memory),
    ("rcuwait_wait_event < __vma_start_write < vma_merge", Cause::Memory),
    ("__mutex_lock.constprop.0 < pipe_write < vfs_write", Cause::Lock),
    ("rwsem_down_write_slowpath < down_write < ext4_buffered_write_iter", Cause::Lock),
    (
        "wait_for_completion < __flush_work < __lru_add_drain_all < generic_fadvise \
         < ksys_fadvise64_64",
        Cause::Memory,
    ),
    ("request_wait_answer < __fuse_simple_request < fuse_lookup", Cause::Ipc),
    ("rpc_wait_bit_killable < __wait_on_bit < nfs4_call_sync", Cause::Net),
    (
        "do_signal_stop < get_signal < arch_do_signal_or_restart < exit_to_user_mode_loop",
        Cause::Stopped,
    ),
    ("ptrace_stop < ptrace_do_notify < ptrace_notify", Cause::Stopped),
    ("exit_to_user_mode_loop", Cause::Runnable),
    ("__x64_sys_sched_yield", Cause::Runnable),
    ("__cond_resched < task_work_run < irqentry_exit_to_user_mode", Cause::RunnableQuota),
];

#[test]
fn names_of_older_kernels_are_known() {
    check("schedule < futex_wait_queue_me < futex_wait < do_futex", Cause::Lock);
    check("schedule < ep_poll < do_epoll_wait", Cause::Poll);
    check("schedule < pipe_wait < pipe_read < new_sync_read", Cause::Pipe);
    check("io_schedule < wait_on_page_bit < generic_file_buffered_read", Cause::Disk);
    check("io_schedule < do_blockdev_direct_IO < ext4_direct_IO", Cause::Disk);
    check(
        "call_rwsem_down_read_failed < down_read < do_user_addr_fault < do_page_fault < page_fault",
        Cause::Memory,
    );
}

#[test]
fn an_exception_cuts_what_it_interrupted() {
    let fault =
        "rwsem_down_read_slowpath < lock_mm_and_find_vma < exc_page_fault < asm_exc_page_fault";
    check(&format!("{fault} < _copy_to_iter < tcp_recvmsg_locked < tcp_recvmsg"), Cause::Memory);
    let unknown = "schedule_timeout < some_new_function < asm_exc_page_fault < tcp_recvmsg";
    check(unknown, Cause::Other);
}

#[test]
fn the_caller_decides_where_the_leaf_only_hints() {
    check("io_schedule < folio_wait_bit_common < some_file_system", Cause::Disk);
    check(
        "io_schedule < some_fs_fault < handle_mm_fault < exc_page_fault < asm_exc_page_fault",
        Cause::Fault,
    );
    check("io_schedule < __fput < task_work_run < exit_to_user_mode_loop", Cause::Disk);
    check("__vm_munmap < __x64_sys_munmap", Cause::Memory);
    check("io_schedule < io_read < io_submit_sqes < __do_sys_io_uring_enter", Cause::Disk);
}

#[test]
fn only_the_kernels_functions_count() {
    check("user:do_wait < user:main", Cause::Other);
    check("schedule < unheard_of < user:do_wait", Cause::Other);
}

fn look(state: char, syscall: Option<u32>, wchan: Option<&str>, file: Option<&str>) -> Observation {
    Observation {
        time: Time(0),
        thread: ThreadId(0),
        state: u32::from(state),
        syscall,
        wchan: wchan.map(Text::from),
        file: file.map(Text::from),
    }
}

#[test]
fn proc_tells_by_function_then_by_call_and_file() {
    let check = |look: Observation, expected| assert_eq!(observed(&look), expected, "{look:?}");
    check(look('R', None, None, None), None);
    check(look('T', None, None, None), Some(Cause::Stopped));
    check(look('S', Some(230), Some("hrtimer_nanosleep"), None), Some(Cause::Sleep));
    check(look('S', Some(0), Some("wait_woken"), Some("pipe:[4]")), Some(Cause::Pipe));
    check(look('S', Some(0), None, Some("anon_inode:inotify")), Some(Cause::Notify));
    check(look('D', Some(0), None, Some("/data/file")), Some(Cause::Disk));
    check(look('S', Some(9999), None, None), Some(Cause::Other));
}
