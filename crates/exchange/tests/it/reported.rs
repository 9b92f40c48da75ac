//! Files by which users showed a fault: what each is read as.

use std::path::{Path, PathBuf};

use culprit_exchange::{Format, Imported, read, read_bytes};
use culprit_model::{LossKind, Metric, Recording};

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reported").join(file)
}

fn import(file: &str, format: Option<Format>) -> Imported {
    read(&path(file), format, &mut |_, _| ()).expect(file)
}

/// A file whose format is found by itself.
fn recording(file: &str, format: Format) -> Recording {
    let imported = import(file, None);
    assert_eq!(imported.format, format, "{file}");
    imported.recording
}

/// Each row as `METRIC[.CAUSE] VALUE PROCESS/THREAD ROOT;..;LEAF`, the thread as `NAME:NUMBER`.
fn rows(recording: &Recording) -> Vec<String> {
    let rows = recording.costs.iter().map(|cost| {
        let cause = cost.cause.map(|cause| format!(" {cause}")).unwrap_or_default();
        let thread = cost.thread.map_or("-".to_owned(), |id| {
            let thread = recording.thread(id);
            format!("{}:{}", thread.name, thread.tid.0)
        });
        let frames = cost.stack.into_iter().flat_map(|stack| recording.stack(stack));
        let mut names: Vec<_> = frames.map(|frame| recording.frame_name(frame)).collect();
        names.reverse();
        format!("{}{cause} {} {thread} {}", cost.metric, cost.value, names.join(";"))
    });
    rows.collect()
}

fn sum(recording: &Recording, metric: Metric) -> u64 {
    recording.costs.iter().filter(|cost| cost.metric == metric).map(|cost| cost.value).sum()
}

/// How often something was lost whose detail has a word.
fn lost(recording: &Recording, kind: LossKind, word: &str) -> u64 {
    let of = |loss: &&culprit_model::Loss| loss.kind == kind && loss.detail.contains(word);
    recording.losses.iter().filter(of).map(|loss| loss.count).sum()
}

#[test]
fn a_command_with_a_hexadecimal_name_is_no_frame() {
    let recording = recording("perf-script-hex-comm/in.txt", Format::PerfScript);
    let mut rows = rows(&recording);
    rows.sort();
    assert_eq!(
        rows,
        [
            "cpu cpu.user 250000 C2 CompilerThre:4101 libjvm.so!compile",
            "cpu cpu.user 250000 dd:4200 dd!copy",
            "cpu cpu.user 250000 java:4100 libjvm.so!run",
            "cpu cpu.user 250000 java:4100 libjvm.so!run",
        ]
    );
    assert_eq!(lost(&recording, LossKind::RecordsMalformed, ""), 0);
}

#[test]
fn fields_that_were_not_asked_for_are_unknown() {
    let read = |file: &str| {
        let file = format!("perf-script-fields/{file}");
        import(&file, Some(Format::PerfScript)).recording
    };
    let nocomm = read("nocomm.txt");
    assert_eq!(rows(&nocomm), ["cpu cpu.user 250000 :4100 t!work"; 2]);
    let short = read("short.txt");
    assert_eq!(rows(&short), ["amount 250000 srv:1 work"; 2]);
    assert_eq!(lost(&short, LossKind::MetricGuessed, "name of an event"), 2);
    assert_eq!(lost(&short, LossKind::DetailLeftOut, "without a time"), 2);
    assert_eq!(lost(&short, LossKind::DetailLeftOut, "one command are one thread"), 2);
    let noevent = read("noevent.txt");
    assert_eq!(rows(&noevent), ["samples 1 srv:4100 t!work"; 2]);
    assert_eq!(noevent.meta.wall.0, 250_000);
    let stacks = read("stacks.txt");
    assert_eq!(rows(&stacks), ["samples 1 - t!main;t!work"; 2]);
    assert_eq!(lost(&stacks, LossKind::DetailLeftOut, "their thread is unknown"), 2);
}

