//! EventPipe traces of every version: samples, waits, allocations, and what names addresses.

use std::path::{Path, PathBuf};

use culprit_exchange::{Error, Format, read_bytes};
use culprit_model::{Cause, Cost, LossKind, Metric, Recording};

use crate::blessed::blessed;
use crate::nettrace_file::{Event, Trace, longs, number_of, numbers, sized, text, wide, words};
use crate::round_trip::{edges, sums};

const LOOK: u32 = 1;
const TICK: u32 = 2;
const LOCK: u32 = 3;
const UNLOCK: u32 = 4;
const METHOD: u32 = 5;
const MODULE: u32 = 6;
const COMMAND: u32 = 7;
const COLLECT: u32 = 8;

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// The types of a program's own trace; the runtime's events have no names.
const TYPES: &[(u32, &str, u32, &str, &[&str])] = &[
    (LOOK, "Microsoft-DotNETCore-SampleProfiler", 0, "", &[]),
    (TICK, RUNTIME, 10, "", &[]),
    (LOCK, RUNTIME, 81, "", &[]),
    (UNLOCK, RUNTIME, 91, "", &[]),
    (METHOD, RUNDOWN, 144, "", &[]),
    (MODULE, RUNDOWN, 154, "", &[]),
    (COMMAND, "Microsoft-DotNETCore-EventPipe", 1, "ProcessInfo", &[]),
    (COLLECT, RUNTIME, 1, "", &[]),
];

const MAIN: u64 = 0x7f00_0000_1000;
const PARSE: u64 = 0x7f00_0000_2000;

/// An event of a thread that wrote it itself.
fn event(kind: u32, thread: u64, (stack, time): (u32, u64), payload: Vec<u8>) -> Event {
    Event { kind, thread, capture: thread, stack, time, payload, ..Event::default() }
}

/// The sample profiler's event: its own thread writes it about another one.
fn look(thread: u64, (stack, time): (u32, u64), managed: bool) -> Event {
    Event {
        capture: 90,
        ..event(LOOK, thread, (stack, time), words(&[if managed { 2 } else { 1 }]))
    }
}

fn method(start: u64, space: &str, name: &str) -> Vec<u8> {
    let texts = [wide(space), wide(name), wide("void  ()"), vec![0, 0]].concat();
    [longs(&[start, 5, start]), words(&[0x800, 0x0600_0001, 1]), texts].concat()
}

/// A program that runs, waits for a lock and allocates; a method without a name; a dropped event.
fn dotnet(version: u32) -> Vec<u8> {
    let mut trace = Trace::new(version);
    trace.types(TYPES);
    trace.stacks(1, &[&[PARSE + 0x10, MAIN + 0x20], &[MAIN + 0x30], &[0x10, MAIN + 0x40]]);
    let ms = |ms: u64| 1_000_000 + 1_000 * ms;
    let tick =
        [words(&[102_400, 0]), vec![0, 0], longs(&[102_400, 7]), wide("System.String")].concat();
    trace.events(&[
        look(31, (1, ms(1)), true),
        look(32, (2, ms(1)), false),
        look(31, (1, ms(2)), true),
        look(32, (2, ms(2)), false),
        Event { activity: [7; 16], related: [8; 16], ..look(31, (3, ms(3)), true) },
        look(32, (2, ms(30)), false),
    ]);
    trace.events(&[
        event(TICK, 31, (1, ms(4)), tick),
        event(LOCK, 31, (1, ms(5)), vec![0, 0, 0]),
        event(UNLOCK, 31, (0, ms(12)), vec![0, 0, 0]),
        event(COLLECT, 32, (0, ms(6)), vec![0; 4]),
    ]);
    trace.unknown();
    // The sample profiler's thread has written one more than what is here.
    trace.sequence_point(ms(40), &[(90, 7), (31, 3)]);
    let path = "/usr/share/dotnet/app/work.dll";
    let module = [longs(&[5, 6]), words(&[0, 0]), wide(path), wide(""), vec![0, 0]].concat();
    trace.events(&[
        event(METHOD, 33, (0, ms(50)), method(MAIN, "Work.Program", "Main")),
        event(METHOD, 33, (0, ms(50)), method(PARSE, "Work.Program", "Parse")),
        event(MODULE, 33, (0, ms(51)), module),
        event(COMMAND, 33, (0, ms(52)), wide("/usr/bin/dotnet work.dll 8")),
    ]);
    trace.end()
}

