use super::super::spec::{Access, Cache, Engine, Spec};
use super::*;

/// Lines of one job, parted by spaces.
fn job(lines: &str) -> Result<Definition, Fault> {
    parse(&format!("[job]\nsize=64m\n{}\n", lines.replace(' ', "\n")))
}

fn spec(lines: &str) -> Spec {
    job(lines).unwrap_or_else(|fault| panic!("{lines}: {fault}")).spec
}

fn notes(lines: &str) -> String {
    job(lines).unwrap_or_else(|fault| panic!("{lines}: {fault}")).notes.join("; ")
}

fn refused(lines: &str) -> String {
    let fault = job(lines).expect_err(lines);
    assert!(fault.hint.is_some(), "{lines}: {fault}");
    fault.what
}

const FILE: &str = "; a comment\r\n[global]\r\nioengine=io_uring # inline\r\nbs=128k\r\n\
        iodepth = 16\r\nnumjobs=4\r\nsize=2g\r\nruntime=2m\r\ntime_based\r\nramp_time=2\r\n\
        group_reporting\r\n\r\n[random-reads]\r\nrw=randrw\r\nrwmixwrite=60\r\nfilename=/data/f\r\n\
        description=random reads of a disk\r\n[other]\r\nrw=trim\r\nnonsense=1\r\n[global]\r\nbs=1\r\n";

