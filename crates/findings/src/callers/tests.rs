use std::collections::BTreeSet;

use culprit_model::{Cause, Finding, Recording, counter_names};

use super::*;
use crate::catalogue;
use crate::scene::{End, Scene, first};

/// A program that flushes for each record, below some functions.
fn flushes(path: &str) -> Recording {
    let stack = format!("main;{path};libc.so.6!fdatasync;k:do_fsync;k:blkdev_issue_flush");
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..50 {
        scene.run(main, 1, Cause::CpuUser, "main;work");
        scene.wait(main, 3, Cause::Fsync, &stack, End::Disk);
    }
    scene.counter(Some(main), counter_names::IO_WRITE_BYTES, 5000);
    scene.done()
}

/// One that waits for a name.
fn names(path: &str) -> Recording {
    let stack = format!("main;{path};libc.so.6!poll;k:do_sys_poll");
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    scene.run(main, 10, Cause::CpuUser, "main;work");
    scene.wait(main, 5000, Cause::Poll, &stack, End::Timer);
    scene.done()
}

/// One that removes files.
fn removes(path: &str) -> Recording {
    let stack = format!("main;libc.so.6!unlink;k:__x64_sys_unlink;k:do_unlinkat;{path}");
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..50 {
        scene.run(main, 1, Cause::CpuUser, "main;work");
        scene.wait(main, 3, Cause::Disk, &stack, End::Disk);
    }
    scene.done()
}

/// One that asks a peer for one thing after the other.
fn asks(path: &str) -> Recording {
    let stack = format!("main;{path};libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data");
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..100 {
        scene.run(main, 1, Cause::CpuUser, "main;work");
        scene.wait(main, 7, Cause::Net, &stack, End::Network);
    }
    scene.done()
}

/// One that does a library's work.
fn works(path: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..100 {
        scene.run(main, 4, Cause::CpuUser, &format!("main;{path}"));
        scene.run(main, 1, Cause::CpuUser, "main;work");
    }
    scene.done()
}

/// One that writes a line at a time.
fn writes(path: &str) -> Recording {
    let stack = format!("main;{path};libc.so.6!write;k:do_syscall_64;k:ksys_write;k:vfs_write");
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..100 {
        scene.run(main, 4, Cause::CpuKernel, &stack);
        scene.run(main, 1, Cause::CpuUser, "main;work");
    }
    scene.counter(Some(main), counter_names::IO_WRITES, 100_000);
    scene.counter(Some(main), counter_names::IO_WRITE_BYTES, 1_000_000);
    scene.done()
}

/// One that starts a process for each item.
fn starts(path: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("sh", None, 0);
    for _ in 0..60 {
        scene.run(
            main,
            3,
            Cause::CpuKernel,
            &format!("main;{path};fork;k:__x64_sys_fork;k:kernel_clone"),
        );
        let child = scene.program("job", Some(main), scene.now_ms(main));
        let exec = "libc.so.6!execve;k:__x64_sys_execve;k:load_elf_binary";
        scene.run(child, 1, Cause::CpuKernel, exec);
        scene.wait(main, 1, Cause::Child, "main;libc.so.6!wait4;k:do_wait", End::By(child));
        scene.run(main, 1, Cause::CpuUser, "main;work");
    }
    scene.done()
}

/// One that touches much memory for the first time.
fn touches(path: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..100 {
        let fault = format!("main;fill;k:asm_exc_page_fault;k:handle_mm_fault;{path}");
        scene.run(main, 4, Cause::CpuKernel, &fault);
        scene.run(main, 1, Cause::CpuUser, "main;work");
    }
    scene.counter(Some(main), counter_names::RSS_ANON_BYTES, 1 << 30);
    scene.done()
}

/// One whose pages are read from disk when it touches them.
fn reads_back(path: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..100 {
        let fault = format!("main;find;k:asm_exc_page_fault;k:handle_mm_fault;{path}");
        scene.wait(main, 4, Cause::Fault, &fault, End::Disk);
        scene.run(main, 1, Cause::CpuUser, "main;work");
    }
    scene.done()
}