const CPU: u32 = 1;
const SWITCH: u32 = 2;
const PROBE: u32 = 3;
const EXISTING: u32 = 4;
const MAPPING: u32 = 5;
const SYMBOL: u32 = 6;
const TOLD: u32 = 7;
const UNUSED: u32 = 8;

const EVENTS: &str = "Universal.Events";
const SYSTEM: &str = "Universal.System";
const MAPPED: &[&str] =
    &["Id", "StartAddress", "EndAddress", "FileOffset", "FileName", "MetadataId"];
const MAPPED_OF: &[&str] =
    &["Id", "ProcessId", "StartAddress", "EndAddress", "FileOffset", "FileName", "MetadataId"];

/// The types of a trace of a whole machine.
const UNIVERSAL: &[(u32, &str, u32, &str, &[&str])] = &[
    (CPU, EVENTS, 1, "cpu", &["Value"]),
    (SWITCH, EVENTS, 2, "cswitch", &["Value"]),
    (PROBE, EVENTS, 3, "sched_wakeup", &["Value"]),
    (EXISTING, SYSTEM, 0, "ExistingProcess", &["NamespaceId", "Name", "NamespaceName"]),
    (MAPPING, SYSTEM, 3, "ProcessMapping", MAPPED),
    (
        SYMBOL,
        SYSTEM,
        4,
        "ProcessSymbol",
        &["Id", "MappingId", "StartAddress", "EndAddress", "Name"],
    ),
    (TOLD, SYSTEM, 3, "ProcessMapping", MAPPED_OF),
    (UNUSED, "Somebody.Else", 5, "Happened", &[]),
];

const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// Two processes on one machine: one computes, one waits; the kernel's addresses have names.
fn universal() -> Vec<u8> {
    let mut trace = Trace::new(6);
    trace.types(UNIVERSAL);
    let serve = [0x5500_1010, 0x5500_2020];
    let blocked = [KERNEL + 0x20, 0x5500_1018, 0x5500_2020];
    trace.stacks(1, &[&serve, &blocked, &[0x7000_0008]]);
    trace.threads(&[(0, 0, 0, ""), (1, 100, 100, "main"), (2, 100, 101, ""), (3, 200, 200, "")]);
    let by = |kind, thread, at: (u32, u64), payload| Event {
        capture: 0,
        ..event(kind, thread, at, payload)
    };
    let mapping = |id, start, path: &str| {
        [numbers(&[id, start, start + 0x10_0000, 0]), sized(path.as_bytes()), number_of(0)].concat()
    };
    let symbol = |mapping, start, name: &str| {
        [numbers(&[9, mapping, start, start + 0x100]), sized(name.as_bytes())].concat()
    };
    let process = |name: &str| [vec![0], sized(name.as_bytes()), sized(b"Unknown")].concat();
    let us = |us: u64| 1_000_000 + us;
    let mapping_of =
        [numbers(&[4, 200, 0x7000_0000, 0x7000_1000, 0]), sized(b"/usr/lib/libx.so"), vec![0]];
    trace.events(&[
        by(EXISTING, 1, (0, us(0)), process("server")),
        by(EXISTING, 3, (0, us(0)), process("sleeper")),
        by(MAPPING, 1, (0, us(0)), mapping(1, 0x5500_0000, "/opt/app/server")),
        by(SYMBOL, 1, (0, us(0)), symbol(1, 0x5500_1000, "serve")),
        // Counted from the mapping's begin.
        by(SYMBOL, 1, (0, us(0)), symbol(1, 0x2000, "main")),
        by(MAPPING, 1, (0, us(0)), mapping(2, KERNEL, "vmlinux")),
        by(SYMBOL, 1, (0, us(0)), symbol(2, KERNEL, "do_sys_poll")),
        by(TOLD, 1, (0, us(0)), mapping_of.concat()),
        by(CPU, 1, (1, us(1_000)), number_of(1)),
        by(CPU, 2, (2, us(1_500)), number_of(1)),
        by(CPU, 3, (3, us(2_000)), number_of(2)),
        by(SWITCH, 1, (2, us(9_000)), number_of(4_000)),
        Event { labels: 1, ..by(PROBE, 1, (1, us(9_500)), number_of(5)) },
        by(UNUSED, 1, (1, us(9_600)), vec![1, 2, 3]),
    ]);
    trace.sequence_point(us(10_000), &[(0, 16)]);
    trace.stacks(1, &[&[0x5500_2020]]);
    trace.threads(&[(0, 0, 0, ""), (1, 100, 100, "main")]);
    trace.events(&[by(CPU, 1, (1, us(11_000)), number_of(1))]);
    trace.end()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nettrace").join(name)
}

