//! Programs whose allocations were not sampled, or not all of them, and why.
//!
//! ```text
//! exec of a program   maps the library             its calls of malloc were sampled
//!                       and a language runtime     not what that allocates on a heap of its own
//!                     maps a dynamic linker only   the linker did not load it: a program with more rights
//!                                                  than its caller (setuid), another root, 32 bits
//!                     neither                      linked statically: there is nobody to load it
//!                       and runs Go's runtime      and it has a heap of its own
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use culprit_model::{Frame, Loss, LossKind, MarkKind, ProcessId, Recording, Runtime, Text, Time};

use crate::symbolize::modules::base_name;

/// Programs that are named at most; the rest is counted.
const MOST_NAMED: usize = 20;

// Reports cut the middle of a long detail: the ends have to do.
const STATIC: &str = "not sampled, because it is linked statically";
const NOT_LOADED: &str = "not sampled: setuid, another root, 32 bits, or LD_PRELOAD removed";
const GO: &str = "its Go heap was not sampled; use Go's own heap profile";

/// What a runtime does not ask `malloc` for, and how it can be seen, by the runtime's id.
const MANAGED_HEAPS: [(&str, &str); 3] = [
    ("jvm", "its Java heap was not sampled; use JDK Flight Recorder"),
    ("node", "its JavaScript heap was not sampled; use `node --heap-prof`"),
    ("dotnet", "its managed heap was not sampled; use `dotnet-trace`"),
];

/// The same of interpreters, by how the name of their program or library begins.
const INTERPRETER_HEAPS: [(&[&str], &str); 3] = [
    (&["python", "libpython"], "objects up to 512 bytes are sampled only with PYTHONMALLOC=malloc"),
    (&["php", "libphp"], "its PHP heap is sampled only with USE_ZEND_ALLOC=0"),
    (&["ruby", "libruby"], "its Ruby objects were not sampled; use `ObjectSpace`"),
];

/// One row for each program and reason. The rows of the recording must be whole.
pub(crate) fn losses(recording: &Recording, library: &Path) -> Vec<Loss> {
    let go = go_programs(recording);
    let mut found: BTreeMap<(&str, &str), (u64, Time)> = BTreeMap::new();
    for (process, program, from, to) in executions(recording) {
        let maps = || {
            let of_process = recording.mappings.iter().filter(move |row| row.process == process);
            let during = of_process.filter(move |row| (from..=to).contains(&row.time));
            during.filter_map(|row| recording.modules.get(row.module.index()))
        };
        let runs_go = maps().any(|module| go.contains(&module.path));
        let mut why: BTreeSet<&str> = runs_go.then_some(GO).into_iter().collect();
        if maps().any(|module| Path::new(&*module.path) == library) {
            why.extend(maps().filter_map(|module| own_heap(base_name(&module.path))));
        } else if maps().any(|module| is_linker(&module.path)) {
            why.insert(NOT_LOADED);
        } else if !runs_go {
            why.insert(STATIC);
        }
        for why in why {
            found.entry((program, why)).or_insert((0, from)).0 += 1;
        }
    }
    let rest: u64 = found.values().skip(MOST_NAMED).map(|(count, _)| count).sum();
    let loss = |count, from, detail: String| Loss {
        kind: LossKind::AllocationsMissing,
        count,
        from,
        to: None,
        detail: detail.into(),
    };
    let named = found.iter().take(MOST_NAMED);
    let named = named.map(|((program, why), (count, from))| {
        loss(*count, Some(*from), format!("{program}: {why}"))
    });
    let others = (rest > 0).then(|| loss(rest, None, "more programs like these".to_owned()));
    named.chain(others).collect()
}

/// What the runtime or interpreter of this file does not ask `malloc` for.
fn own_heap(file: &str) -> Option<&'static str> {
    let managed = Runtime::of_module(file).and_then(|runtime| {
        MANAGED_HEAPS.iter().find(|(id, _)| *id == runtime.id).map(|(_, words)| *words)
    });
    managed.or_else(|| {
        let is_named = |names: &[&str]| names.iter().any(|name| file.starts_with(name));
        INTERPRETER_HEAPS.iter().find(|(names, _)| is_named(names)).map(|(_, words)| *words)
    })
}

/// The files in which Go's runtime ran: each of its goroutines begins in one function.
fn go_programs(recording: &Recording) -> BTreeSet<&Text> {
    let is_go = |frame: &&Frame| frame.function.as_str() == "runtime.goexit";
    let modules = recording.frames.iter().filter(is_go).filter_map(|frame| frame.module);
    modules.filter_map(|module| Some(&recording.modules.get(module.index())?.path)).collect()
}

/// Each execution of a recorded process, with its program and from when to when it had its memory.
fn executions(recording: &Recording) -> Vec<(ProcessId, &str, Time, Time)> {
    let is_recorded =
        |id: ProcessId| recording.processes.get(id.index()).is_some_and(|process| process.recorded);
    let marks: Vec<_> = recording
        .marks
        .iter()
        .filter(|mark| mark.kind == MarkKind::Exec && is_recorded(mark.process))
        .collect();
    let mut found = Vec::new();
    let mut next: BTreeMap<ProcessId, Time> = BTreeMap::new();
    for mark in marks.iter().rev() {
        let to = next.insert(mark.process, mark.time).unwrap_or(Time(u64::MAX));
        found.push((mark.process, &*mark.text, mark.time, to));
    }
    found
}