/// One whose threads wait for each other in a lock.
fn contends(path: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("server", None, 0);
    let process = scene.recording.thread(main).process;
    let threads = [main, scene.thread(process, "a", 0), scene.thread(process, "b", 0)];
    let wait = format!("main;{path};libc.so.6!pthread_mutex_lock;k:futex_do_wait");
    for turn in 0..60 {
        let holder = threads[turn % 3];
        scene.run(holder, 10, Cause::CpuUser, "main;work");
        for waiter in threads.into_iter().filter(|thread| *thread != holder) {
            scene.wait(waiter, 10, Cause::Lock, &wait, End::By(holder));
        }
    }
    scene.done()
}

type Make = fn(&str) -> Recording;

/// Each caller with a program that it asks in, the functions on its stack, and the finding.
const CASES: &[(&str, Make, &str, &str)] = &[
    ("sqlite-wal", flushes, "insert;sqlite3PagerCommitPhaseOne;sqlite3WalFrames", "fsync-storm"),
    ("sqlite-journal", flushes, "insert;sqlite3PagerCommitPhaseOne;sqlite3OsSync", "fsync-storm"),
    ("sqlite-journal", flushes, "insert;libsqlite3.so.0!?;libsqlite3.so.0!?", "fsync-storm"),
    (
        "postgres-commit",
        flushes,
        "RecordTransactionCommit;XLogFlush;issue_xlog_fsync",
        "fsync-storm",
    ),
    (
        "innodb-commit",
        flushes,
        "innobase_commit;log_write_up_to(unsigned long, bool, bool, completion_callback const*)",
        "fsync-storm",
    ),
    ("mysql-binlog", flushes, "MYSQL_BIN_LOG::flush_and_sync(bool*)", "fsync-storm"),
    ("redis-append-only", flushes, "beforeSleep;flushAppendOnlyFile", "fsync-storm"),
    ("wiredtiger-journal", flushes, "__wt_log_force_sync;__wt_fsync", "fsync-storm"),
    (
        "rocksdb-sync",
        flushes,
        "leveldb::DBImpl::Write(leveldb::WriteOptions const&)",
        "fsync-storm",
    ),
    ("lmdb-commit", flushes, "put;mdb_txn_commit;mdb_env_sync0", "fsync-storm"),
    (
        "bbolt-commit",
        flushes,
        "go.etcd.io/bbolt.(*Tx).Commit;go.etcd.io/bbolt.fdatasync",
        "fsync-storm",
    ),
    ("h2-commit", flushes, "void org.h2.mvstore.MVStore.sync()", "fsync-storm"),
    (
        "search-translog",
        flushes,
        "boolean org.elasticsearch.index.translog.Translog.sync()",
        "fsync-storm",
    ),
    ("git-objects", flushes, "write_loose_object;finalize_object_file", "fsync-storm"),
    (
        "discard-at-unlink",
        removes,
        "k:ext4_free_blocks;k:ext4_issue_discard.constprop.0;k:submit_bio_wait",
        "metadata-storm",
    ),
    (
        "reverse-lookup",
        names,
        "log_line;libc.so.6!getnameinfo;libc.so.6!send_dg",
        "name-lookup-wait",
    ),
    ("glibc-resolver", names, "fetch;libc.so.6!getaddrinfo;libc.so.6!send_dg", "name-lookup-wait"),
    ("musl-resolver", names, "fetch;getaddrinfo;__res_msend_rc", "name-lookup-wait"),
    (
        "go-resolver",
        names,
        "net.(*Resolver).lookupIPAddr;net.(*Resolver).exchange",
        "name-lookup-wait",
    ),
    ("orm-lazy-load", asks, "report;LazyLoader._load_for_state;PQexec", "network-wait"),
    (
        "jdbc-statement",
        asks,
        "int org.postgresql.jdbc.PgStatement.executeUpdate(java.lang.String)",
        "network-wait",
    ),
    ("postgres-statement", asks, "insert;libpq.so.5!PQexecParams", "network-wait"),
    ("mysql-statement", asks, "insert;mysql_real_query", "network-wait"),
    ("redis-command", asks, "put;redisCommand;redisBufferRead", "network-wait"),
    ("http-request", asks, "load;curl_easy_perform", "network-wait"),
    (
        "node-require",
        works,
        "Module._load;Module._compile;wrapSafe;node!v8::ScriptCompiler::CompileFunction(v8::Local)",
        "jit-warmup",
    ),
    ("node-json-file", works, "Module._extensions..json;Builtins_JsonParse", "serialize-hot"),
    ("python-import", works, "_find_and_load;python3.11!marshal_loads", "jit-warmup"),
    (
        "jvm-class-loading",
        works,
        "libjvm.so!SystemDictionary::resolve_or_fail(Symbol*);libjvm.so!ClassFileParser::parse()",
        "jit-warmup",
    ),
    ("cpp-endl", writes, "std::endl<char, std::char_traits<char> >(std::ostream&)", "small-io"),
    ("java-print", writes, "void java.io.PrintStream.println(java.lang.String)", "small-io"),
    ("rust-print", writes, "std::io::stdio::_print", "small-io"),
    ("go-print", writes, "fmt.Fprintln;os.(*File).Write", "small-io"),
    ("python-logging", writes, "StreamHandler.emit;StreamHandler.flush", "small-io"),
    ("shell-substitution", starts, "bash!command_substitute;bash!make_child", "spawn-storm"),
    ("make-shell", starts, "make!func_shell_base", "spawn-storm"),
    ("postgres-compile", works, "llvmjit.so!llvm_compile_expr", "hot-function"),
    ("postgres-log", works, "errfinish;EmitErrorReport", "hot-function"),
    ("postgres-session", works, "BackendStartup;InitPostgres", "hot-function"),
    ("postgres-sequential-scan", works, "SeqNext;heap_getnextslot", "hot-function"),
    ("postgres-index-scan", works, "IndexNext;heapam_index_fetch_tuple", "hot-function"),
    ("postgres-plan", works, "pg_plan_query;standard_planner", "hot-function"),
    ("mysql-table-scan", works, "handler::ha_rnd_next(unsigned char*)", "hot-function"),
    ("sqlite-rows", works, "sqlite3_step;sqlite3VdbeExec", "hot-function"),
    ("redis-walk", works, "call;keysCommand", "hot-function"),
    ("php-compile", works, "compile_file;zendparse", "hot-function"),
    ("apache-folders", works, "ap_directory_walk;ap_parse_htaccess", "hot-function"),
    ("tls-handshake", works, "libssl.so.3!SSL_do_handshake;sign", "hot-function"),
    ("private-key", works, "sign;libcrypto.so.3!BN_mod_exp_mont_consttime", "hot-function"),
    ("python-interpreter-lock", contends, "python3.11!PyEval_RestoreThread", "lock-contention"),
    ("mysql-table-lock", contends, "mysql_lock_tables;thr_multi_lock", "lock-contention"),
    ("innodb-row-lock", contends, "row_search_mvcc;lock_wait_suspend_thread", "lock-contention"),
    ("password-hash", works, "login;PKCS5_PBKDF2_HMAC", "hot-function"),
    (
        "python-pickled-jobs",
        works,
        "py::worker:/usr/lib/python3.11/multiprocessing/pool.py;\
         py::SimpleQueue.get:/usr/lib/python3.11/multiprocessing/queues.py",
        "hot-function",
    ),
    ("deep-copy", works, "build;py::deepcopy:/usr/lib/python3.11/copy.py", "hot-function"),
    (
        "template-compile",
        works,
        "render;py::Lexer.tokenize:/usr/lib/python3/dist-packages/django/template/base.py",
        "hot-function",
    ),
    ("ruby-new-object", works, "libruby-3.1.so.3.1!rb_wb_protected_newobj_of", "hot-function"),
    ("append-by-copy", works, "collect;array_merge;php8.2!zend_hash_extend", "hot-function"),
    ("huge-page-compaction", touches, "k:try_to_compact_pages;k:compact_zone", "minor-fault-storm"),
    ("numa-balancing", touches, "k:do_numa_page;k:migrate_misplaced_folio", "minor-fault-storm"),
    ("swap-in", reads_back, "k:do_swap_page;k:swap_read_folio", "major-page-faults"),
    ("regex-backtracking", works, "check;RegExp:^(a+)+$", "hot-function"),
];