fn recording(bytes: Vec<u8>) -> Recording {
    let imported = read_bytes("x", bytes, None).expect("read");
    assert_eq!(imported.format, Format::Nettrace);
    imported.recording
}

fn sum(recording: &Recording, which: impl Fn(&Cost) -> bool) -> u64 {
    recording.costs.iter().filter(|cost| which(cost)).map(|cost| cost.value).sum()
}

fn lost(recording: &Recording, kind: LossKind) -> u64 {
    recording.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
}

#[test]
fn fixtures_are_what_the_writer_writes() {
    blessed(&fixture("dotnet-v4.nettrace"), &dotnet(4));
    blessed(&fixture("dotnet-v5.nettrace"), &dotnet(5));
    blessed(&fixture("universal-v6.nettrace"), &universal());
    blessed(&fixture("requests-v4.nettrace"), &requests(4, false));
    blessed(&fixture("requests-v5.nettrace"), &requests(5, false));
    blessed(&fixture("requests-v6.nettrace"), &requests(6, true));
}

#[test]
fn headers_in_full_and_in_short_say_the_same() {
    assert_eq!(recording(dotnet(4)), recording(dotnet(5)));
}

#[test]
fn looks_waits_and_allocations_of_a_program() {
    let recording = recording(dotnet(5));
    let sums = sums(&recording);
    let at = |metric, stack: &str| sums.get(&(metric, stack.to_owned())).copied();
    let parse = "work!Work.Program.Main;work!Work.Program.Parse";
    // Two looks a millisecond apart; the second thread's last before a gap counts twice the step.
    assert_eq!(at(Metric::Wall, parse), Some(2_000_000));
    assert_eq!(at(Metric::Wall, "work!Work.Program.Main"), Some(4_000_000));
    assert_eq!(at(Metric::Wall, "work!Work.Program.Main;?!?"), Some(1_000_000));
    assert_eq!(at(Metric::Blocked, parse), Some(7_000_000));
    let string = "work!Work.Program.Main;work!Work.Program.Parse;[type]!System.String";
    assert_eq!(at(Metric::AllocBytes, string), Some(102_400));
    assert_eq!(sum(&recording, |cost| cost.cause == Some(Cause::CpuUser)), 3_000_000);
    assert_eq!(lost(&recording, LossKind::SamplesLost), 1);
    assert_eq!(lost(&recording, LossKind::RecordsMalformed), 0);
    assert_eq!(recording.processes[0].command_line.as_str(), "/usr/bin/dotnet work.dll 8");
    assert_eq!(recording.meta.start.realtime, 1_709_208_000_005_000_000);
}

#[test]
fn collections_are_told_apart_by_their_numbers() {
    let mut trace = Trace::new(5);
    let number = |kind, id| (kind, RUNTIME, id, "", &[][..]);
    trace.types(&[number(1, 1), number(2, 2), number(3, 9), number(4, 3), number(5, 187)]);
    let ms = |ms: u64| 1_000_000 + 1_000 * ms;
    let by =
        |kind, thread, at: u64, payload: &[u32]| event(kind, thread, (0, ms(at)), words(payload));
    trace.events(&[
        // One on a thread of its own, and another while that goes on.
        by(1, 31, 1, &[7, 2, 0, 1]),
        by(3, 31, 2, &[0, 8]),
        by(1, 31, 3, &[8, 0, 0, 0]),
        by(2, 31, 5, &[8, 0]),
        by(4, 31, 6, &[]),
        by(2, 40, 9, &[7, 2]),
        // No end goes with this beginning.
        by(5, 31, 10, &[]),
        // Too short for its number.
        by(1, 31, 11, &[]),
    ]);
    let recording = recording(trace.end());
    assert_eq!(
        edges(&recording, 1_000_000),
        [
            "1 31 start Microsoft-Windows-DotNETRuntime/GC 7",
            "2 31 start Microsoft-Windows-DotNETRuntime/GCSuspendEE",
            "3 31 start Microsoft-Windows-DotNETRuntime/GC 8",
            "5 31 stop Microsoft-Windows-DotNETRuntime/GC 8",
            "6 31 stop Microsoft-Windows-DotNETRuntime/GCSuspendEE",
            "9 40 stop Microsoft-Windows-DotNETRuntime/GC 7",
        ]
    );
    assert_eq!(lost(&recording, LossKind::DetailLeftOut), 1);
    assert_eq!(lost(&recording, LossKind::RecordsMalformed), 1);
}