#[test]
fn a_whole_file() {
    let found = parse(FILE).unwrap();
    let expected = Spec {
        engine: Engine::IoUring,
        block: 128 << 10,
        threads: 4,
        depth: 16,
        access: Access::Random,
        write_share: 0.6,
        size: 2 << 30,
        warmup: Duration::from_secs(2),
        duration: Duration::from_secs(120),
        cooldown: Duration::ZERO,
        drop_cache: true,
        ..Spec::default()
    };
    assert_eq!(found.spec, expected);
    assert_eq!(found.target.as_deref(), Some("/data/f"));
    let notes = found.notes.join("; ");
    for part in ["`other` ignored", "page cache", "covers each block once", "64 requests"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(found.notes.iter().all(|note| !note.ends_with('.')));
}

#[test]
fn defaults_are_those_of_fio() {
    let found = spec("");
    assert_eq!((found.block, found.threads, found.depth), (4096, 1, 1));
    assert_eq!((found.access, found.cache), (Access::Sequential, Cache::Cached));
    assert_eq!((found.duration, found.warmup), (Spec::default().duration, Duration::ZERO));
    assert!(found.drop_cache && found.write_share.abs() < 1e-9);
    assert!(notes("").contains("no `runtime`"));
    assert!(notes("").contains("without `time_based`"));
    assert!(!notes("runtime=1 time_based").contains("runtime"));
    let found = parse("[a]").unwrap();
    assert!(found.notes.join(" ").contains("no `size`"));
}

#[test]
fn directions_and_shares() {
    for (line, random, writes) in [
        ("rw=read", false, 0.0),
        ("readwrite=write", false, 1.0),
        ("rw=rw", false, 0.5),
        ("rw=readwrite rwmixread=70", false, 0.3),
        ("rw=randread", true, 0.0),
        ("rw=randwrite", true, 1.0),
        ("rw=randrw rwmixread=10 rwmixwrite=40", true, 0.4),
    ] {
        let found = spec(line);
        assert_eq!(found.access == Access::Random, random, "{line}");
        assert!((found.write_share - writes).abs() < 1e-9, "{line}");
    }
    assert!(notes("rw=randread rwmixread=70").contains("one direction only"));
    assert_eq!(spec("rw=randread percentage_random=30").access, Access::Mixed { random: 0.3 });
    assert_eq!(spec("rw=randread percentage_random=0").access, Access::Sequential);
    assert!(!notes("rw=randread norandommap").contains("twice"));
    for line in ["rw=trim", "rw=trimwrite", "rw=scan", "rwmixread=101", "rw=", "rw=randread:0"] {
        refused(line);
    }
}

#[test]
fn offsets_with_a_number_of_their_own() {
    assert_eq!(spec("rw=randread:8").access, Access::Mixed { random: 0.125 });
    assert!(notes("rw=randread:8").contains("one request in 8 goes to a random offset"));
    assert_eq!(spec("rw=randread:1").access, Access::Random);
    assert_eq!(spec("rw=randread:2 rw=read").access, Access::Sequential, "the last one counts");
    // The block counts, wherever it stands.
    let found = spec("rw=write:112k bs=16k");
    assert_eq!((found.access, found.align), (Access::Sequential, Some(128 << 10)));
    assert!(refused("rw=read:-8k").contains("backwards"));
    assert!(refused("rw=randread:8 rw_sequencer=identical").contains("again"));
    assert_eq!(spec("rw=randread:8 rw_sequencer=sequential").access, spec("rw=randread:8").access);
}

#[test]
fn of_values_for_reads_and_writes_the_one_in_use_counts() {
    assert_eq!(spec("rw=randread bs=4k,8k").block, 4 << 10);
    assert!(notes("bs=4k,8k").contains("of `bs=4k,8k` only `4k` counts: the job only reads"));
    assert_eq!(spec("bs=4k,8k,16k rw=write").block, 8 << 10);
    assert_eq!(spec("rw=randrw bs=4k,4k,16k").block, 4 << 10);
    assert!(refused("rw=rw bs=4k,8k").contains("several values"));
    assert_eq!(spec("rw=write rate_iops=1,2").rate, Some(2));
}

#[test]
fn sizes() {
    for (value, bytes) in [
        ("4096", 4096),
        ("4096b", 4096),
        ("4k", 4096),
        ("4K", 4096),
        ("4kb", 4096),
        ("4ki", 4096),
        ("4KiB", 4000),
        ("1m", 1 << 20),
        ("4k,4k", 4096),
    ] {
        assert_eq!(spec(&format!("bs={value}")).block, bytes, "{value}");
    }
    assert!(notes("bs=4KiB").contains("counts 1000"));
    assert_eq!(spec("bs=4k kb_base=1000").block, 4000);
    assert_eq!(spec("kb_base=1000 bs=4kib").block, 4096);
    for value in ["4k-64k", "4q", "k", "", "-1", "50%", "18446744073709551615k", "0x10", "4kß", "0"]
    {
        refused(&format!("bs={value}"));
    }
    assert!(refused("bsrange=4k-64k").contains("several sizes"));
    assert!(refused("bssplit=4k/60:64k/40").contains("several sizes"));
    for line in ["bsrange=8k-8k", "bssplit=8k/100", "bssplit=8k/40:8k/60", "bssplit=8k"] {
        assert_eq!(spec(line).block, 8 << 10, "{line}");
    }
    assert_eq!(parse("[a]\nsize=100%").unwrap().spec.size, Spec::default().size);
    refused("kb_base=7");
}

#[test]
fn places() {
    let found = spec("filesize=1g size=256m");
    assert_eq!((found.size, found.working_set), (1 << 30, Some(256 << 20)));
    assert_eq!(spec("rw=randread ba=512").align, Some(512));
    assert_eq!(spec("rw=read ba=512").align, None);
    let left_out = notes("offset=1m zero_buffers io_size=3m");
    assert!(left_out.contains("`offset`, `io_size` are ignored: "), "{left_out}");
    assert!(left_out.contains("`zero_buffers` is ignored: Culprit writes"), "{left_out}");
    let target = |lines| job(lines).unwrap().target;
    assert_eq!(target("directory=/data filename=f").as_deref(), Some("/data/f"));
    assert_eq!(target("directory=/data").as_deref(), Some("/data"));
    assert_eq!(target(""), None);
    refused("size=1k");
    assert!(refused("nrfiles=3").contains("several files"));
    assert!(notes("rw=randread nr_files=3").contains("one file of the same size"));
    // An escaped colon is part of a name.
    assert!(!notes(r"filename=a\:b").contains("several files"));
    assert!(notes("filename=a:b").contains("several files"));
}

#[test]
fn zoned_devices() {
    assert!(notes("zonemode=zbd zonesize=256m").contains("has no zones"));
    assert!(refused("rw=randwrite zonemode=zbd").contains("sequential within each zone"));
    assert!(refused("zonemode=strided zonesize=1m zoneskip=1m").contains("zone after zone"));
    assert!(!notes("zonemode=none").contains("zone"));
}

#[test]
fn checks_are_left_out_and_what_reads_between_writes_is_refused() {
    assert!(notes("rw=write verify=crc32c").contains("reads all of it back at the end"));
    assert!(!notes("rw=write verify=md5 do_verify=0").contains("reads all of it back"));
    assert!(notes("rw=read verify=meta verify_fatal=1").contains("Culprit does not check"));
    assert!(!notes("rw=write verify=0").contains("check"));
    assert!(refused("rw=write verify=crc32c verify_backlog=64").contains("between the writes"));
    assert!(job("rw=write verify_backlog=64").is_ok() && job("verify_backlog=0").is_ok());
    assert!(refused("verify_only=1").contains("only checks"));
}

#[test]
fn what_is_off_is_no_reason_to_refuse() {
    for line in ["thinktime=0", "latency_target=0", "create_only=0", "rate_process=linear"] {
        assert!(job(line).is_ok(), "{line}");
    }
    for line in ["thinktime=5", "latency_target=1ms", "create_only=1", "rate_process=poisson"] {
        refused(line);
    }
    assert!(refused("read_iolog=trace.log").contains("repeats"));
    assert!(job("fsync=32").is_ok(), "of reads nothing is flushed");
}

#[test]
fn zones() {
    let spot = |requests, bytes| HotSpot { requests, bytes };
    let hot = spec("rw=randread random_distribution=zoned:60/10:30/20").hot;
    assert_eq!(hot, [spot(0.6, 0.1), spot(0.3, 0.2)]);
    let hot = spec("rw=randread random_distribution=zoned:50/25:50/").hot;
    assert_eq!(hot, [spot(0.5, 0.25), spot(0.5, 0.75)]);
    assert_eq!(spec("rw=randread random_distribution=random").hot, []);
    assert!(notes("rw=read random_distribution=zoned:60/10").contains("no effect"));
    for value in ["zipf:1.2", "pareto", "zoned:", "zoned:60", "zoned:a/b", "zoned:60/10,5/5"] {
        refused(&format!("rw=randread random_distribution={value}"));
    }
    refused("rw=randread random_distribution=zoned:60/10:60/10");
}

#[test]
fn engines_and_caches() {
    for (lines, engine, depth) in [
        ("", Engine::Psync, 1),
        ("iodepth=32 direct=1", Engine::Psync, 1),
        ("ioengine=libaio iodepth=8 direct=1", Engine::IoUring, 8),
        ("ioengine=libaio iodepth=8", Engine::Psync, 1),
        ("ioengine=io_uring iodepth=8", Engine::IoUring, 8),
        ("ioengine=posixaio iodepth=8 direct=1", Engine::Psync, 1),
        ("ioengine=vsync iodepth=8 rw=randread", Engine::Psync, 1),
        ("ioengine=splice", Engine::Psync, 1),
        ("ioengine=psync iodepth=8", Engine::Psync, 1),
        ("ioengine=sync", Engine::Psync, 1),
        ("ioengine=pvsync2 iodepth=2", Engine::Psync, 1),
        ("ioengine=mmap iodepth=2", Engine::Mmap, 1),
    ] {
        let found = spec(lines);
        assert_eq!((found.engine, found.depth), (engine, depth), "{lines}");
    }
    assert!(notes("iodepth=8").contains("no `ioengine`: psync, `iodepth` has no effect"));
    assert!(!notes("").contains("ioengine") && !notes("iodepth=1").contains("ioengine"));
    let buffered = notes("ioengine=libaio iodepth=8");
    assert!(buffered.contains("`libaio` without `direct=1` waits for each request"));
    assert!(!notes("ioengine=libaio iodepth=8 direct=1").contains("waits for each request"));
    assert!(notes("ioengine=posixaio iodepth=8").contains("one after the other"));
    assert!(notes("ioengine=psync iodepth=8").contains("waits for each request"));
    assert!(refused("ioengine=vsync iodepth=8").contains("joins"));
    for (lines, cache) in [
        ("direct=1", Cache::Direct),
        ("buffered=0", Cache::Direct),
        ("direct=1 buffered=1", Cache::Cached),
        ("sync=dsync", Cache::WriteThrough),
        ("sync=1 direct=1", Cache::DirectWriteThrough),
        ("sync=none", Cache::Cached),
    ] {
        assert_eq!(spec(lines).cache, cache, "{lines}");
    }
    assert!(!spec("direct=1").drop_cache && !spec("invalidate=0").drop_cache);
    assert!(!spec("pre_read=1").drop_cache);
    assert!(refused("rw=write fdatasync=1").contains("`fdatasync=1` is another workload"));
    assert!(job("rw=write fsync=0").is_ok());
    for lines in ["direct=1 ioengine=mmap", "sync=2", "direct=yes", "iodepth=0"] {
        refused(lines);
    }
}

#[test]
fn engines_of_other_storage_are_named() {
    let found = spec("ioengine=rbd iodepth=32 pool=rbd rw=randwrite");
    assert_eq!((found.engine, found.depth), (Engine::IoUring, 32));
    assert_eq!(found.cache, Cache::Direct);
    let told = notes("ioengine=rbd iodepth=32 pool=rbd rbdname=x");
    assert!(told.contains("`rbd` reaches its storage over a network"), "{told}");
    assert!(told.contains("`pool`, `rbdname` are ignored"), "{told}");
    // Without its engine the option is a mistake.
    assert!(refused("pool=rbd").contains("not supported"));
    assert_eq!(spec("ioengine=http iodepth=4").depth, 1);
    let found = spec("ioengine=dev-dax direct=1 sync=1 rw=randwrite");
    assert_eq!((found.engine, found.cache), (Engine::Mmap, Cache::Cached));
    assert!(notes("ioengine=libpmem").contains("memory itself is the storage"));
    let found = spec("ioengine=sg sg_write_mode=write");
    assert_eq!((found.engine, found.cache), (Engine::Psync, Cache::Direct));
    refused("ioengine=sg sg_write_mode=verify_bytchk_01");
    for (engine, word) in [
        ("null", "does nothing"),
        ("net", "bench net"),
        ("filestat", "bench files"),
        ("exec", "bench cmd"),
        ("cpuio", "computes"),
        ("windowsaio", "another operating system"),
        ("external:x.so", "not supported"),
        ("sesame", "not supported"),
    ] {
        let Fault { what, hint } = job(&format!("ioengine={engine}")).expect_err(engine);
        let fault = format!("{what}; {}", hint.expect(engine));
        assert!(fault.contains("line 3: `ioengine=") && fault.contains(word), "{fault}");
    }
}

#[test]
fn times_and_rates() {
    for (value, time) in [
        ("10", Duration::from_secs(10)),
        ("10s", Duration::from_secs(10)),
        ("1m", Duration::from_mins(1)),
        ("500ms", Duration::from_millis(500)),
        ("7us", Duration::from_micros(7)),
    ] {
        assert_eq!(spec(&format!("runtime={value}")).duration, time, "{value}");
    }
    assert_eq!(spec("runtime=0").duration, Spec::default().duration);
    for value in ["", "s", "1x", "-1", "99999999999999999999", "5000000000", "213503982334602d"] {
        refused(&format!("runtime={value}"));
    }
    assert_eq!(spec("rate_iops=100").rate, Some(100));
    assert_eq!(spec("rate=1m bs=4k").rate, Some(256));
    assert_eq!(spec("rate=1m rate_iops=100").rate, Some(100));
    assert!(notes("rate=10000").contains("rounded"));
    assert!(notes("rw=rw rate_iops=9").contains("both together"));
    for lines in ["rate=1", "rate_iops=0", "rw=rw rate_iops=1,2", "rate=9 bs=0"] {
        refused(lines);
    }
}

#[test]
fn threads() {
    assert_eq!(spec("numjobs=4 offset_increment=1m").thread_stride, 1 << 20);
    assert!(notes("numjobs=4").contains("its own file"));
    assert!(!notes("numjobs=4 filename=f").contains("its own file"));
    assert!(notes("numjobs=4 offset_increment=1m rw=randread").contains("ignored"));
}

#[test]
fn mistakes_are_named() {
    assert!(refused("frobnicate=1").contains("line 3: `frobnicate=1`"));
    assert!(refused("size=${SIZE}").contains("environment"));
    assert!(refused("rw=${RW}").contains("environment"));
    // Neither the target nor other jobs matter.
    assert_eq!(job("directory=${DIR}").unwrap().target.as_deref(), Some("${DIR}"));
    assert!(parse("[a]\nsize=1m\n[b]\nbs=${BS}").is_ok());
    assert!(refused("numjobs=99999999999").contains("numjobs"));
    for text in ["", "\r\n", "# only a comment", "[global]\nbs=4k", "bs=4k\n[a]", "[a", "[]"] {
        assert!(parse(text).expect_err(text).hint.is_some(), "{text}");
    }
    assert!(parse("[a]\ninclude other.fio").unwrap_err().what.contains("another file"));
    // The last of several counts, and a job's own over the global one.
    assert_eq!(parse("[global]\nbs=4k\n[a]\nbs=8k\nbs=16k").unwrap().spec.block, 16 << 10);
    assert_eq!(parse("\u{feff}[a]\nsize=1g").unwrap().spec.size, 1 << 30);
    assert_eq!(spec("stonewall thread loops=3 randrepeat=0 randseed=5").seed, 5);
}

#[test]
fn no_file_is_too_strange() {
    let letters: Vec<char> = "=[]\n\r#;:/,-%0189kmgstib \u{df}\u{130}".chars().collect();
    let mut seed = 1_u64;
    let mut throw = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let more = "rate=1m\nrandom_distribution=zoned:60/10:30/20\nba=512\noffset_increment=1m\n";
    for _ in 0..20_000 {
        let mut text: Vec<char> =
            FILE.replace("[other]", more).replace("trim", "rw").chars().collect();
        for _ in 0..=throw(6) {
            let at = throw(text.len());
            match throw(3) {
                0 => text[at] = letters[throw(letters.len())],
                1 => drop(text.remove(at)),
                _ => text.insert(at, letters[throw(letters.len())]),
            }
        }
        text.truncate(throw(text.len()) + 1);
        let text: String = text.into_iter().collect();
        if let Ok(found) = parse(&text) {
            assert!(found.spec.check().is_ok(), "{text}");
        }
    }
}