fn found(make: Make, path: &str, id: &str) -> Finding {
    first(&make(path), id).unwrap_or_else(|| panic!("no {id} below {path}"))
}

#[test]
fn each_caller_is_known_by_its_path_and_advises_first() {
    for (id, make, path, finding) in CASES {
        let caller = callers().iter().find(|caller| caller.id == *id).expect(id);
        let found = found(*make, path, finding);
        assert_eq!(found.fix[..caller.fix.len()], caller.fix, "{id}");
        assert!(found.why.contains(caller.why), "{id}: {}", found.why);
    }
    let tested: BTreeSet<_> = CASES.iter().map(|(id, ..)| *id).collect();
    let all: BTreeSet<_> = callers().iter().map(|caller| caller.id).collect();
    assert_eq!(tested, all);
    assert!(all.len() <= CallerSet::BITS as usize, "a set has {} bits", CallerSet::BITS);
}

/// Functions that were read from the interpreter have their file beside the name.
#[test]
fn functions_of_python_are_known_by_their_files_however_they_were_read() {
    let mut recording = works("queues.py!SimpleQueue.get");
    let fix =
        |recording: &Recording| first(recording, "hot-function").expect("found").fix.join(" ");
    assert!(!fix(&recording).contains("shared_memory"));
    for frame in &mut recording.frames {
        if frame.function.as_str() == "SimpleQueue.get" {
            frame.file = Some("/usr/lib/python3.11/multiprocessing/queues.py".into());
        }
    }
    assert!(fix(&recording).contains("shared_memory"));
}