#[test]
fn brackets_alone_are_no_kernel() {
    let recording = recording("perf-script-bracket-modules/in.txt", Format::PerfScript);
    assert_eq!(
        rows(&recording),
        [
            "cpu cpu.user 250000 com.example.app:2145 base.apk!main;[JIT app cache]!java.lang.String.hashCode",
            "cpu cpu.user 250000 com.example.app:2145 base.apk!main;[anon:dalvik-jit-code-cache]!art_jni_trampoline",
            "cpu cpu.kernel 250000 CPU 0/KVM:901 [guest.kernel]!schedule",
        ]
    );
}

#[test]
fn modules_hold_brackets_and_may_be_deleted() {
    let recording = recording("perf-script-deleted-module/in.txt", Format::PerfScript);
    assert_eq!(
        rows(&recording),
        ["cpu cpu.user 250000 app:4250 server!main;memfd:doublemapper!App.Run(Int32);/!?"]
    );
    let paths: Vec<_> = recording.modules.iter().map(|module| module.path.as_str()).collect();
    assert!(paths.contains(&"/opt/my app (x86)/server"), "{paths:?}");
    assert!(paths.contains(&"/memfd:doublemapper (deleted)"), "{paths:?}");
    assert_eq!(lost(&recording, LossKind::SymbolsMissing, "[unknown]"), 1);
}

#[test]
fn other_first_lines_do_not_hide_the_format() {
    for (file, kind, word) in [
        ("warnings.txt", LossKind::DetailLeftOut, "that perf did not write"),
        ("mmaps.txt", LossKind::DetailLeftOut, "PERF_RECORD_MMAP"),
        ("itrace.txt", LossKind::DetailLeftOut, "that perf did not write"),
    ] {
        let recording =
            recording(&format!("perf-script-sniff-first-line/{file}"), Format::PerfScript);
        assert_eq!(rows(&recording), ["cpu cpu.user 250000 srv:7223 srv!run"], "{file}");
        assert_eq!(lost(&recording, kind, word), 1, "{file}: {:?}", recording.losses);
    }
}

#[test]
fn other_lines_in_front_hide_no_document() {
    for (format, text) in [
        (
            Format::Speedscope,
            r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}]}"#,
        ),
        (Format::Chrome, r#"[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"f"}]"#),
        (
            Format::PerfViewXml,
            "<StackWindow><StackSource><Samples><Sample Time=\"1\">\nf\n</Sample></Samples></StackSource></StackWindow>",
        ),
    ] {
        let whole = format!("warning: slow\n[info] writing\n{text}\nDone.\n");
        let front = read_bytes("x", whole.into_bytes(), None).expect("read");
        let plain = read_bytes("x", text.as_bytes().to_vec(), None).expect("read");
        assert_eq!(front.format, format);
        assert_eq!(rows(&front.recording), rows(&plain.recording), "{format}");
        assert_eq!(lost(&front.recording, LossKind::DetailLeftOut, "in front of"), 2, "{format}");
    }
}

#[test]
fn threads_of_every_kind_of_label_stay_apart() {
    for (file, names, numbers) in [
        ("ids-as-text.pb.gz", ["Main", "Worker"], Some([4711, 4712])),
        ("ids-of-64-bit.pb.gz", ["Main", "Worker"], None),
        ("names-only.pb.gz", ["main", "worker"], None),
    ] {
        let recording = recording(&format!("pprof-thread-labels/{file}"), Format::Pprof);
        let of = |name: &str| {
            let thread = recording.threads.iter().position(|row| row.name.as_str() == name);
            let costs = recording.costs.iter().filter(|cost| {
                cost.metric == Metric::Cpu && cost.thread.map(|id| id.index()) == thread
            });
            costs.map(|cost| cost.value).sum::<u64>()
        };
        assert_eq!(recording.threads.len(), 2, "{file}: {:?}", recording.threads);
        assert_eq!(names.map(of), [30_000_000, 10_000_000], "{file}");
        let tids: Vec<_> = recording.threads.iter().map(|row| row.tid.0).collect();
        let replaced =
            lost(&recording, LossKind::DetailLeftOut, "threads whose id is not a kernel number");
        match numbers {
            Some(numbers) => assert_eq!((tids, replaced), (numbers.to_vec(), 0), "{file}"),
            None => assert_eq!(replaced, 2, "{file}"),
        }
        assert_eq!(lost(&recording, LossKind::DetailLeftOut, "labels"), 0, "{file}");
    }
}