/// glibc's and musl's dynamic linkers are called `ld-linux-x86-64.so.2`, `ld-musl-aarch64.so.1` and the like,
/// or `ld-2.31.so`; musl's is the C library at the same time.
fn is_linker(path: &str) -> bool {
    let name = base_name(path);
    name.starts_with("ld-") && name.contains(".so")
}

#[cfg(test)]
mod tests {
    use culprit_model::{Mapping, Mark, Module, ModuleId, Pid, Process};

    use super::*;

    const LIBRARY: &str = "/var/tmp/x/libculprit-alloc.so";

    fn recording(executed: &[(u32, u64, &str, &[&str])]) -> Recording {
        let mut recording = Recording::default();
        for (process, time, program, maps) in executed {
            let process = ProcessId(*process);
            while recording.processes.len() <= process.index() {
                recording.processes.push(Process::new(Pid(1), "p", Time::START));
            }
            let (time, kind, text) = (Time(*time), MarkKind::Exec, (*program).into());
            recording.marks.push(Mark { time, kind, process, thread: None, text });
            for path in *maps {
                let module = ModuleId::from_index(recording.modules.len());
                let (name, path) = (base_name(path).into(), (*path).into());
                let (build_id, symbols, lines) = (None, true, false);
                recording.modules.push(Module { name, path, build_id, symbols, lines });
                let time = Time(time.0 + 1);
                let map = Mapping { time, process, address: 0, length: 1, offset: 0, module };
                recording.mappings.push(map);
            }
        }
        recording
    }

    #[test]
    fn programs_without_the_library_are_told_with_the_reason() {
        let loader = "/lib64/ld-linux-x86-64.so.2";
        let recording = recording(&[
            (0, 10, "/bin/sh", &[loader, LIBRARY]),
            (0, 20, "/bin/static", &["/bin/static"]),
            (1, 30, "/bin/sudo", &["/bin/sudo", loader]),
            (2, 40, "/bin/static", &["/bin/static"]),
        ]);
        let rows = losses(&recording, Path::new(LIBRARY));
        let told: Vec<_> = rows.iter().map(|row| (row.count, row.detail.to_string())).collect();
        let detail = |program: &str, why: &str| format!("{program}: {why}");
        assert_eq!(
            told,
            [(2, detail("/bin/static", STATIC)), (1, detail("/bin/sudo", NOT_LOADED))]
        );
    }

    fn details(recording: &Recording) -> Vec<String> {
        losses(recording, Path::new(LIBRARY)).iter().map(|row| row.detail.to_string()).collect()
    }

    #[test]
    fn runtimes_with_a_heap_of_their_own_are_told_with_what_shows_it() {
        let recording = recording(&[
            (0, 10, "/opt/bin/java", &[LIBRARY, "/opt/lib/server/libjvm.so"]),
            (1, 20, "/usr/bin/node", &["/usr/bin/node", LIBRARY]),
            (2, 30, "/usr/bin/gunicorn", &["/usr/bin/python3.11", LIBRARY]),
            (3, 40, "/usr/bin/node_exporter", &["/usr/bin/node_exporter", LIBRARY]),
            // The linker did not load the library: nothing was sampled at all.
            (4, 50, "/usr/bin/dotnet", &["/usr/lib/libcoreclr.so", "/lib/ld-linux-x86-64.so.2"]),
        ]);
        let rows = details(&recording);
        let told: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert_eq!(
            told,
            [
                "/opt/bin/java: its Java heap was not sampled; use JDK Flight Recorder",
                &format!("/usr/bin/dotnet: {NOT_LOADED}"),
                "/usr/bin/gunicorn: objects up to 512 bytes are sampled only with PYTHONMALLOC=malloc",
                "/usr/bin/node: its JavaScript heap was not sampled; use `node --heap-prof`",
            ]
        );
    }

    #[test]
    fn a_program_of_go_is_told_by_its_runtime_linked_statically_or_not() {
        let mut recording = recording(&[
            (0, 10, "/bin/static", &["/bin/static"]),
            (1, 20, "/bin/cgo", &["/bin/cgo", LIBRARY]),
        ]);
        for module in [0, 1] {
            recording.frames.push(Frame::new(Some(ModuleId(module)), "runtime.goexit", None));
        }
        assert_eq!(details(&recording), [format!("/bin/cgo: {GO}"), format!("/bin/static: {GO}")]);
    }

    #[test]
    fn many_programs_are_counted_together() {
        let names: Vec<String> = (0..30).map(|number| format!("/bin/p{number:02}")).collect();
        let executed: Vec<(u32, u64, &str, &[&str])> = (0..30)
            .zip(&names)
            .map(|(at, name)| (at, u64::from(at), name.as_str(), &[][..]))
            .collect();
        let rows = losses(&recording(&executed), Path::new(LIBRARY));
        assert_eq!((rows.len(), rows[20].count), (21, 10));
    }
}
