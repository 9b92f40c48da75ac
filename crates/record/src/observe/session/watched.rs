//! What is watched of a program, from its first instruction to its last one.

use std::rc::Rc;

use culprit_model::Pid;

use super::{AS_ROOT, Observer, Programs};
use crate::clock::monotonic_ns;
use crate::observe::behalf::Behalf;
use crate::observe::block;
use crate::observe::classify::By;
use crate::observe::code::CodeNames;
use crate::observe::facts::{GapKind, Reader};
use crate::observe::files::{FileRecord, word};
use crate::observe::names::NameProbes;
use crate::observe::program::{self, Maps};
use crate::observe::rows::Row;
use crate::observe::watch::Watchpoint;

impl Observer {
    pub(super) fn begin_row(&mut self, tid: i32, late: bool) {
        let pid = self.threads.get(&tid).copied().unwrap_or(tid);
        let of = Pid(u32::try_from(pid).unwrap_or(0));
        self.admit(pid);
        if let Some(Programs { maps, probes: Some(probes), .. }) = &mut self.programs {
            probes.prepare(maps, of);
        }
        let entries = match block::entries(of) {
            Ok(entries) => entries,
            Err(why) => {
                self.gap(GapKind::Process, format!("environment of process {pid}: {why}"), AS_ROOT);
                Vec::new()
            }
        };
        if let Some(guarded) = self.wishes.guarded.as_ref().filter(|_| !late) {
            guarded.protect(of, &entries);
        }
        let mut row = Row::new(pid, monotonic_ns(), &entries);
        row.process.late = late;
        row.process.whole_life = !late;
        let wanted: Vec<(String, u64)> = self
            .wishes
            .watched
            .iter()
            .filter_map(|name| entries.iter().find(|entry| entry.name == *name))
            .map(|entry| (entry.name.clone(), entry.value_at))
            .collect();
        let points = self.watch(tid, &wanted);
        row.arm(Rc::new(points));
        self.rows.insert(pid, row);
    }

    pub(super) fn watch(&mut self, tid: i32, wanted: &[(String, u64)]) -> Vec<Watchpoint> {
        let Some(rings) = &mut self.rings else { return Vec::new() };
        let mut points = Vec::new();
        let mut failed = None;
        for (name, address) in wanted {
            match rings.watch(tid, name, *address) {
                Ok(point) => points.push(point),
                Err(error) => failed = Some(error),
            }
        }
        let kernel_hidden = !rings.kernel;
        if let Some(error) = failed {
            self.no_watchpoints(&error);
        }
        if kernel_hidden {
            let why = "system calls that read a value are seen only with CAP_PERFMON, or with \
                       kernel.perf_event_paranoid of 1 or less";
            self.gap(GapKind::KernelAccess, why, AS_ROOT);
        }
        points
    }

    fn drain_accesses(&mut self) {
        let Some(rings) = &mut self.rings else { return };
        let (accesses, paused) = (rings.drain(), std::mem::take(&mut rings.paused));
        for id in paused {
            self.rows.values().for_each(|row| row.pause(id));
        }
        let mut hidden = false;
        for access in accesses {
            let row = self.rows.get_mut(&access.pid);
            let Some(row) = row.filter(|row| row.since <= access.time) else { continue };
            match access.in_kernel.then(|| self.kernel.behalf(&access.chain)) {
                None => _ = row.add(&access, By::Program, &mut self.names),
                Some(Behalf::Program) => _ = row.add(&access, By::Call, &mut self.names),
                Some(Behalf::Exec) => _ = row.add(&access, By::Exec, &mut self.names),
                Some(Behalf::Other) => {}
                Some(Behalf::Unknown) => hidden = true,
            }
        }
        if hidden {
            let why = "the kernel hides its functions, so that a system call that reads a value looks \
                       like another profiler's copy (/proc/kallsyms)";
            self.gap(GapKind::KernelAccess, why, AS_ROOT);
        }
    }