#[test]
fn gperftools_own_form_is_read() {
    let recording = recording("pprof-of-gperftools/cpu.prof", Format::Pprof);
    assert_eq!(sum(&recording, Metric::Cpu), 30_000_000);
    let counts: u64 = recording.costs.iter().map(|cost| cost.count).sum();
    assert_eq!((counts, recording.costs.len()), (3, 2));
    // Which machine this is read on decides whether there are names.
    let modules: Vec<_> = recording.modules.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(modules, ["/opt/app"]);
}

#[test]
fn fractions_keep_their_sum() {
    let folded = recording("fractional-weights/frac.folded", Format::Collapsed);
    assert_eq!((sum(&folded, Metric::Amount), folded.costs.len()), (60, 11));
    assert_eq!(lost(&folded, LossKind::MetricGuessed, "10 times the file's, whose sum is 6"), 1);
    assert_eq!(folded.costs.iter().map(|cost| cost.count).sum::<u64>(), 6);
    let speedscope = recording("fractional-weights/none.speedscope.json", Format::Speedscope);
    assert_eq!(sum(&speedscope, Metric::Amount), 12);
    assert_eq!(
        lost(&speedscope, LossKind::MetricGuessed, "10 times the file's, whose sum is 1.2"),
        1
    );
}

#[test]
fn fractions_below_the_unit_are_rounded_in_sum_in_every_format() {
    let speedscope = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"},{"name":"g"}]},"profiles":[{"type":"sampled","name":"p","unit":"nanoseconds","startValue":0,"endValue":4,"samples":[[0],[1],[0],[1],[0],[1],[0],[1],[0],[1]],"weights":[0.4,0.4,0.4,0.4,0.4,0.4,0.4,0.4,0.4,0.4]}]}"#;
    let sample = "<Sample Time='1' Metric='0.0000004'>\nf\n</Sample>".repeat(10);
    let xml = format!(
        "<StackWindow><StackSource><Samples>{sample}</Samples></StackSource></StackWindow>"
    );
    let firefox = r#"{"meta":{"preprocessedProfileVersion":55,"startTime":0},"threads":[{"pid":"1","tid":1,"name":"t","stringArray":["f"],"funcTable":{"length":1,"name":[0]},"frameTable":{"length":1,"func":[0]},"stackTable":{"length":1,"frame":[0],"prefix":[null]},"samples":{"length":10,"weightType":"tracing-ms","stack":[0,0,0,0,0,0,0,0,0,0],"time":[1,2,3,4,5,6,7,8,9,10],"weight":[4e-7,4e-7,4e-7,4e-7,4e-7,4e-7,4e-7,4e-7,4e-7,4e-7]}}]}"#;
    for text in [speedscope, &xml, firefox] {
        let imported = read_bytes("x", text.as_bytes().to_vec(), None).expect("read");
        let recording = imported.recording;
        assert_eq!(sum(&recording, Metric::Wall), 4, "{}", imported.format);
        let told = lost(&recording, LossKind::DetailLeftOut, "the sums are rounded");
        assert_eq!(told, 10, "{}", imported.format);
    }
}

#[test]
fn of_two_columns_the_second_is_taken() {
    let recording = recording("difffolded-two-columns/in.folded", Format::Collapsed);
    assert_eq!(rows(&recording), ["samples 2 - main;foo", "samples 4 - main;foo;bar"]);
    assert_eq!(lost(&recording, LossKind::MetricGuessed, "difffolded.pl"), 2);
    let one = read_bytes("x", b"main;foo 1 2\nmain 3\n".to_vec(), None).expect("read").recording;
    assert_eq!(rows(&one), ["samples 2 - main;foo 1", "samples 3 - main"]);
}

