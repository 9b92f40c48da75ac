use super::*;

/// Reads lines of one file.
fn read<'a>(lines: &[&'a str]) -> Vec<Head<'a>> {
    let candidates: Vec<_> = lines.iter().map(|line| (*line, false)).collect();
    let mut layout = Layout::learn(&candidates);
    lines.iter().filter_map(|line| layout.read(line)).collect()
}

#[test]
fn lines_of_many_layouts() {
    for (line, comm, pid, tid, time, period, event) in [
        (
            "perf  1234 [000] 12.345678:     250000 cpu-clock:pppH: ",
            "perf",
            None,
            1234,
            12_345_678_000,
            Some(250_000),
            "cpu-clock:pppH",
        ),
        (
            "  my server (x) 12/13 [001] 1.500000: cycles:",
            "my server (x)",
            Some(12),
            13,
            1_500_000_000,
            None,
            "cycles",
        ),
        (
            "a 7 1.000000001: 1 sched:sched_switch: prev_comm=a prev_pid=7",
            "a",
            None,
            7,
            1_000_000_001,
            Some(1),
            "sched:sched_switch",
        ),
        (
            "a b 7 [002] d..2. 1.250000:  page-faults:  7f00 main+0x4 (/bin/a)",
            "a b",
            None,
            7,
            1_250_000_000,
            None,
            "page-faults",
        ),
        ("ab  1388 U  1.000000:  5 cycles: ", "ab", None, 1388, 1_000_000_000, Some(5), "cycles"),
        (
            "ab  1388   3     1.000000:  5 cycles: ",
            "ab",
            None,
            1388,
            1_000_000_000,
            Some(5),
            "cycles",
        ),
        (":-1    -1 [001]     1.000000: cycles: ", ":-1", None, -1, 1_000_000_000, None, "cycles"),
    ] {
        let head = read(&[line])[0];
        assert_eq!(
            (head.comm, head.pid, head.tid, head.time, head.period, head.event),
            (comm, pid, tid, time, period, event),
            "{line}"
        );
    }
    for line in ["main;a 1", "Total 12 1.5 seconds", "w 1 1.000000: PERF_RECORD_COMM: w:1/1"] {
        assert_eq!(read(&[line]), [], "{line}");
    }
}

#[test]
fn comms_that_look_like_other_fields() {
    let lines = [
        "beef 12  1393  1939.984890:    2004008 cpu-clock: ",
        "1 2.5:  1394  1939.988896:    2004008 cpu-clock: ",
        "[k]  1392  1940.018714:    2004008 cpu-clock: ",
        "7 1.000000: c:  1395  1940.018714:    2004008 cpu-clock: ",
        "PERF_RECORD_X:  1396  1940.018714:    2004008 cpu-clock: ",
    ];
    let comms: Vec<_> = read(&lines).iter().map(|head| (head.comm, head.tid)).collect();
    let expected = [
        ("beef 12", 1393),
        ("1 2.5:", 1394),
        ("[k]", 1392),
        ("7 1.000000: c:", 1395),
        ("PERF_RECORD_X:", 1396),
    ];
    assert_eq!(comms, expected);
    // One of them has most of the lines.
    let odd =
        "  7 1.000000: c: 12153 31763.403488313: cpu-clock:      5642737601dd parse+0x24 (/n)";
    let usual =
        "             a b 12148 31763.348463951: cpu-clock:      5642737601d3 parse+0x1a (/n)";
    for (of_odd, of_usual) in [(1, 9), (9, 1)] {
        let lines = [vec![odd; of_odd], vec![usual; of_usual]].concat();
        let heads: Vec<_> = read(&lines).iter().map(|head| (head.comm, head.tid)).collect();
        let expected = [vec![("7 1.000000: c:", 12153); of_odd], vec![("a b", 12148); of_usual]];
        assert_eq!(heads, expected.concat());
    }
    let lines = ["              dd  1939.984890: ", "             a 5  1939.984990: "];
    let comms: Vec<_> = read(&lines).iter().map(|head| head.comm).collect();
    assert_eq!(comms, ["dd", "a 5"]);
}

#[test]
fn a_record_that_is_no_sample_begins_none() {
    let sample = "named  4226 cpu-clock: ";
    for record in [
        "named  4226 PERF_RECORD_MMAP2 4226/4226: [0x555c0bca8000(0x1000) @ 0x1000 fe:00 10043400 1720169620]: r-xp /tmp/named",
        "named 22 PERF_RECORD_MMAP2 22/22: [0x1000(0x10) @ 0 fe:00 1 2]: r-xp /tmp/named",
        "PERF_RECORD_MMAP 22/22: [0x1000(0x10) @ 0]: x 7 8: /tmp/a b",
        "PERF_RECORD_AUX offset: 0 size: 0 flags: 0 []",
        "named  4226 PERF_RECORD_FORK(5397:5397):(5392:5392)",
    ] {
        let heads = read(&[sample, record]);
        assert_eq!(heads.iter().map(|head| head.tid).collect::<Vec<_>>(), [4226], "{record}");
    }
}

#[test]
fn numbers_are_told_apart_by_their_width() {
    let head = read(&["srv     250000 "])[0];
    assert_eq!((head.comm, head.period, head.has(field::IDS)), ("srv", Some(250_000), false));
    let head = read(&["              ab  1388 "])[0];
    assert_eq!((head.comm, head.tid, head.period), ("ab", 1388, None));
    let head = read(&[" 1388    2004008 "])[0];
    assert_eq!((head.tid, head.period), (1388, Some(2_004_008)));
    let head = read(&["   2004008      561f5bb2c202 parse"])[0];
    assert_eq!((head.period, head.has(field::IDS)), (Some(2_004_008), false));
    assert_eq!(head.rest, "     561f5bb2c202 parse");
}
