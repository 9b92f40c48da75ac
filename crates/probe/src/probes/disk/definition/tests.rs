use super::super::spec::Engine;
use super::*;

fn mixed() -> Spec {
    Spec {
        engine: Engine::IoUring,
        block: 128 << 10,
        threads: 4,
        depth: 16,
        write_share: 0.6,
        size: 2 << 30,
        ..Spec::default()
    }
}

/// A difference that says `part`, and nothing else.
fn tells(claim: &str, spec: &Spec, part: &str) {
    let found = differences(claim, spec);
    assert!(found.len() == 1 && found[0].contains(part), "{claim}: {found:?}");
    assert!(!found[0].ends_with('.'), "{found:?}");
}

fn silent(claim: &str, spec: &Spec) {
    assert_eq!(differences(claim, spec), Vec::<String>::new(), "{claim}");
}

#[test]
fn published_random_reads_are_mostly_writes() {
    assert_eq!(
        differences("random reads", &mixed()),
        ["the claim is `random reads`, but 60 % of the requests are writes"]
    );
}

#[test]
fn direction() {
    let reads = Spec::default();
    let writes = Spec { write_share: 1.0, ..Spec::default() };
    tells("Random WRITES", &mixed(), "40 % of the requests are reads");
    tells("randwrite", &reads, "all requests are reads");
    tells("reading", &writes, "all requests are writes");
    tells("mostly reads", &mixed(), "60 % of the requests are writes");
    for claim in ["read/write", "mixed", "rw", "randrw", "reads and writes", "write-heavy"] {
        silent(claim, &mixed());
    }
    for claim in ["rand-read", "read_only", "no writes", "spread", "already", "reads, no write"] {
        silent(claim, &reads);
    }
    silent("write-through cache warm reads", &reads);
    silent("write", &writes);
}

#[test]
fn shares() {
    silent("60% writes", &mixed());
    silent("40 % reads", &mixed());
    silent("40/60 random read/write", &mixed());
    silent("60/40", &mixed());
    silent("reads 40% writes 60%", &mixed());
    silent("100% random 60 % write", &mixed());
    tells("70% read 30% write", &mixed(), "60 % of the requests are writes");
    tells("70/30 read/write", &mixed(), "60 % of the requests are writes");
    tells("30% writes", &Spec::default(), "all requests are reads");
}

#[test]
fn order() {
    let random = Spec::default();
    let sequential = Spec { access: Access::Sequential, ..Spec::default() };
    let both = Spec { access: Access::Mixed { random: 0.3 }, ..Spec::default() };
    tells("seqread", &random, "all requests are random");
    tells("sequentially", &both, "30 % of the requests are random");
    tells("random", &sequential, "all requests follow the previous one");
    tells("random", &both, "70 % of the requests follow the previous one");
    silent("random and sequential", &both);
    silent("sequential", &sequential);
    silent("random data", &sequential);
    silent("consequence, randomized", &sequential);
    silent("non-random", &sequential);
}

#[test]
fn page_cache_and_disk() {
    let cached = Spec::default();
    let direct = Spec { cache: Cache::Direct, ..Spec::default() };
    let writes = Spec { write_share: 1.0, ..Spec::default() };
    tells("direct", &cached, "through the page cache");
    tells("O_DIRECT", &cached, "through the page cache");
    tells("buffered", &direct, "bypasses the page cache");
    tells("NVMe speed", &cached, "reads of cached pages come from memory");
    tells("disk", &writes, "before they are on the disk");
    silent("disk", &direct);
    silent("disk", &Spec { drop_cache: true, ..Spec::default() });
    silent("not cached", &direct);
    silent("cached reads of a disk", &cached);
    silent("indirect", &cached);
}

#[test]
fn durability() {
    let writes = Spec { write_share: 1.0, ..Spec::default() };
    tells("durable", &writes, "before they are on the disk");
    tells("sync", &Spec { cache: Cache::Direct, ..writes.clone() }, "own cache");
    silent("sync", &Spec { cache: Cache::WriteThrough, ..writes.clone() });
    silent("sync", &Spec::default());
    silent("async psync", &writes);
    silent("sync engine", &writes);
}

#[test]
fn depth_and_threads() {
    for claim in ["qd32", "QD 32", "queue depth 32", "queue depth of 32", "iodepth=32", "q32t4"] {
        tells(claim, &mixed(), "16 are in flight for each thread");
    }
    for claim in ["qd16", "QD64", "queue depth", "Q16T4", "qd 99999999999999999999999"] {
        silent(claim, &mixed());
    }
    tells("8 threads", &mixed(), "4 threads run");
    tells("q16t2", &mixed(), "4 threads run");
    tells("single-threaded", &mixed(), "4 threads run");
    tells("multi-threaded", &Spec::default(), "1 thread runs");
    silent("4 threads, 4 jobs", &mixed());
    silent("16 requests per thread", &mixed());
}

#[test]
fn block_sizes() {
    for claim in ["4k", "4 KiB", "8KB", "bs=64k", "2m blocks", "bs4k"] {
        tells(claim, &mixed(), "a request has 128 KiB");
    }
    for claim in ["128K", "128 KiB", "10k IOPS", "64k files", "2g", "100m", "4k aligned 128k"] {
        silent(claim, &mixed());
    }
}

#[test]
fn a_claim_that_nothing_could_contradict_is_known() {
    let known = [
        "random reads",
        "sequential",
        "writes",
        "60 % writes",
        "cached",
        "O_DIRECT",
        "4k",
        "128 KiB",
        "qd1",
        "qd 32",
        "4 threads",
        "fsync",
    ];
    for claim in known {
        assert!(is_understood(claim), "{claim}");
    }
    for claim in ["", "fast", "bananas", "the database of the shop", "10k IOPS"] {
        assert!(!is_understood(claim), "{claim}");
    }
}

#[test]
fn no_claim_is_too_strange() {
    let mut seed = 7_u64;
    let parts = ["read", "write", "60", "%", "/", "qd", "q1t", "4k", "ß", "İ", "not", "bs", " "];
    for _ in 0..3000 {
        let mut claim = String::new();
        for _ in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            claim.push_str(parts[usize::try_from(seed >> 33).unwrap() % parts.len()]);
        }
        assert!(differences(&claim, &mixed()).len() < 9);
    }
    silent("", &mixed());
}
