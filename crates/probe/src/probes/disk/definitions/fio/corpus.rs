//! Job files in the shapes that people write and distributions ship, and those that a distribution
//! shipped here.

use std::path::PathBuf;

use super::parse;

/// A job file, and what its explanation says.
type Explained = (&'static str, &'static [&'static str]);

const EXPLAINED: &[Explained] = &[
    (
        "[a]\nrw=randread\nbs=4k\nsize=64m\niodepth=32\ndirect=1\n",
        &[
            "1 thread, each waiting for its request (psync)",
            "no `ioengine`: psync, `iodepth` has no effect",
        ],
    ),
    (
        "; one engine, several depths\n[global]\nioengine=libaio\nbuffered=0\nrw=randread\nbs=64k\n\
         size=1g\ndirectory=/srv/data\n[four]\niodepth=4\n[many]\niodepth=64\n",
        &["4 in flight (io_uring)", "without the page cache", "`many` ignored"],
    ),
    (
        "[global]\nname=mixed\nfilename=mixed\nrw=randrw\nrwmixread=75\nrwmixwrite=25\nbs=8K\ndirect=0\n\
         numjobs=2\ntime_based\nruntime=600\n[file]\nsize=4G\nioengine=libaio\niodepth=8\n",
        &[
            "75 % reads and 25 % writes",
            "`libaio` without `direct=1` waits for each request",
            "2 threads",
        ],
    ),
    (
        "[written-and-checked]\nrw=randwrite\nbs=4k\ndirect=1\nioengine=libaio\niodepth=8\n\
         verify=crc32c\nfilename=/dev/sdx\n",
        &["8 in flight", "reads all of it back at the end"],
    ),
    (
        "[global]\nfilename=/tmp/f\nbs=4k\ndirect=1\nsize=1m\n[there]\nrw=read\nflow=2\n[back]\n\
         rw=read:-8k\nflow=2\n",
        &["`flow` is ignored: Culprit runs one job alone", "`back` ignored"],
    ),
    (
        "[global]\nfilename=/dev/sdx\ndirect=1\nwrite_lat_log=prio\nlog_prio=1\n[share]\nrw=randread\n\
         bs=128k\nioengine=libaio\niodepth=8\nprioclass=3\ncmdprio_percentage=20\ncmdprio_class=1\n",
        &["`prioclass`, `cmdprio_percentage`, `cmdprio_class` are ignored"],
    ),
    (
        "[global]\nioengine=libaio\niodepth=256\nsize=100m\ndedupe_mode=working_set\ndedupe_global=1\n\
         dedupe_percentage=50\nblocksize=4k\nrw=write\nbuffer_compress_percentage=50\n[a]\n[b]\n",
        &["`buffer_compress_percentage` are ignored: Culprit writes data that cannot be \
           compressed"],
    ),
    (
        "[global]\nioengine=libaio \ndirectory=/scratch\nfilesize=1G\nsize=9G\niodepth=16\n\
         continue_on_error=write\nignore_error=,ENOSPC\nerror_dump=0\nfallocate=none\nexitall\n\
         [full]\nbs=128k \ndirect=1\nbuffered=0 \nrw=randwrite\nruntime=100\ntime_based\n",
        &["16 in flight", "writes of 128 KiB"],
    ),
    (
        "[paced]\nsize=128m\nrw=read\nioengine=libaio\niodepth=4\ndirect=1\nio_submit_mode=offload\n\
         rate_iops=1000\n",
        &["at most 1000 requests per second", "`io_submit_mode` is ignored"],
    ),
    (
        "[global]\nioengine=libaio\nbuffered=0\nrw=randread\nbs=512K\niodepth=16\nsize=512m\n[node]\n\
         numa_cpu_nodes=0\nnuma_mem_policy=bind:0\n",
        &["`numa_cpu_nodes`, `numa_mem_policy` are ignored: Culprit's threads run on the CPUs"],
    ),
    (
        "[global]\nthreads=1\ngroup_reporting\ntime_based\nsize=128m\n[steady]\nfilename=/dev/null\n\
         rw=write\nbs=128k\nnumjobs=4\nruntime=5m\nss=iops:10%\nss_dur=30s\nss_ramp=10s\n",
        &["`ss`, `ss_dur`, `ss_ramp` are ignored: Culprit ends the run when its time is over"],
    ),
    (
        "[global]\nthread\nbs=64k\ndirect=1\nioengine=sync\nverify=meta\nverify_pattern=0xaa\n\
         verify_interval=512\n[fill]\nfilename=f ; or a disk\nrw=write\nfill_device=1\ndo_verify=0\n",
        &[
            "fio puts a checksum into each block that it writes. Culprit",
            "`fill_device` is ignored",
        ],
    ),
    (
        "[global]\ndirect=1\nsize=512m\nbsrange=4k-4k\ntimeout=60\nnumjobs=4\n[w]\nrw=write\n[r]\n\
         stonewall\nrw=read\n",
        &["writes of 4 KiB", "4 threads", "60 s measured"],
    ),
    (
        "[global]\nrw=randread\nsize=1G\nbs=4K\ndirect=1\nthread=1\ntime_based=1\nruntime=7\nramp_time=3\n\
         norandommap=1\nallow_file_create=0\n[fixed]\n[chosen]\nrw=${RW}\nbs=${BS}\n",
        &["reads of 4 KiB", "`chosen` ignored"],
    ),
    (
        "[zones]\nname=seq\nrw=read\nbs=256K\ndirect=1\nzonemode=zbd\nzonesize=256M\nread_beyond_wp=0\n\
         filename=/dev/sdx\noffset=140660178944\nsize=10G\nioengine=libaio\niodepth=16\n",
        &["`zonemode=zbd`: the file has no zones", "`offset` is ignored"],
    ),
    (
        "[hot]\nsize=2g\ndirect=1\nbs=4k\nrw=randread\nnorandommap\nrandom_distribution=zoned:50/5:50/\n",
        &["50 % of the requests go to 5 % of the file"],
    ),
    (
        "[image]\nioengine=rbd\nclientname=admin\npool=rbd\nrbdname=test\nrw=randwrite\nbs=4k\niodepth=32\n",
        &["32 in flight (io_uring)", "`rbd` reaches its storage over a network"],
    ),
    (
        "[pmem]\nbs=4k\nsize=1g\nioengine=libpmem\niodepth=1\niodepth_batch=1\ndirect=1\nsync=1\n\
         scramble_buffers=1\nrw=write\n",
        &["(mmap)", "memory itself is the storage"],
    ),
    (
        "[pass-through]\nfilename=/dev/ng0n1\nioengine=io_uring_cmd\ncmd_type=nvme\nsize=1G\niodepth=32\n\
         bs=4K\nrw=randwrite\nsqthread_poll=1\nregisterfiles=1\n",
        &["32 in flight", "`io_uring_cmd` talks to a device", "`cmd_type` is ignored: it is about"],
    ),
];

/// A job file, and why it is refused.
const REFUSED: &[(&str, &str)] = &[
    ("[a]\nrw=read:-8k\nbs=4k\nsize=1m\n", "goes backwards"),
    ("[a]\nbssplit=512/10:4k/60:64k/30\nrw=randrw\nsize=4g\n", "several sizes"),
    ("[a]\nrw=write:112k\nbs=16k\nverify=crc32c\nverify_backlog=1\n", "between the writes"),
    ("[a]\nzonemode=strided\nzonesize=256m\nzoneskip=2g\n", "zone after zone"),
    ("[a]\nsize=1m\nthinktime=2000\n", "pauses between requests"),
    ("[a]\nrw=randread\nlatency_target=500000\n", "searches for a depth"),
    ("[a]\nsize=32m\nrate=1250\n", "less than one request per second"),
    ("[a]\nrate_iops=50\nrate_process=poisson\n", "random times"),
    ("[a]\nioengine=filecreate\nnrfiles=200\nfilesize=4k\n", "moves no data"),
    ("[a]\nioengine=net\nport=8888\n", "sends over a network"),
    ("[a]\nioengine=null\nsize=1g\n", "measures fio itself"),
    ("[a]\nioengine=http\nrw=trim\n", "does not trim"),
];

#[test]
fn what_does_not_change_the_result_is_explained() {
    for (text, parts) in EXPLAINED {
        let found = parse(text).unwrap_or_else(|fault| panic!("{text}: {}", fault.what));
        let told: Vec<String> = found.spec.words().into_iter().chain(found.notes).collect();
        let told = told.join("\n");
        for part in *parts {
            assert!(told.contains(part), "{part} in the explanation of\n{text}\n{told}");
        }
    }
}

#[test]
fn what_changes_the_result_is_refused_with_the_reason_and_a_way_out() {
    for (text, part) in REFUSED {
        let fault = parse(text).expect_err(text);
        assert!(fault.what.contains(part) && fault.hint.is_some(), "{text}: {fault:?}");
    }
}

#[test]
fn most_examples_of_the_distribution_are_explained() {
    let folder = std::env::var_os("FIO_EXAMPLES").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| "/usr/share/doc/fio/examples".into());
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_job = |path: &PathBuf| path.extension().is_some_and(|end| end == "fio");
    let jobs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_job).collect();
    if jobs.is_empty() {
        println!(
            "skipped: most_examples_of_the_distribution_are_explained: no job file in {} (Debian's \
             package `fio-examples`)",
            folder.display()
        );
        return;
    }
    let mut refused = Vec::new();
    for path in &jobs {
        let text = std::fs::read_to_string(path).expect("a job file");
        if let Err(fault) = parse(&text) {
            refused.push(format!("{}: {}", path.display(), fault.what));
        }
    }
    let explained = jobs.len() - refused.len();
    println!("{explained} of {} are explained; refused:\n{}", jobs.len(), refused.join("\n"));
    assert!(explained * 2 >= jobs.len(), "{explained} of {}: {refused:#?}", jobs.len());
}