const HOSTING: &str = "Microsoft.AspNetCore.Hosting";
const HTTP: &str = "System.Net.Http";

/// Numbers of types: a request, what it asks of others, and a loop whose ends have names of their
/// own; a type that starts by its name alone and that nothing stops.
const REQUEST: u32 = 1;
const ASK: u32 = 3;
const LOOP: u32 = 5;
const ONCE: u32 = 7;

/// The ids that .NET makes of the paths 1, 1/1 and 1/2 in process 4711.
fn path(path: u8) -> [u8; 16] {
    let mut id = [0; 16];
    id[0] = 0x10 | path;
    let sum = u32::from(id[0]).wrapping_add(0x599d_99ad) ^ 4711;
    id[12..].copy_from_slice(&sum.to_le_bytes());
    id
}

/// A request that asks twice at once, on and off several threads; a loop without an id.
fn requests(version: u32, plain: bool) -> Vec<u8> {
    let mut trace = Trace::new(version);
    trace.plain = plain;
    for (kind, opcode) in [(REQUEST, 1), (REQUEST + 1, 2), (LOOP, 1), (LOOP + 1, 2)] {
        trace.opcode(kind, opcode);
    }
    trace.types(&[
        (REQUEST, HOSTING, 3, "RequestStart", &["method", "path"]),
        (REQUEST + 1, HOSTING, 4, "RequestStop", &[]),
        (ASK, HTTP, 1, "RequestStart", &["Object", "port"]),
        (ASK + 1, HTTP, 2, "RequestStop", &[]),
        // Ends with no such words: only the opcodes say what they are.
        (LOOP, "Loops", 1, if version == 4 { "LoopStart" } else { "Begin" }, &[]),
        (LOOP + 1, "Loops", 2, if version == 4 { "LoopStop" } else { "Finish" }, &[]),
        (ONCE, "Somebody.Else", 9, "ColdStart", &[]),
    ]);
    let (root, one, two) = (path(0), path(1), path(2));
    let list = |id: [u8; 16]| [vec![1], id.to_vec()].concat();
    let extra = [vec![5], text("route"), text("/"), vec![6], text("n"), vec![3]].concat();
    if version >= 6 {
        let of: Vec<_> = (30..36).map(|at| (at, 4711, at, "")).collect();
        trace.threads(&of);
        trace.labels(1, &[&[list(root)], &[extra, list(one)], &[list(two), vec![9, 4]]]);
    }
    let by = |kind, thread, at: u64, id: [u8; 16]| {
        let labels = [root, one, two].iter().position(|known| *known == id);
        let labels = labels.map_or(0, |at| u32::try_from(at).expect("few") + 1);
        let activity = if version < 6 { id } else { [0; 16] };
        let labels = if version < 6 { 0 } else { labels };
        Event { activity, labels, ..event(kind, thread, (0, 1_000_000 + 1_000 * at), vec![]) }
    };
    trace.events(&[
        by(REQUEST, 30, 1, root),
        by(ASK, 30, 2, one),
        by(ASK, 30, 3, two),
        by(LOOP, 34, 4, [0; 16]),
        by(LOOP, 34, 5, [0; 16]),
        by(LOOP + 1, 34, 6, [0; 16]),
        // The first to begin is the first to end, and elsewhere.
        by(ASK + 1, 31, 7, one),
        by(LOOP + 1, 34, 8, [0; 16]),
    ]);
    trace.events(&[
        by(ASK + 1, 32, 9, two),
        by(REQUEST + 1, 31, 10, root),
        by(LOOP + 1, 35, 11, [0; 16]),
        by(LOOP, 34, 12, [0; 16]),
        by(ONCE, 33, 13, [0; 16]),
    ]);
    trace.end()
}

