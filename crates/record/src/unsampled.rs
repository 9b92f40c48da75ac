//! Programs that ran without the library that samples allocations, and why.
//!
//! ```text
//! exec of a program   maps the library             its allocations were sampled
//!                     maps a dynamic linker only   the linker did not load it: a program with more rights
//!                                                  than its caller (setuid), another root, 32 bits
//!                     neither                      linked statically: there is nobody to load it
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use culprit_model::{Loss, LossKind, MarkKind, ProcessId, Recording, Time};

use crate::modules::base_name;

/// Programs that are named at most; the rest is counted.
const MOST_NAMED: usize = 20;

// Reports cut the middle of a long detail: the ends have to do.
const STATIC: &str = "not sampled, because it is linked statically";
const NOT_LOADED: &str = "not sampled: setuid, another root, 32 bits, or LD_PRELOAD removed";

/// One row for each program and reason. The rows of the recording must be whole.
pub(crate) fn losses(recording: &Recording, library: &Path) -> Vec<Loss> {
    let mut found: BTreeMap<(&str, &str), (u64, Time)> = BTreeMap::new();
    for (process, program, from, to) in executions(recording) {
        let maps = || {
            let of_process = recording.mappings.iter().filter(move |row| row.process == process);
            let during = of_process.filter(move |row| (from..=to).contains(&row.time));
            during.filter_map(|row| recording.modules.get(row.module.index()))
        };
        if maps().any(|module| Path::new(&*module.path) == library) {
            continue;
        }
        let has_linker = maps().any(|module| is_linker(&module.path));
        let why = if has_linker { NOT_LOADED } else { STATIC };
        found.entry((program, why)).or_insert((0, from)).0 += 1;
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
