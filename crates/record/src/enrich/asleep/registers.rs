//! The user registers of threads that wait, without stopping them.
//!
//! A thread that enters the kernel leaves its registers on its kernel stack. /proc shows two of them, the stack
//! pointer and the instruction pointer. That is not enough to unwind: a program that keeps frame pointers finds its
//! callers by one of the others. A program of ours that the kernel runs for each thread gives them all
//! (`bpf_task_pt_regs`, Linux 5.15).

use std::io;

use culprit_kernel::Task;
use culprit_model::Tid;
use culprit_place::procfs;
use culprit_symbols::{Arch, Registers};
use rustc_hash::FxHashMap;

use super::kernel_types::{FILE, KernelTypes};
use crate::probes::assembler::{Assembler, Helper, Reg, When};
use crate::symbolize::modules::kernel_pid;
use crate::sys::bpf::iterate;

/// Words of `struct pt_regs` up to the last one that is needed. Behind them the kernel stack may end.
const WORDS: u8 = if cfg!(target_arch = "x86_64") { 20 } else { 33 };
/// What announces the kernel's threads to programs.
const ANNOUNCER: &str = "bpf_iter_task";

/// Registers by `PERF_REG_*` as places in `struct pt_regs`, counted in words
/// (arch/x86/include/asm/ptrace.h, arch/arm64/include/uapi/asm/ptrace.h).
fn places(arch: Arch) -> Vec<usize> {
    match arch {
        // AX BX CX DX SI DI BP SP IP, then R8 to R15.
        Arch::X86_64 => vec![10, 5, 11, 12, 13, 14, 4, 19, 16, 9, 8, 7, 6, 3, 2, 1, 0],
        Arch::Aarch64 => (0..33).collect(),
    }
}

/// The registers of all threads at one instant.
#[derive(Debug, Default)]
pub(crate) struct ThreadRegisters {
    known: FxHashMap<i32, Registers>,
    /// Why there are none.
    pub(crate) missing: Option<String>,
}

impl ThreadRegisters {
    /// Those of a thread that waits; where they could not be read, what /proc shows of them.
    pub(super) fn of(&self, task: Task) -> Option<Registers> {
        if let Some(known) = self.known.get(&task.tid) {
            return Some(*known);
        }
        let tid = Tid(kernel_pid(task.tid).0);
        let (stack, instruction) = procfs::blocked_at(kernel_pid(task.pid), tid).ok()??;
        Some(Registers::of_waiting(Arch::NATIVE?, instruction, stack))
    }
}

/// Reads the registers of threads.
#[derive(Debug)]
pub(crate) struct RegistersReader {
    arch: Arch,
    /// What announces threads, by its number, and the program; or why there is none.
    program: io::Result<(u32, Vec<u64>)>,
}

impl RegistersReader {
    /// Prepares reading, in some 5 ms: the kernel's types are 5 MB. None on machines that cannot be unwound.
    pub(crate) fn prepare() -> Option<Self> {
        Some(Self { arch: Arch::NATIVE?, program: prepare() })
    }

    /// Reads those of every thread of the machine: some 0.5 us a thread.
    pub(super) fn read(&self) -> ThreadRegisters {
        let written = match &self.program {
            Ok((announced_by, program)) => {
                iterate(*announced_by, program).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match written {
            Ok(written) => ThreadRegisters { known: parse(self.arch, &written), missing: None },
            Err(why) => ThreadRegisters { known: FxHashMap::default(), missing: Some(why) },
        }
    }
}

fn prepare() -> io::Result<(u32, Vec<u64>)> {
    let bytes = std::fs::read(FILE)?;
    let missing = |what| io::Error::other(format!("{FILE} does not describe {what}"));
    let types = KernelTypes::parse(&bytes).ok_or_else(|| missing("types"))?;
    let announced_by = types.function(ANNOUNCER).ok_or_else(|| missing(ANNOUNCER))?;
    let number = types.offset("task_struct", "pid").and_then(|offset| i16::try_from(offset).ok());
    let number = number.ok_or_else(|| missing("task_struct.pid"))?;
    Ok((announced_by, program(number)))
}

/// What the program has written.
fn parse(arch: Arch, written: &[u8]) -> FxHashMap<i32, Registers> {
    let (places, mask) = (places(arch), Registers::perf_mask(arch));
    let records = written.chunks_exact(8 * (1 + usize::from(WORDS)));
    let parsed = records.filter_map(|record| {
        let words: Vec<u64> =
            record.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (tid, words) = words.split_first()?;
        let values: Option<Vec<u64>> = places.iter().map(|at| words.get(*at).copied()).collect();
        Some((i32::try_from(*tid).ok()?, Registers::from_perf(arch, mask, &values?)?))
    });
    parsed.collect()
}

/// Writes number and registers of each thread; `number` is where a thread has its number.
fn program(number: i16) -> Vec<u64> {
    // A record is the number, then the registers.
    let (registers, record) = (8 * i32::from(WORDS), 8 * (1 + i16::from(WORDS)));
    let mut program = Assembler::default();
    // struct bpf_iter__task: meta, task. The first word of meta is where to write.
    program.copy(Reg::R6, Reg::R1).load(Reg::R7, Reg::R6, 8);
    program.jump(When::Equal, Reg::R7, 0, "out");
    program.load_half(Reg::R1, Reg::R7, number).store(Reg::Fp, -record, Reg::R1);
    program.copy(Reg::R1, Reg::R7).call(Helper::TaskRegisters).copy(Reg::R3, Reg::R0);
    program.stack(Reg::R1, 8 - record).set(Reg::R2, registers).call(Helper::ReadKernel);
    program.load(Reg::R1, Reg::R6, 0).load(Reg::R1, Reg::R1, 0);
    program.stack(Reg::R2, -record).set(Reg::R3, i32::from(record));
    program.call(Helper::SequenceWrite);
    program.label("out").finish(0).build()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn registers_of_a_thread_that_waits_are_those_that_proc_shows() {
        let reader = RegistersReader::prepare().unwrap();
        if let Some(why) = reader.read().missing {
            eprintln!("skipped: registers of threads: {why}");
            return;
        }
        let (end, ended) = channel::<()>();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            ended.recv().unwrap_err();
        });
        let tid = told.recv().unwrap().as_raw_nonzero().get();
        let pid = i32::try_from(std::process::id()).unwrap();
        let shown = || procfs::blocked_at(kernel_pid(pid), Tid(kernel_pid(tid).0)).unwrap();
        culprit_testkit::wait_until("the thread waits", || shown().is_some());
        let found = reader.read().of(Task { pid, tid }).unwrap();
        let at = (found.stack_pointer().unwrap(), found.instruction_pointer().0);
        assert_eq!(Some(at), shown());
        // rbx, rbp: what no system call changes is there as well.
        assert!(found.get(3).is_some() && found.get(6).is_some());
        drop(end);
        thread.join().unwrap();
    }
}
