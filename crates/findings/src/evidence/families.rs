//! Families of functions: what a frame's name tells about the mechanism at work.
//!
//! Rules know mechanisms by the kernel's and the common libraries' own function names, never by a
//! program's. The names are data, one row a family: kernel rows hold for every program, library
//! rows for every program that links them, statically or not.
//!
//! A pattern is a whole name, in which `*` stands for any text. Suffixes that compilers add to
//! kernel functions (`.constprop.0`, `.isra.0`) are cut before matching.

pub(crate) use culprit_engine::causes::matches;
use culprit_engine::causes::source_name;
use culprit_engine::wakers::PARKS;
use culprit_model::java_method;

/// What a family's functions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    /// Read and write system calls, in the kernel and in the C library's wrappers.
    ReadWrite,
    /// Kernel: flushes to stable storage.
    Flush,
    /// Kernel: making a process or thread.
    Fork,
    /// Kernel: loading a program.
    Exec,
    /// Kernel: ending a process or thread.
    Exit,
    /// Kernel: TCP, UDP and the socket layer.
    Net,
    /// Kernel: unix-domain sockets.
    UnixSocket,
    /// Kernel: read and write calls that move a message, an answer or an event each: to sockets and
    /// to the descriptors of counters, timers, signals and watches.
    Message,
    /// Kernel: pipes and FIFOs.
    Pipe,
    /// Kernel: file-change notification.
    Notify,
    /// Kernel: sleeping locks of the kernel itself.
    KernelLock,
    /// Kernel: waiting for a connection to arrive.
    Accept,
    /// Kernel: making a connection.
    Connect,
    /// Kernel: an exception or interrupt entered here.
    Boundary,
    /// Kernel: a device, a timer or another processor interrupted here.
    Interrupt,
    /// Kernel: the common way in of all system calls.
    Gate,
    /// Kernel: reading the page of a mapped file that a fault touched.
    FileFault,
    /// Kernel: the part of a flush that waits for the device or the journal, once a flush.
    Commit,
    /// Kernel: from a path to a file: open, stat, access, readlink.
    Path,
    /// Kernel: making, renaming, removing files and folders, changing what is noted about them.
    Metadata,
    /// Kernel: copying a file of a lower layer before its first change.
    CopyUp,
    /// Kernel: serving a page fault of any kind.
    PageFault,
    /// Kernel: giving a first page to memory that was never touched.
    FirstTouch,
    /// Kernel: copying a page that is shared until it is changed.
    CopyOnWrite,
    /// Kernel: reading a file's pages that are not in memory.
    ReadMiss,
    /// Kernel: holding a writer back until dirty pages are written.
    DirtyLimit,
    /// Kernel: calls that write to a file, also those that must read a part of it first.
    WriteCall,
    /// Kernel: reading the entries of a directory.
    ReadDirectory,
    /// Kernel: sending, delivering and returning from signals.
    Signal,
    /// Kernel: setting timers, and what they do when they expire.
    Timer,
    /// Kernel: waiting on and waking up futexes.
    Futex,
    /// Kernel: freeing memory before more is given.
    Reclaim,
    /// Kernel: running the filter on system calls.
    Seccomp,
    /// Kernel: closing a descriptor.
    Close,
    /// Kernel: what closing does for a descriptor that is open.
    CloseOpen,
    /// Kernel: reading a clock for a program.
    ClockRead,
    /// Kernel: reading the CPU time of a thread or process, which only the kernel knows.
    CpuClock,
    /// Kernel: calls that only ask: what is ready, what was used, who one is, what is set.
    Ask,
    /// Library: what standard libraries and runtimes do around looking for a path: arguments, errors,
    /// answers.
    PathCall,
    /// Library: what runtimes do around a read or write call: arguments, errors, answers.
    ReadCall,
    /// Library: finding out the local time zone.
    TimeZone,
    /// Library: resolving names.
    Resolver,
    /// Library: taking a mutex, a read-write lock, an interpreter's lock.
    Mutex,
    /// Library: waiting on a condition variable, barrier, future or queue.
    Condition,
    /// Library: waiting on a semaphore.
    Semaphore,
    /// Library: parked until another thread says that this one may go on.
    Park,
    /// Library: waiting for a thread's end.
    Join,
    /// Library: a pause as long as the program says, also where it is built of something else.
    Pause,
    /// Library: the slow ways into and out of a lock among tasks of a runtime, which parks tasks and
    /// not threads.
    TaskLock,
    /// Library: a runtime that runs many tasks on few threads, where it parks a thread that has
    /// none.
    Scheduler,
    /// Library: the loop of an interpreter that one thread at a time may run.
    Interpreter,
    /// Library: a runtime's launcher made this thread to run the program itself.
    Launched,
    /// Library: run-time linking.
    Link,
    /// Library: a thin wrapper around a system call or a library's waiting internals, so that the
    /// interesting function is its caller.
    Wrapper,
}