    /// Takes all records that wait.
    pub(super) fn drain(&mut self) {
        self.drain_accesses();
        let Some(Programs { maps, probes, .. }) = &mut self.programs else { return };
        let (rows, names) = (&mut self.rows, &mut self.names);
        maps.ring.drain(&mut |record| {
            let pid =
                word(record, 0).map(|both| both >> 32).and_then(|pid| i32::try_from(pid).ok());
            let Some(row) = pid.and_then(|pid| rows.get_mut(&pid)) else { return };
            match word(record, 16) {
                Some(kind) if kind == program::file::KIND as u64 => {
                    if let Some(record) = FileRecord::parse(record) {
                        row.files.add(record);
                    }
                }
                Some(_) => {
                    if let Some(probes) = probes {
                        first_call(row, record, probes, names);
                    }
                }
                None => {}
            }
        });
    }

    /// The last thread to end may be met when the memory is gone; the first one's end comes before.
    pub(super) fn look_at_libraries(&mut self, pid: i32) {
        let Some(row) = self.rows.get_mut(&pid) else { return };
        if let Some(Programs { maps, probes: Some(probes), .. }) = &mut self.programs {
            row.covered = probes.covers(maps, row.process.pid).unwrap_or(false);
        }
    }

    /// A program has run its last instruction, or is not observed any more.
    pub(super) fn end_row(&mut self, pid: i32, replaced: bool) {
        let Some(mut row) = self.rows.remove(&pid) else { return };
        let mut counted = Vec::new();
        if let Some(Programs { maps, probes, .. }) = &mut self.programs {
            if let Some(probes) = probes {
                // Behind an exec the maps are the next program's already.
                let complete = replaced || row.covered;
                row.process.names_complete =
                    complete || probes.covers(maps, row.process.pid).unwrap_or(false);
                counted = probes.take(maps, pid);
            }
            take_bytes(maps, &mut row);
            if !replaced {
                let _ = maps.observed.remove(&pid.to_le_bytes());
            }
        }
        if let Some(rings) = &mut self.rings {
            rings.count_lost(row.points());
        }
        self.names.forget(pid);
        self.observed.processes.push(row.finish(self.wishes.decoy.as_deref(), counted));
    }
}

/// Bytes of descriptors that are still open.
fn take_bytes(maps: &Maps, row: &mut Row) {
    for key in maps.bytes.keys() {
        let Some((pid, descriptor)) = key.split_first_chunk::<4>() else { continue };
        if i32::from_le_bytes(*pid) != row.pid {
            continue;
        }
        let descriptor = descriptor.try_into().map_or(-1, i32::from_le_bytes);
        let bytes = maps.bytes.get(&key).ok().and_then(|value| value.try_into().ok());
        row.files.read(descriptor, bytes.map_or(0, u64::from_le_bytes));
        let _ = maps.bytes.remove(&key);
    }
}

/// Order of the kernel's numbers of registers (`PERF_REG_X86_`) in `struct pt_regs`, in words.
const PERF_ORDER: [usize; 17] = [10, 5, 11, 12, 13, 14, 4, 19, 16, 9, 8, 7, 6, 3, 2, 1, 0];

fn first_call(row: &mut Row, record: &[u8], probes: &NameProbes, names: &mut CodeNames) {
    let at = |offset: i16| usize::try_from(offset).unwrap_or(usize::MAX);
    let first = |word_at: usize| {
        let offset = program::first::REGISTERS + i16::try_from(8 * word_at).unwrap_or(0);
        word(record, offset).unwrap_or(0)
    };
    let Some(key) = record.get(at(program::first::KEY)..).and_then(|key| probes.key(key)) else {
        return;
    };
    let registers: Vec<u64> = PERF_ORDER.iter().map(|word_at| first(*word_at)).collect();
    let size = word(record, program::first::STACK_SIZE).and_then(|size| usize::try_from(size).ok());
    let stack = record.get(at(program::first::STACK)..).unwrap_or_default();
    let stack = stack.get(..size.unwrap_or(0)).unwrap_or_default();
    let found = names.stack(row.pid, &registers, stack, None);
    row.add_first_call(key.function, key.name, Reader::new(found.frames));
}