#[test]
fn starts_and_stops_are_activities_in_every_version() {
    for (version, plain) in [(4, false), (5, false), (5, true), (6, false), (6, true)] {
        let recording = recording(requests(version, plain));
        let task = if version == 4 { "Loop" } else { "Begin" };
        let expected = [
            "1 30 start Microsoft.AspNetCore.Hosting/Request /#4711/1/",
            "2 30 start System.Net.Http/Request /#4711/1/1/",
            "3 30 start System.Net.Http/Request /#4711/1/2/",
            &format!("4 34 enter Loops/{task}"),
            &format!("5 34 enter Loops/{task}"),
            &format!("6 34 leave Loops/{task}"),
            "7 31 stop System.Net.Http/Request /#4711/1/1/",
            &format!("8 34 leave Loops/{task}"),
            "9 32 stop System.Net.Http/Request /#4711/1/2/",
            "10 31 stop Microsoft.AspNetCore.Hosting/Request /#4711/1/",
        ];
        assert_eq!(edges(&recording, 1_000_000), expected, "{version} {plain}");
        let lost = |kind| {
            let of = recording.losses.iter().filter(|loss| loss.kind == kind);
            of.map(|loss| (loss.count, loss.detail.as_str())).collect::<Vec<_>>()
        };
        let unpaired = lost(LossKind::ActivitiesUnpaired);
        assert_eq!(unpaired.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 2], "{unpaired:?}");
        assert_eq!(lost(LossKind::DetailLeftOut), [(1, "Somebody.Else ColdStart")]);
        assert_eq!(lost(LossKind::RecordsMalformed), []);
    }
}

#[test]
fn labels_may_say_what_their_event_is() {
    let mut trace = Trace::new(6);
    trace.threads(&[(1, 9, 11, ""), (2, 9, 12, "")]);
    trace.types(&[(1, "App", 0, "Query", &[])]);
    let id = [vec![1], vec![0xab; 16]].concat();
    trace.labels(1, &[&[vec![7, 1], id.clone()], &[id, vec![7, 2]]]);
    let by = |thread, labels, time| Event { labels, ..event(1, thread, (0, time), vec![]) };
    trace.events(&[by(1, 1, 1_001_000), by(2, 2, 1_004_000)]);
    // Here lists are numbered anew, and no event belongs to one of before.
    trace.sequence_point(1_005_000, &[]);
    trace.events(&[by(1, 1, 1_006_000)]);
    let recording = recording(trace.end());
    let id = "abababab-abab-abab-abab-abababababab";
    let expected = [format!("1 11 start App/Query {id}"), format!("4 12 stop App/Query {id}")];
    assert_eq!(edges(&recording, 1_000_000), expected);
    assert_eq!(lost(&recording, LossKind::DetailLeftOut), 1);
}

#[test]
fn samples_and_switches_of_a_machine() {
    let recording = recording(universal());
    let sums = sums(&recording);
    let at = |metric, stack: &str| sums.get(&(metric, stack.to_owned())).copied();
    assert_eq!(at(Metric::Wall, "server!main;server!serve"), Some(1_000_000));
    // A sample there, and the wait that the switch ended.
    assert_eq!(at(Metric::Wall, "server!main;server!serve;[kernel]!do_sys_poll"), Some(5_000_000));
    assert_eq!(at(Metric::Wall, "libx.so!?"), Some(2_000_000));
    assert_eq!(at(Metric::Wall, "server!main"), Some(1_000_000));
    assert_eq!(at(Metric::Samples, "server!main;server!serve;[event]!sched_wakeup"), Some(1));
    assert_eq!(sum(&recording, |cost| cost.cause == Some(Cause::CpuKernel)), 1_000_000);
    assert_eq!(sum(&recording, |cost| cost.cause == Some(Cause::Other)), 4_000_000);
    assert_eq!(lost(&recording, LossKind::SamplesLost), 2);
    assert_eq!(lost(&recording, LossKind::RecordsMalformed), 0);
    let wait =
        recording.costs.iter().find(|cost| cost.cause == Some(Cause::Other)).expect("a wait");
    assert_eq!((wait.time.0, wait.duration.0), (5_000_000, 4_000_000));
}

#[test]
fn later_versions_and_other_headers_are_refused() {
    let mut later = universal();
    later[12] = 7;
    let mut other = dotnet(5);
    other[12] = b'?';
    for (bytes, word) in [(later, "version 7"), (other, "an unknown kind")] {
        let error = read_bytes("x", bytes, None).expect_err("refused");
        assert!(matches!(&error, Error::Malformed { format: Format::Nettrace, .. }));
        assert!(error.to_string().contains(word), "{error}");
    }
}
