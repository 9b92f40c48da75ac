use super::super::Counters;
use super::super::files::{stall, sum_columns, sum_pairs};
use super::{CounterReader, IoLimits};
use std::path::Path;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_v2_folder_tells_everything() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            (
                "cpu.stat",
                "usage_usec 7\nuser_usec 5\nsystem_usec 2\nnr_periods 3\nnr_throttled 2\nthrottled_usec 5\n",
            ),
            ("cpu.max", "50000 100000\n"),
            ("memory.current", "4096\n"),
            ("memory.peak", "8192\n"),
            ("memory.max", "max\n"),
            ("memory.events", "low 0\nmax 9\noom 1\noom_kill 1\n"),
            ("memory.stat", "file 1\nworkingset_refault_anon 2\nworkingset_refault_file 3\n"),
            (
                "io.stat",
                "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:16 rbytes=10 wbytes=0 rios=1 wios=0\n",
            ),
            ("io.max", "8:0 rbps=max wbps=max riops=max wiops=90\n8:16 rbps=700 wbps=max\n"),
            ("memory.pressure", "some avg10=0.00 total=11\nfull avg10=0.00 total=12\n"),
        ],
    );
    let read = CounterReader { v2: Some(dir.path().into()), ..CounterReader::default() }.read();
    assert_eq!((read.cpu.usage_ns, read.cpu.throttled_ns), (Some(7_000), Some(5_000)));
    assert_eq!((read.cpu.user_ns, read.cpu.system_ns), (Some(5_000), Some(2_000)));
    assert_eq!(read.memory.peak_bytes, Some(8192));
    assert_eq!((read.cpu.quota_ns, read.cpu.period_ns), (Some(50_000_000), Some(100_000_000)));
    assert_eq!((read.memory.usage_bytes, read.memory.limit_bytes), (Some(4096), None));
    assert_eq!((read.memory.limit_hits, read.memory.oom_kills), (Some(9), Some(1)));
    assert_eq!(read.memory.file_refaults, Some(3));
    assert_eq!((read.io.read_bytes, read.io.reads), (Some(11), Some(4)));
    let limits = IoLimits { read_bytes: Some(700), writes: Some(90), ..IoLimits::default() };
    assert_eq!(read.io.limits, limits);
    assert_eq!((read.pressure.memory_full_ns, read.pressure.io_some_ns), (Some(12_000), None));
}

#[test]
fn v1_folders_tell_the_same_things_in_their_own_words() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 5\n"),
            ("cpu.cfs_quota_us", "-1\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("cpuacct.usage", "70\n"),
            ("cpuacct.usage_user", "50\n"),
            ("cpuacct.usage_sys", "20\n"),
            ("memory.usage_in_bytes", "4096\n"),
            ("memory.max_usage_in_bytes", "8192\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.failcnt", "9\n"),
            ("memory.oom_control", "under_oom 0\noom_kill 1\n"),
            ("memory.stat", "workingset_refault_file 3\ntotal_workingset_refault_file 4\n"),
            ("blkio.throttle.io_serviced_recursive", "8:0 Read 6\n8:0 Write 7\nTotal 13\n"),
            ("blkio.throttle.read_bps_device", "8:0 700\n8:16 800\n"),
        ],
    );
    let here = Some(dir.path().to_path_buf());
    let reader = CounterReader {
        cpu: here.clone(),
        cpuacct: here.clone(),
        memory: here.clone(),
        blkio: here,
        ..CounterReader::default()
    };
    let read = reader.read();
    assert_eq!((read.cpu.usage_ns, read.cpu.throttled_ns), (Some(70), Some(5)));
    assert_eq!((read.cpu.user_ns, read.cpu.system_ns), (Some(50), Some(20)));
    assert_eq!(read.memory.peak_bytes, Some(8192));
    assert_eq!((read.cpu.quota_ns, read.cpu.period_ns), (None, Some(100_000_000)));
    assert_eq!((read.memory.limit_bytes, read.memory.limit_hits), (None, Some(9)));
    assert_eq!(read.memory.file_refaults, Some(4));
    assert_eq!((read.io.read_bytes, read.io.writes), (None, Some(7)));
    assert_eq!((read.io.limits.read_bytes, read.io.limits.reads), (Some(700), None));
}

#[test]
fn the_strictest_limit_above_holds() {
    let top = tempfile::tempdir().unwrap();
    let below = top.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let folders = [top.path(), &top.path().join("a"), &below];
    let limits = [("max 100000", "1000"), ("50000 100000", "max"), ("30000 50000", "2000")];
    for (folder, (cpu, memory)) in folders.into_iter().zip(limits) {
        write(folder, &[("cgroup.procs", ""), ("cpu.max", cpu), ("memory.max", memory)]);
    }
    let limits = CounterReader { v2: Some(below), ..CounterReader::default() }.limits();
    assert_eq!(limits.cpu_quota_ns, Some((50_000_000, 100_000_000)));
    assert_eq!(limits.memory_bytes, Some(1000));
}

#[test]
fn an_engines_container_is_found_below_its_parent_when_it_is_there() {
    let top = tempfile::tempdir().unwrap();
    let (parent, container) = (top.path().join("culprit_1"), top.path().join("culprit_1/1234"));
    let reader = CounterReader {
        cpu: Some(parent.clone()),
        cpuacct: Some(parent.clone()),
        above_container: true,
        ..CounterReader::default()
    };
    assert_eq!(reader.read(), Counters::default(), "it is not made yet");
    std::fs::create_dir_all(&container).unwrap();
    write(&parent, &[("cgroup.procs", ""), ("cpu.stat", "nr_periods 0\nnr_throttled 0\n")]);
    write(
        &container,
        &[
            ("cgroup.procs", "12\n"),
            ("cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 5\n"),
            ("cpu.cfs_quota_us", "20000\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("cpuacct.usage", "70\n"),
        ],
    );
    let cpu = reader.read().cpu;
    assert_eq!((cpu.usage_ns, cpu.throttled_periods), (Some(70), Some(2)));
    assert_eq!(cpu.quota_ns, Some(20_000_000));
    std::fs::remove_dir_all(&container).unwrap();
    assert_eq!(reader.read(), Counters::default(), "its parent counts nobody");
}

#[test]
fn a_quota_above_counts_for_those_below() {
    let top = tempfile::tempdir().unwrap();
    let (above, below) = (top.path().join("a"), top.path().join("a/b"));
    std::fs::create_dir_all(&below).unwrap();
    write(
        &above,
        &[
            ("cgroup.procs", ""),
            ("cpu.max", "50000 100000\n"),
            ("cpu.stat", "usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 1\n"),
        ],
    );
    write(&below, &[("cgroup.procs", "1\n"), ("cpu.stat", "usage_usec 7\n")]);
    let cpu = CounterReader { v2: Some(below), ..CounterReader::default() }.read().cpu;
    assert_eq!((cpu.usage_ns, cpu.throttled_periods), (Some(7_000), Some(3)));
    assert_eq!(cpu.quota_ns, Some(50_000_000));
}

#[test]
fn only_what_is_there_is_named() {
    assert_eq!(Counters::default().named().count(), 0);
    assert_eq!(CounterReader::default().read(), Counters::default());
}

#[test]
fn sums_run_over_devices() {
    assert_eq!(sum_pairs("8:0 rbytes=5 \n8:1 rbytes=6", "rbytes"), 11);
    assert_eq!(sum_columns("8:0 Read 5\n8:0 Write 1\n8:1 Read 6\nTotal 12", "Read"), 11);
    assert_eq!(stall("some total=3\nfull total=x", "full"), None);
}