#[test]
fn other_callers_get_the_advice_of_the_rule_alone() {
    for (make, path, id) in [
        (flushes as Make, "append;write_record", "fsync-storm"),
        (removes, "k:ext4_free_blocks;k:submit_bio_wait", "metadata-storm"),
        (asks, "report;ask", "network-wait"),
        (writes, "put_line", "small-io"),
    ] {
        let found = found(make, path, id);
        let of_caller =
            |action: &String| callers().iter().any(|c| c.fix.contains(&action.as_str()));
        assert!(!found.fix.iter().any(of_caller), "{path}: {:?}", found.fix);
    }
}

#[test]
fn less_than_half_of_the_time_is_no_ones() {
    let stack =
        |path: &str| format!("main;{path};libc.so.6!fdatasync;k:do_fsync;k:blkdev_issue_flush");
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    for _ in 0..50 {
        scene.wait(main, 2, Cause::Fsync, &stack("sqlite3PagerCommitPhaseOne"), End::Disk);
        scene.wait(main, 3, Cause::Fsync, &stack("append"), End::Disk);
    }
    scene.counter(Some(main), counter_names::IO_WRITE_BYTES, 5000);
    let found = first(&scene.done(), "fsync-storm").expect("found");
    assert!(!found.fix[0].contains("transaction`"), "{:?}", found.fix);
    assert!(!found.why.contains("SQLite"), "{}", found.why);
}

#[test]
fn each_entry_is_whole_and_names_findings_that_there_are() {
    parse(include_str!("../../callers.toml")).expect("callers.toml");
    let known: BTreeSet<_> = catalogue().iter().map(|doc| doc.id).collect();
    for caller in callers() {
        assert!(!caller.fix.is_empty() && !caller.inside.is_empty(), "{}", caller.id);
        let unknown: Vec<_> = caller.findings.iter().filter(|id| !known.contains(*id)).collect();
        assert!(unknown.is_empty() && !caller.findings.is_empty(), "{}: {unknown:?}", caller.id);
    }
}