/// Kernel functions in which a program is while a recorder's probe stops it: entered by nothing else
/// in a program that nobody debugs (arch/x86/entry/entry_64.S, kernel/events/uprobes.c;
/// arch/arm64/kernel/debug-monitors.c).
pub(crate) const TRAPS: [&str; 6] = [
    "asm_exc_int3",
    "exc_int3",
    "asm_exc_debug",
    "uprobe_notify_resume",
    "el0_brk64",
    "brk_handler",
];

/// A set of families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Families(u64);

impl Families {
    /// No family.
    pub(crate) const NONE: Self = Self(0);

    /// The set of one family.
    pub(crate) const fn of(family: Family) -> Self {
        Self(1 << family as u8)
    }

    /// True when `family` is in the set.
    pub(crate) const fn has(self, family: Family) -> bool {
        self.0 & Self::of(family).0 != 0
    }

    /// Both sets together.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One row of the table: a family and the patterns of its names, separated by blanks.
struct Row {
    family: Family,
    kernel: bool,
    names: &'static str,
}

const fn kernel(family: Family, names: &'static str) -> Row {
    Row { family, kernel: true, names }
}

const fn library(family: Family, names: &'static str) -> Row {
    Row { family, kernel: false, names }
}

/// The table. Sources: Linux fs/, kernel/, net/, mm/ of 5.10 to 6.18; glibc 2.31 to 2.41 nptl/ and
/// elf/; musl 1.2; Rust std::sys; CPython Python/ceval_gil.c; libstdc++; parking_lot; Go 1.20 to 1.26
/// runtime/, sync/ and internal/poll/; OpenJDK 17 to 21 hotspot/share/runtime and java.util.concurrent.
const TABLE: &[Row] = &[
    kernel(
        Family::ReadWrite,
        "ksys_read ksys_write ksys_pread64 ksys_pwrite64 vfs_read vfs_write do_readv \
         do_writev do_preadv do_pwritev vfs_readv vfs_writev *_sys_read *_sys_write \
         *_sys_pread64 *_sys_pwrite64 *_sys_readv *_sys_writev",
    ),
    kernel(
        Family::Flush,
        "do_fsync vfs_fsync vfs_fsync_range ksys_sync ksys_sync_file_range sync_filesystem \
         *_sys_fsync *_sys_fdatasync *_sys_sync *_sys_syncfs *_sys_msync \
         *_sys_sync_file_range generic_write_sync iomap_dio_complete",
    ),
    kernel(
        Family::Fork,
        "kernel_clone _do_fork do_fork copy_process dup_mm dup_mmap *_sys_clone *_sys_clone3 \
         *_sys_fork *_sys_vfork ret_from_fork schedule_tail",
    ),
    kernel(
        Family::Exec,
        "bprm_execve do_execveat_common __do_execve_file exec_binprm load_elf_binary \
         load_script begin_new_exec *_sys_execve *_sys_execveat",
    ),
    kernel(
        Family::Exit,
        "do_exit do_group_exit exit_mmap mmput exit_mm *_sys_exit_group *_sys_exit",
    ),
    kernel(
        Family::Net,
        "tcp_* __tcp_* udp_* __udp_* udpv6_* inet_* __inet_* inet6_* sk_wait_data \
         sk_stream_wait_memory __skb_recv_udp sock_def_readable ip_* ip6_* net_rx_action \
         __netif_receive_skb* process_backlog",
    ),
    kernel(Family::UnixSocket, "unix_* __unix_*"),
    kernel(
        Family::Message,
        "sock_read_iter sock_write_iter sock_aio_read sock_aio_write sock_sendmsg* \
         __sock_sendmsg sock_recvmsg* sock_splice_read eventfd_read eventfd_write timerfd_read* \
         signalfd_read* inotify_read fanotify_read",
    ),
    kernel(
        Family::Pipe,
        "pipe_read pipe_write anon_pipe_read anon_pipe_write fifo_pipe_read fifo_pipe_write \
         pipe_wait* wait_for_partner fifo_open pipe_release splice_*pipe* *_sys_tee \
         *_sys_vmsplice",
    ),
    kernel(Family::Notify, "inotify_* fanotify_* fsnotify* __fsnotify*"),
    kernel(
        Family::KernelLock,
        "__mutex_lock* mutex_lock* rwsem_down_* __down_* down_read* down_write* \
         rt_mutex_slowlock* __lock_sock lock_sock_nested __vma_start_write percpu_rwsem_wait \
         __percpu_down_read locks_lock_inode_wait fcntl_setlk",
    ),
    kernel(Family::Accept, "inet_csk_accept unix_accept *_sys_accept *_sys_accept4"),
    kernel(
        Family::Connect,
        "__inet_stream_connect inet_stream_connect inet_wait_for_connect *_sys_connect \
         unix_stream_connect",
    ),
    kernel(Family::Boundary, "asm_exc_* asm_sysvec_* asm_common_interrupt asm_spurious_interrupt"),
    kernel(Family::Interrupt, "asm_sysvec_* asm_common_interrupt asm_spurious_interrupt"),
    kernel(
        Family::Gate,
        "entry_SYSCALL_64* entry_SYSENTER* entry_INT80* do_syscall_64 do_fast_syscall* \
         do_int80_syscall* x64_sys_call el0_svc* el0t_64_sync* do_el0_svc* invoke_syscall* \
         ret_from_fork*",
    ),
    kernel(
        Family::FileFault,
        "filemap_fault filemap_read_folio do_sync_mmap_readahead do_swap_page",
    ),
    kernel(
        Family::Commit,
        "blkdev_issue_flush jbd2_log_wait_commit jbd2_complete_transaction xfs_log_force* \
         xlog_wait* btrfs_sync_log btrfs_commit_transaction f2fs_issue_flush",
    ),
    kernel(
        Family::Path,
        "do_sys_openat2 do_sys_open do_filp_open path_openat path_lookupat filename_lookup \
         link_path_walk vfs_statx user_path_at* do_faccessat do_readlinkat getname getname_flags \
         *_sys_open *_sys_openat *_sys_openat2 *_sys_newstat *_sys_newlstat *_sys_access \
         *_sys_faccessat *_sys_faccessat2 *_sys_readlink *_sys_readlinkat",
    ),
    kernel(
        Family::Metadata,
        "do_unlinkat do_rmdir do_mkdirat do_renameat2 do_linkat do_symlinkat do_mknodat do_truncate \
         filename_unlinkat filename_rmdir filename_mkdirat filename_renameat2 filename_linkat \
         filename_symlinkat filename_mknodat vfs_unlink vfs_rmdir vfs_mkdir vfs_rename vfs_link \
         vfs_symlink vfs_mknod vfs_create vfs_tmpfile notify_change chown_common chmod_common \
         vfs_utimes ext2_create ext4_create xfs_generic_create btrfs_create f2fs_create \
         shmem_mknod ovl_create_object fuse_create_open nfs_create vfat_create \
         *_sys_unlink *_sys_unlinkat *_sys_rmdir *_sys_mkdir *_sys_mkdirat *_sys_rename \
         *_sys_renameat *_sys_renameat2 *_sys_link *_sys_linkat *_sys_symlink *_sys_symlinkat",
    ),
    kernel(Family::CopyUp, "ovl_copy_up* ovl_maybe_copy_up ovl_open_maybe_copy_up"),
    kernel(
        Family::PageFault,
        "asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault do_page_fault \
         do_mem_abort do_translation_fault",
    ),
    kernel(
        Family::FirstTouch,
        "do_anonymous_page do_huge_pmd_anonymous_page __do_huge_pmd_anonymous_page",
    ),
    kernel(Family::CopyOnWrite, "do_wp_page wp_page_copy do_cow_fault do_huge_pmd_wp_page"),
    kernel(
        Family::ReadMiss,
        "filemap_read filemap_get_pages filemap_update_page generic_file_buffered_read* \
         generic_file_read_iter iomap_dio_rw __iomap_dio_rw blkdev_direct_IO*",
    ),
    kernel(
        Family::WriteCall,
        "ksys_write ksys_pwrite64 vfs_write do_writev do_pwritev vfs_writev *_sys_write \
         *_sys_pwrite64 *_sys_writev *_sys_pwritev* *_sys_fallocate *_sys_ftruncate *_sys_truncate",
    ),
    kernel(
        Family::ReadDirectory,
        "iterate_dir *_sys_getdents *_sys_getdents64 ext4_readdir ext4_dx_readdir xfs_readdir \
         btrfs_real_readdir dcache_readdir ovl_iterate* fuse_readdir nfs_readdir proc_*readdir*",
    ),
    kernel(
        Family::Signal,
        "*_sys_kill *_sys_tkill *_sys_tgkill *_sys_rt_sigreturn *_sys_rt_sigqueueinfo \
         *_sys_rt_tgsigqueueinfo *_sys_rt_sigtimedwait *_sys_rt_sigprocmask __send_signal* \
         send_signal* do_send_sig_info do_send_specific force_sig* get_signal handle_signal \
         arch_do_signal_or_restart setup_rt_frame x64_setup_rt_frame complete_signal \
         dequeue_signal exit_to_user_mode_loop_signal",
    ),
    kernel(
        Family::Timer,
        "*_sys_timer_settime *_sys_timerfd_settime *_sys_setitimer *_sys_alarm do_setitimer \
         do_timer_settime do_timerfd_settime common_timer_set hrtimer_start_range_ns \
         hrtimer_try_to_cancel hrtimer_cancel posix_timer_fn it_real_fn timerfd_tmrproc \
         posix_cpu_timer_set",
    ),
    kernel(
        Family::Futex,
        "*_sys_futex *_sys_futex_wait *_sys_futex_wake *_sys_futex_waitv do_futex futex_wake* \
         futex_wait* __futex_wait futex_requeue futex_unqueue* futex_q_lock",
    ),
    kernel(Family::DirtyLimit, "balance_dirty_pages*"),
    kernel(
        Family::Reclaim,
        "try_to_free_mem_cgroup_pages try_to_free_pages *mem_cgroup_handle_over_high \
         reclaim_high throttle_direct_reclaim reclaim_throttle shrink_node* shrink_lruvec",
    ),
    kernel(Family::Seccomp, "__seccomp_filter seccomp_run_filters __secure_computing*"),
    kernel(
        Family::Ask,
        "*_sys_getrusage *_sys_times *_sys_poll *_sys_ppoll *_sys_select *_sys_pselect6 *_sys_getpid \
         *_sys_gettid *_sys_getppid *_sys_getuid *_sys_geteuid *_sys_getgid *_sys_getegid \
         *_sys_getpgid *_sys_getsid *_sys_uname *_sys_newuname *_sys_sysinfo *_sys_getrlimit \
         *_sys_prlimit64 *_sys_sched_getaffinity *_sys_getcpu *_sys_lseek *_sys_getsockname \
         *_sys_getpeername *_sys_getsockopt *_sys_getcwd *_sys_fcntl *_sys_umask",
    ),
    kernel(Family::Close, "*_sys_close close_fd __close_fd file_close_fd* pick_file"),
    kernel(
        Family::CloseOpen,
        "filp_close filp_flush __fput ____fput fput fput_* fput_close* dnotify_flush \
         locks_remove_posix task_work_add",
    ),
    kernel(
        Family::ClockRead,
        "*_sys_clock_gettime *_sys_gettimeofday *_sys_time *_sys_clock_gettime32 \
         *_sys_clock_gettime64",
    ),
    kernel(
        Family::CpuClock,
        "posix_cpu_clock_get process_cpu_clock_get thread_cpu_clock_get cpu_clock_sample* \
         thread_group_cputime* thread_group_sample_cputime task_sched_runtime",
    ),
    library(
        Family::PathCall,
        "uv_fs_stat uv_fs_lstat uv_fs_open uv_fs_access uv_fs_readlink uv_fs_realpath uv__statx* \
         uv__fs_stat* uv__fs_lstat* uv__fs_open uv__fs_access uv__fs_readlink uv__fs_realpath \
         node::fs::InternalModuleStat* node::fs::ExistsSync* node::fs::Stat(* node::fs::LStat(* \
         node::fs::SyncCallAndThrow*(uv_loop_s*uv_fs_s*char*const* node::fs::Access(* \
         node::fs::RealPath(* node::fs::ReadLink(* node::fs::Open(* \
         JS:*statSync*node:fs* JS:*StatSync*node:fs* JS:*existsSync*node:fs* JS:*accessSync*node:fs* \
         JS:*realpathSync*node:fs* JS:*openSync*node:fs* os_stat os_stat_impl os_lstat os_access \
         os_open os_open_impl os_readlink posix_do_stat \
         Java_java_io_UnixFileSystem_getBooleanAttributes0 Java_java_io_UnixFileSystem_checkAccess* \
         Java_sun_nio_fs_UnixNativeDispatcher_*stat* Java_sun_nio_fs_UnixNativeDispatcher_open* \
         Java_sun_nio_fs_UnixNativeDispatcher_access* java.io.File.exists java.io.File.is* \
         java.io.UnixFileSystem.* java.nio.file.Files.exists java.nio.file.Files.is* \
         sun.nio.fs.UnixFileAttributes.get os.Stat os.Lstat os.statNolog os.lstatNolog syscall.Stat \
         syscall.Lstat std::fs::metadata* std::fs::symlink_metadata* std::path::Path::exists \
         std::path::Path::is_* std::sys::fs::*stat* std::filesystem::status* \
         std::filesystem::exists*",
    ),
    library(
        Family::ReadCall,
        "uv_fs_read uv_fs_write uv__fs_read uv__fs_write node::fs::Read(* node::fs::WriteBuffer* \
         node::fs::WriteString* JS:*readSync*node:fs* JS:*writeSync*node:fs*",
    ),
    library(
        Family::TimeZone,
        "tzset __tzset tzset_internal* __tz_convert __tzfile_* do_tzset localtime localtime_r \
         __localtime_r __localtime64_r mktime __mktime64 timelocal strftime strftime_l",
    ),
    library(
        Family::Resolver,
        "getaddrinfo getnameinfo gaih_inet* gethostby* __gethostby* __res_* res_* __libc_res_* \
         send_dg send_vc _nss_* __nss_* nss_* __lookup_name __lookup_serv name_from_dns* \
         net.(*Resolver)* net.cgoLookup* net.cgoResolve* net.(*resolverConfig)*",
    ),
    library(
        Family::ReadWrite,
        "read __read __libc_read __read_nocancel write __write __libc_write __write_nocancel \
         pread pread64 __libc_pread64 pwrite pwrite64 __libc_pwrite64 readv writev",
    ),
    library(
        Family::Mutex,
        "__lll_lock_wait* __lll_timedlock* *pthread_mutex_lock* *pthread_mutex_*lock \
         *pthread_rwlock_*lock* pthread_rwlock_* __lock __timedlock *::Mutex::lock* \
         *::Mutex<*>::lock* *mutex*lock_contended* *Mutex*lock_contended* \
         *::RawMutex::lock_slow* *::RawRwLock::lock_*slow* *RwLock*_contended* \
         std::mutex::lock* std::unique_lock<* std::lock_guard<* __gthread_mutex_lock* \
         take_gil* drop_gil* PyEval_RestoreThread PyEval_AcquireThread PyGILState_Ensure _PyMutex_Lock* \
         runtime.lock2 sync.(*Mutex).lockSlow *sync_mutex_lock* ObjectMonitor::enter* \
         ObjectMonitor::EnterI* ObjectMonitor::ReenterI* ObjectSynchronizer::enter* \
         java.util.concurrent.locks.ReentrantLock* \
         java.util.concurrent.locks.ReentrantReadWriteLock* \
         java.util.concurrent.locks.StampedLock*",
    ),
    library(
        Family::Condition,
        "*pthread_cond_*wait* *pthread_barrier_wait* std::condition_variable*::wait* \
         *::Condvar::wait* __timedwait* *::Condvar::*wait* PyCOND_*WAIT runtime.notesleep \
         runtime.notetsleep* std::latch::* std::__atomic_*wait* ObjectMonitor::wait* \
         java.lang.Object.wait* java.util.concurrent.FutureTask.awaitDone \
         java.util.concurrent.CountDownLatch.await \
         java.util.concurrent.CompletableFuture.*get java.util.concurrent.*Queue.take \
         java.util.concurrent.*Queue.poll java.util.concurrent.ForkJoinPool.await*",
    ),
    library(
        Family::Semaphore,
        "__new_sem_wait* *sem_wait* *sem_timedwait* *sem_clockwait* \
         java.util.concurrent.Semaphore.acquire*",
    ),
    library(Family::Interpreter, "_PyEval_EvalFrameDefault*"),
    library(
        Family::Pause,
        "JVM_Sleep* JavaThread::sleep* os::sleep* java.lang.Thread.sleep* usleep nanosleep \
         __nanosleep clock_nanosleep* sleep std::thread::sleep* std::this_thread::sleep_for*",
    ),
    library(
        Family::TaskLock,
        "sync.(*Mutex).lockSlow sync.(*Mutex).unlockSlow internal/sync.(*Mutex).lockSlow \
         internal/sync.(*Mutex).unlockSlow sync.(*RWMutex).rUnlockSlow sync.runtime_Semacquire*Mutex* \
         sync.runtime_Semrelease internal/sync.runtime_SemacquireMutex \
         internal/sync.runtime_Semrelease",
    ),
    library(Family::Park, "*Parker*::park* Parker::park* std::thread::park*"),
    library(
        Family::Join,
        "*pthread_join* *pthread_clockjoin* *pthread_timedjoin* *pthread_tryjoin* \
         std::thread::join* std::thread::JoinInner* std::thread::JoinHandle* \
         std::sys::*::thread::*::join java.lang.Thread.join",
    ),
    library(Family::Scheduler, PARKS),
    library(Family::Launched, "ThreadJavaMain JavaMain"),
    // The second half is musl's, whose linker is part of its C library: ldso/dynlink.c of 1.2.5.
    library(
        Family::Link,
        "_dl_* dl_main dl_open_worker* do_lookup_x _dl_relocate_object* check_match _dlstart* __dls* \
         load_library map_library load_deps load_direct_deps do_relocs reloc_all decode_dyn find_sym \
         find_sym2 sysv_lookup gnu_lookup gnu_lookup_filtered",
    ),
    library(
        Family::Wrapper,
        "std::* core::* alloc::* <std::* <core::* <alloc::* <u8>::* <u16>::* <u32>::* <u64>::* \
         <u128>::* <usize>::* <i8>::* <i16>::* <i32>::* <i64>::* <i128>::* <isize>::* <f32>::* \
         <f64>::* <bool>::* <char>::* <str>::* <[T]>::* __GI_* __libc_* __futex_* futex_* __internal_* \
         *nanosleep* usleep sleep __sleep __usleep poll __poll ppoll __ppoll select __select \
         __select64 pselect __pselect epoll_wait epoll_pwait epoll_pwait2 read __read \
         __read_nocancel write __write __write_nocancel readv writev pread pread64 pwrite \
         pwrite64 recv recvfrom recvmsg recvmmsg __recv send sendto sendmsg sendmmsg __send \
         connect __connect accept accept4 fsync __fsync fdatasync __fdatasync sync syncfs \
         msync sync_file_range wait wait3 wait4 __wait3 __wait4 waitpid __waitpid waitid \
         __waitid vfork __vfork fork _Fork __fork clone clone3 __clone __clone3 posix_spawn \
         posix_spawnp __posix_spawn __spawni* __spawnix syscall __syscall* open open64 __open \
         __open64 openat openat64 close __close stat stat64 fstat fstat64 lstat execve \
         __execve chmod fchmod fchmodat chown fchown lchown fchownat rename renameat renameat2 \
         unlink unlinkat truncate ftruncate sigsuspend __sigsuspend pause sigtimedwait sigwait sigwaitinfo _IO_* fread \
         fwrite fflush getc putc fgets fputs puts printf PyThread_acquire_lock* __cp_end \
         runtime.* internal/runtime/* internal/poll.* internal/syscall/* syscall.* os.(* os.Open* \
         os.Create* os.Stat os.Lstat os.ReadFile os.WriteFile os.Remove* os.Mkdir* os.Rename \
         os/exec.(* net.(* bufio.(* io.Copy* io.Read* io.Write* sync.(* time.Sleep \
         os.startProcess os.StartProcess os/exec.* uv_spawn uv__spawn_* java.lang.Thread.sleep* \
         java.lang.Process* java.io.File* java.nio.* sun.nio.* sun.misc.* \
         jdk.internal.* java.util.concurrent.* java.net.Socket* java.nio.channels.* Interpreter \
         call_stub",
    ),
];

/// What a kernel function belongs to.
pub(crate) fn of_kernel(function: &str) -> Families {
    look_up(function, true)
}

/// What a user function belongs to. `module` decides what no name can: every function of the C
/// library is a wrapper, every function of the run-time linker links. musl's file is both, so there the
/// names tell which functions link.
pub(crate) fn of_user(function: &str, module: &str) -> Families {
    let by_module = if module.starts_with("ld-linux") || module.starts_with("ld-2.") {
        Families::of(Family::Link).with(Families::of(Family::Wrapper))
    } else if is_c_library(module) || module == "[vdso]" || module == "libjvm.so" {
        Families::of(Family::Wrapper)
    } else {
        Families::NONE
    };
    let by_name = look_up(java_method(function).unwrap_or(function), false);
    let waits = [
        Family::Mutex,
        Family::Condition,
        Family::Semaphore,
        Family::Park,
        Family::Join,
        Family::TimeZone,
        Family::Resolver,
    ];
    let waits = waits.iter().any(|f| by_name.has(*f));
    let wrapper = if waits { Families::of(Family::Wrapper) } else { Families::NONE };
    by_module.with(by_name).with(wrapper)
}

/// True for the C library and the parts of it that older versions kept apart.
fn is_c_library(module: &str) -> bool {
    ["libc.so", "libc-2.", "libpthread", "librt.so", "librt-2.", "libc.musl", "ld-musl"]
        .iter()
        .any(|p| module.starts_with(p))
}

fn look_up(function: &str, kernel: bool) -> Families {
    let name = if kernel { source_name(function) } else { function };
    let mut found = Families::NONE;
    for row in TABLE {
        if row.kernel == kernel
            && row.names.split_ascii_whitespace().any(|pattern| matches(pattern, name))
        {
            found = found.with(Families::of(row.family));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_suffixes_do_not_hide_a_function() {
        assert!(of_kernel("do_fsync.isra.0").has(Family::Flush));
        assert!(of_kernel("rwsem_down_read_slowpath.constprop.0.cold").has(Family::KernelLock));
    }

    #[test]
    fn the_same_wait_is_known_in_every_c_library_and_when_linked_statically() {
        for (function, module, family) in [
            ("__lll_lock_wait", "libc.so.6", Family::Mutex),
            ("__lll_lock_wait", "server", Family::Mutex),
            ("___pthread_mutex_lock", "libc.so.6", Family::Mutex),
            ("pthread_cond_wait@@GLIBC_2.3.2", "libpthread-2.31.so", Family::Condition),
            ("__pthread_clockjoin_ex", "libc.so.6", Family::Join),
            ("std::sys::sync::mutex::futex::Mutex::lock_contended", "server", Family::Mutex),
            (
                "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout",
                "server",
                Family::Condition,
            ),
            ("take_gil", "python3.11", Family::Mutex),
            ("ObjectMonitor::enter(JavaThread*)", "libjvm.so", Family::Mutex),
            ("void java.util.concurrent.locks.ReentrantLock.lock()", "[jit]", Family::Mutex),
            ("runtime.notesleep", "server", Family::Condition),
        ] {
            let found = of_user(function, module);
            assert!(found.has(family), "{function} in {module}");
            assert!(found.has(Family::Wrapper), "{function}: the caller is the interesting one");
        }
        for (function, module) in [
            ("serve", "server"),
            ("main.serve", "server"),
            ("void Main.serve(java.util.concurrent.locks.ReentrantLock)", "[jit]"),
            ("JS:*serve /app/index.js:3:10", "[jit]"),
        ] {
            assert!(!of_user(function, module).has(Family::Wrapper), "{function}");
        }
        for (function, links) in [("read", false), ("memcpy", false), ("do_relocs", true)] {
            let found = of_user(function, "ld-musl-x86_64.so.1");
            assert!(found.has(Family::Wrapper), "{function}");
            assert_eq!(found.has(Family::Link), links, "{function}");
        }
        assert!(of_user("os.(*File).Write", "server").has(Family::Wrapper));
        assert!(of_user("anything", "libc.so.6").has(Family::Wrapper));
    }
}
