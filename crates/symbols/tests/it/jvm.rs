//! The methods of real JVMs: what is read from outside, against what the program and the JVM say.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;

use culprit_model::parse_generated_name;
use culprit_symbols::runtimes::jvm::{
    BlobKind, CodeBlob, JavaFrame, Jvm, JvmLayout, JvmProgram, find_jvm,
};
use culprit_symbols::runtimes::{InterpreterError, ProcessMemory};
use culprit_symbols::{Avma, CodeAddress, parse_perf_map};
use culprit_testkit::{program, skip};

use crate::python::live::{LiveMemory, loaded};

/// JVMs that are tried besides those of the system: paths of `java` with colons between.
const MORE: &str = "CULPRIT_TEST_JVMS";

/// Compiles at once, and inlines as the test expects it.
const OPTIONS: [&str; 9] = [
    "-Xbatch",
    "-XX:-TieredCompilation",
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=inline,Live::leaf",
    "-XX:CompileCommand=inline,Live::middle",
    "-XX:CompileCommand=dontinline,Live::keep",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+DumpPerfMapAtExit",
];

/// A running Java program; killed when dropped.
struct Java {
    process: Child,
    input: Option<ChildStdin>,
}

impl Java {
    /// Starts `Live` and waits until it waits.
    fn start(java: &Path, classes: &Path) -> Self {
        let mut command = program(java);
        command.args(OPTIONS).arg("-cp").arg(classes).arg("Live");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it is installed");
        let input = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        answers.read_line(&mut line).expect("UTF-8");
        assert_eq!(line, "ready\n", "{}", java.display());
        Self { process, input }
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn jvm(&self) -> Result<Jvm, InterpreterError> {
        let found = loaded(self.pid(), |file, path| find_jvm(file, path).ok()?);
        let (bias, program) = found.expect("a JVM has libjvm.so");
        open(&LiveMemory(self.pid()), bias, &program)
    }

    /// Ends it and gives what it wrote of its code.
    fn perf_map(mut self) -> Option<Vec<u8>> {
        drop(self.input.take());
        self.process.wait().expect("it ends");
        let path = format!("/tmp/perf-{}.map", self.pid());
        let map = fs::read(&path).ok()?;
        fs::remove_file(path).expect("it was there");
        Some(map)
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Every JVM that is installed, and the folder of the program's classes.
fn with_jvms(test: &str, mut check: impl FnMut(&Path, Java)) {
    let folder = tempfile::tempdir().expect("room");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs/Live.java");
    let mut compiler = program("javac");
    compiler.args(["-g", "--release", "11", "-d"]).arg(folder.path()).arg(source);
    if !compiler.output().is_ok_and(|output| output.status.success()) {
        return skip(test, "javac");
    }
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let mut javas: Vec<PathBuf> = installed
        .filter_map(|folder| fs::canonicalize(folder.path().join("bin/java")).ok())
        .collect();
    let more = std::env::var_os(MORE).unwrap_or_default();
    let more = std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty());
    javas.extend(more);
    javas.sort();
    javas.dedup();
    for java in javas {
        println!("{}", java.display());
        check(&java, Java::start(&java, folder.path()));
    }
}

fn open(memory: &LiveMemory, bias: u64, program: &JvmProgram) -> Result<Jvm, InterpreterError> {
    let layout = JvmLayout::read(memory, bias, program)?;
    Jvm::find(memory, bias, Arc::new(layout))
}

fn blobs(jvm: &mut Jvm, memory: &LiveMemory) -> Vec<CodeBlob> {
    let blocks = jvm.blocks(memory).expect("it waits");
    jvm.blobs(memory, &blocks).expect("it waits")
}

fn describe(frame: &JavaFrame) -> String {
    let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {}{line}", frame.method.name, frame.method.file.as_deref().unwrap_or("?"))
}

#[test]
fn compiled_methods_have_the_names_that_the_jvm_writes() {
    with_jvms("names of compiled methods", |path, java| {
        let memory = LiveMemory(java.pid());
        let mut jvm = java.jvm().expect("it runs");
        let blobs = blobs(&mut jvm, &memory);
        let mut named = Vec::new();
        for blob in &blobs {
            assert_eq!(
                jvm.blob_at(&memory, Avma(blob.code.start)).expect("it waits").as_ref(),
                Some(blob),
            );
            let place = CodeAddress::InstructionPointer(Avma(blob.code.start));
            let frames = jvm.frames_at(&memory, blob, place).expect("it waits");
            named.extend(frames.last().map(|frame| (blob.clone(), frame.method.name.clone())));
        }
        let names: Vec<&str> = named.iter().map(|(_, name)| &**name).collect();
        assert!(names.contains(&"Live.top") && names.contains(&"Live.keep"), "{names:?}");
        let Some(map) = java.perf_map() else {
            return skip("names of compiled methods", "a JVM that writes a map at its end");
        };
        let map = parse_perf_map(&map);
        let mut same = 0;
        for (blob, name) in &named {
            // At its end the JVM runs other methods, and may compile them.
            let Some(written) = map.lookup(Avma(blob.code.start), None) else { continue };
            let written = parse_generated_name(&written.name);
            assert_eq!(written.function, **name, "{} {blob:?}", path.display());
            same += 1;
        }
        assert!(same > 0);
    });
}

#[test]
fn inlined_methods_have_their_lines() {
    with_jvms("inlined methods", |path, java| {
        let memory = LiveMemory(java.pid());
        let mut jvm = java.jvm().expect("it runs");
        let blobs = blobs(&mut jvm, &memory);
        let top = blobs.iter().find(|blob| outermost(&mut jvm, &memory, blob) == "Live.top");
        let top = top.expect("it was called often");
        assert!(top.frame_bytes >= 16 && top.framed_from < top.code.end, "{top:?}");
        let chains = top.code.clone().map(|address| {
            let place = CodeAddress::ReturnAddress(Avma(address));
            let frames = jvm.frames_at(&memory, top, place).expect("it waits");
            frames.iter().map(describe).collect::<Vec<_>>()
        });
        let calls: Vec<Vec<String>> = chains.filter(|chain| chain.len() == 3).collect();
        let expected =
            ["Live.leaf Live.java:11", "Live.middle Live.java:16", "Live.top Live.java:22"];
        assert!(calls.contains(&expected.map(str::to_owned).to_vec()), "{path:?} {calls:?}");
        let beyond = jvm.blob_at(&memory, Avma(0x1000)).expect("it waits");
        assert_eq!(beyond, None);
    });
}

fn outermost(jvm: &mut Jvm, memory: &LiveMemory, blob: &CodeBlob) -> String {
    let place = CodeAddress::InstructionPointer(Avma(blob.code.start));
    let frames = jvm.frames_at(memory, blob, place).expect("it waits");
    frames.last().map(|frame| frame.method.name.to_string()).unwrap_or_default()
}

#[test]
fn interpreted_methods_are_on_the_stack() {
    with_jvms("interpreted methods", |path, java| {
        let memory = LiveMemory(java.pid());
        let mut jvm = java.jvm().expect("it runs");
        let tasks = fs::read_dir(format!("/proc/{}/task", java.pid())).expect("it lives");
        let stacks: Vec<Vec<String>> = tasks
            .filter_map(|task| stack(&memory, &mut jvm, &task.ok()?.path()))
            .filter(|stack| stack.iter().any(|frame| frame.starts_with("Live.")))
            .collect();
        let [stack] = stacks.as_slice() else { panic!("{path:?} {stacks:?}") };
        let own: Vec<&str> =
            stack.iter().map(String::as_str).filter(|frame| frame.starts_with("Live")).collect();
        let lambda = own.iter().position(|frame| frame.starts_with("Live$$Lambda"));
        let lambda = lambda.expect("a lambda's class is between");
        assert_eq!(own[..lambda], ["Live.pause Live.java:27", "Live.lambda$main$0 Live.java:36"]);
        assert_eq!(own[lambda + 1..], ["Live.main Live.java:41"]);
        // What is below the innermost frame may be left from earlier calls.
        let reads = |frame: &String| frame.starts_with("java.io.FileInputStream.readBytes");
        assert!(stack.iter().any(reads), "{stack:?}");
    });
}

/// The interpreted frames of a thread that waits: each pair of a frame pointer and a return address into
/// the interpreter is of one.
fn stack(memory: &LiveMemory, jvm: &mut Jvm, task: &Path) -> Option<Vec<String>> {
    let call = fs::read_to_string(task.join("syscall")).ok()?;
    let top = call.split_whitespace().rev().nth(1)?.strip_prefix("0x")?;
    let top = u64::from_str_radix(top, 16).ok()?;
    let mut frames = Vec::new();
    let word = |address: u64| {
        let mut bytes = [0; 8];
        memory.read(address, &mut bytes).ok().map(|()| u64::from_ne_bytes(bytes))
    };
    for at in (top..top + 0x10000).step_by(8) {
        let (Some(frame), Some(back)) = (word(at), word(at + 8)) else { break };
        if jvm.interpreter().contains(&back) && frame > at && frame < top + 0x10000 {
            let (method, bytecode) = (word(frame - 24)?, word(frame - 64)?);
            frames.extend(jvm.interpreted(memory, method, bytecode).ok().as_ref().map(describe));
        }
    }
    Some(frames)
}

#[test]
fn other_memory_is_no_jvm() {
    with_jvms("hostile memory", |_, java| {
        let memory = LiveMemory(java.pid());
        let mut jvm = java.jvm().expect("it runs");
        for method in [0, 1, 8, 0x1000, jvm.interpreter().start, u64::MAX - 7] {
            assert!(jvm.interpreted(&memory, method, 0).is_err(), "{method:#x}");
        }
        let found = loaded(java.pid(), |file, path| find_jvm(file, path).ok()?);
        let (bias, program) = found.expect("it has one");
        for wrong in [0, bias + 8, bias - 0x1000, u64::MAX - 7] {
            assert!(open(&memory, wrong, &program).is_err(), "{wrong:#x}");
        }
        let routines = |blob: &CodeBlob| blob.kind == BlobKind::Routine;
        let blobs = blobs(&mut jvm, &memory);
        assert!(blobs.iter().any(routines));
        assert!(blobs.iter().any(|blob| blob.kind == BlobKind::Interpreter));
    });
}
