//! How code without names gets them, by the runtime that it belongs to.

use culprit_model::{Loss, LossKind, RUNTIMES};

use crate::evidence::Evidence;

/// What to do so that a program whose unnamed time is in a module gets names for its functions.
pub(crate) fn fix(evidence: &Evidence<'_>, module: &str) -> String {
    let fix = format!("To see the functions: {}.", way_out(evidence, module));
    match why_unread(evidence).filter(|_| is_loaded(evidence, module, "python")) {
        Some(why) => format!("{fix} The frames of CPython could not be read: {why}."),
        None => fix,
    }
}

/// True for a module of a runtime, and for generated code where the runtime's module is loaded.
fn is_loaded(evidence: &Evidence<'_>, module: &str, runtime: &str) -> bool {
    let is_of = |name: &str| name.strip_prefix("lib").unwrap_or(name).starts_with(runtime);
    is_of(module)
        || module == "[jit]" && evidence.recording.modules.iter().any(|module| is_of(&module.name))
}

/// The option that gives names to the functions of a program whose unnamed time is in a module.
/// Options as of OpenJDK 17 to 25 and Node.js 18 to 24; the stacks of generated code have frame
/// pointers, but no tables that `--stacks dwarf` could read.
pub(crate) fn way_out(evidence: &Evidence<'_>, module: &str) -> String {
    let loaded = |runtime: &str| is_loaded(evidence, module, runtime);
    if loaded("jvm") && is_set(evidence, "jvm") {
        "run it for longer, so that Culprit reads the methods from the process while it lives"
            .to_owned()
    } else if loaded("jvm") {
        "run java with -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer \
         -XX:+DumpPerfMapAtExit"
            .to_owned()
    } else if loaded("python") && has_trampolines(evidence) {
        "build CPython with -fno-omit-frame-pointer and -mno-omit-leaf-frame-pointer, so that no \
         stack is cut"
            .to_owned()
    } else if loaded("python") {
        unread_python(evidence).to_owned()
    } else if loaded("node") {
        "run node with --perf-basic-prof --interpreted-frames-native-stack".to_owned()
    } else if loaded("coreclr") {
        "run .NET with DOTNET_PerfMapEnabled=1".to_owned()
    } else if module == "[jit]" {
        "let the runtime write a perf map".to_owned()
    } else {
        format!("install the debug symbols of {module}, or keep the unstripped file")
    }
}

/// What helps where the functions of CPython were not read from its memory.
fn unread_python(evidence: &Evidence<'_>) -> &'static str {
    let Some(why) = why_unread(evidence) else {
        let is_missing = |loss: &Loss| loss.kind == LossKind::InterpreterFramesMissing;
        return match evidence.recording.losses.iter().any(is_missing) {
            true => "record for longer: Culprit reads them about 1000 times a second",
            false => "record it again: `culprit record` reads those of CPython 3.8 to 3.14",
        };
    };
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["may not read", "ermission denied", "not permitted"]) {
        "run Culprit as root"
    } else if says(&["which version of Python", "is not supported"]) {
        "run it with CPython 3.8 to 3.14"
    } else {
        "run it with a release build of CPython: debug builds have other layouts in memory"
    }
}

/// Why the recorder could not read the frames of CPython, in its words.
fn why_unread<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    let losses = evidence.recording.losses.iter();
    let missing = losses.filter(|loss| loss.kind == LossKind::InterpreterFramesMissing);
    missing.map(|loss| loss.detail.as_str()).find(|why| !why.is_empty())
}

/// True where the recorder has asked a runtime for names.
fn is_set(evidence: &Evidence<'_>, id: &str) -> bool {
    let runtime = RUNTIMES.iter().find(|runtime| runtime.id == id);
    runtime.is_some_and(|r| matches!(r.set_in(&evidence.recording.meta), Some(Ok(_))))
}

/// True where CPython gives its functions names, as `-X perf` does.
fn has_trampolines(evidence: &Evidence<'_>) -> bool {
    evidence.recording.frames.iter().any(|frame| frame.function.starts_with("py::"))
}