#[test]
fn values_below_zero_are_counted_and_added_up() {
    let folded = recording("negative-weights/neg.folded", Format::Collapsed);
    assert_eq!(rows(&folded), ["samples 5 - main;a"]);
    assert_eq!(lost(&folded, LossKind::ValuesNegative, "together -3:"), 1);
    let pprof = recording("negative-weights/diff.pb.gz", Format::Pprof);
    assert_eq!((sum(&pprof, Metric::Live), sum(&pprof, Metric::LiveBytes)), (3, 3000));
    assert_eq!(lost(&pprof, LossKind::ValuesNegative, "together -5 (live):"), 1);
    assert_eq!(lost(&pprof, LossKind::ValuesNegative, "together -5000 (live-bytes):"), 1);
    assert_eq!(lost(&pprof, LossKind::RecordsMalformed, ""), 0);
    assert!(LossKind::ValuesNegative.advice().contains("culprit diff"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let of = |file: &str, format| rows(&recording(&format!("byte-order-mark/{file}"), format));
    assert_eq!(of("bom.folded", Format::Collapsed), ["samples 1 - main;a", "samples 2 - main;b"]);
    assert_eq!(of("utf16.folded", Format::Collapsed), ["samples 1 - main;a", "samples 2 - main;b"]);
    assert_eq!(of("bom.speedscope.json", Format::Speedscope), ["wall 1000000000 - main"]);
    assert_eq!(of("bom.cpuprofile", Format::Cpuprofile).len(), 2);
    assert_eq!(of("bom.strace", Format::Strace).len(), 2);
}

/// Every text fixture reads the same with a mark, and as UTF-16 of either order.
#[test]
fn every_text_is_read_in_every_encoding() {
    for (format, path) in crate::round_trip::fixtures() {
        let bytes = std::fs::read(&path).expect("a fixture");
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let plain = read(&path, None, &mut |_, _| ()).expect("a fixture").recording;
        let wide = |unit: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(unit).collect::<Vec<u8>>()
        };
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for bytes in [marked, wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), &bytes).expect("written");
            for imported in [
                read_bytes("x", bytes.clone(), None),
                read_bytes("x", bytes, Some(format)),
                read(file.path(), None, &mut |_, _| ()),
            ] {
                let imported = imported.unwrap_or_else(|error| panic!("{format}: {error}"));
                assert_eq!(imported.format, format);
                assert_eq!(imported.recording, plain, "{}", path.display());
            }
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_told() {
    let recording = read_bytes("x", b"main;\xff 1\nmain;b 2\n".to_vec(), None).expect("read");
    assert_eq!(lost(&recording.recording, LossKind::DetailLeftOut, "not UTF-8"), 1);
}

#[test]
fn the_samples_table_of_a_trace_is_read() {
    let recording = recording("chrome-samples-table/in.json", Format::Chrome);
    assert_eq!(
        rows(&recording),
        ["samples 1 js:9 root;a", "samples 1 js:9 root;a", "samples 1 js:9 root;b"]
    );
    assert_eq!(recording.processes[0].pid.0, 7);
    let empty = read_bytes("x", br#"{"traceEvents":[]}"#.to_vec(), None);
    assert!(empty.expect_err("nothing in it").to_string().contains("no spans, samples"));
}

#[test]
fn a_call_that_the_programs_newline_cut_is_whole() {
    let recording = recording("strace-output-newline/in.strace", Format::Strace);
    assert_eq!((recording.costs.len(), sum(&recording, Metric::Wall)), (3, 92_000));
    let rows = rows(&recording);
    assert!(rows.iter().any(|row| row.contains("Syscall: write;Arguments: 1, \"\\n\", 1;")));
    assert_eq!(recording.losses, []);
    let cut = b"0.1 getpid() = 1 <0.1>\n0.1 write(1, \"\\n\", 1\n0.2 close(3) = 0 <0.000030>\n";
    let cut = read_bytes("x", cut.to_vec(), None).expect("read").recording;
    assert_eq!(cut.costs.len(), 2);
    assert_eq!(lost(&cut, LossKind::RecordsMalformed, "lines are cut short"), 1);
}

#[test]
fn events_that_share_a_metric_are_told() {
    let text = b"a  100 1.000000: 5 cpu-clock: \n\t            1165 f (/a)\n\n\
                 a  100 1.000001: 7 task-clock: \n\t            1165 f (/a)\n\n";
    let recording = read_bytes("x", text.to_vec(), None).expect("read").recording;
    assert_eq!(sum(&recording, Metric::Cpu), 12);
    assert_eq!(lost(&recording, LossKind::MetricGuessed, "cpu-clock, task-clock"), 2);
}
