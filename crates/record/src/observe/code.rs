//! Who touched a value or asked for a name: call stacks of observed processes, named while the processes exist.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use culprit_model::Pid;
use culprit_place::procfs;
use culprit_symbols::{
    Arch, Avma, CodeAddress, FileOffset, ImageCache, MemoryAccess, ModuleImage, Registers,
    StackDump, Svma, UnwindSpace, Unwinder,
};
use rustc_hash::FxHashMap;

use super::facts::CodeFrame;
use crate::events::attr::UNWIND_REGISTERS;
use crate::symbolize::modules::base_name;

/// Physical frames of a stack that are named; the caller that matters is near the value.
const MOST_FRAMES: usize = 24;

/// A named stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stack {
    /// Frames, innermost first.
    pub(super) frames: Vec<CodeFrame>,
    /// What the instruction touched that the stack was taken behind, if it could be decoded.
    pub(super) access: Option<MemoryAccess>,
}

/// Names stacks.
#[derive(Debug, Default)]
pub(super) struct CodeNames {
    cache: ImageCache,
    unwinder: Unwinder,
    spaces: FxHashMap<i32, Space>,
}

/// The code of one process.
#[derive(Debug, Default)]
struct Space {
    mappings: Vec<Mapped>,
    unwind: UnwindSpace,
}

#[derive(Debug)]
struct Mapped {
    range: std::ops::Range<u64>,
    offset: u64,
    path: String,
    image: Option<Arc<ModuleImage>>,
}

impl Space {
    fn find(&self, address: u64) -> Option<(&Mapped, Option<Svma>)> {
        let found = self.mappings.iter().find(|mapped| mapped.range.contains(&address))?;
        let base =
            found.image.as_ref().and_then(|image| image.mapping_svma(FileOffset(found.offset)));
        Some((found, base.map(|base| Svma(base.0.wrapping_add(address - found.range.start)))))
    }
}

impl CodeNames {
    /// Forgets a process's code: it has ended, or executes another program.
    pub(super) fn forget(&mut self, pid: i32) {
        self.spaces.remove(&pid);
    }

    /// The files that a process has mapped as code: path, device, inode.
    pub(super) fn read_maps(&mut self, pid: i32) {
        let Ok(of) = u32::try_from(pid).map(Pid) else { return };
        let Ok(maps) = procfs::maps(of) else { return };
        if maps.is_empty() {
            return;
        }
        let mut space = Space::default();
        for map in maps.into_iter().filter(|map| map.execute) {
            let length = map.range.end - map.range.start;
            let image = self.image(of, &map);
            match &image {
                Some(image) => {
                    let offset = FileOffset(map.offset);
                    space.unwind.add_module(Avma(map.range.start), length, offset, image);
                }
                None => space.unwind.add_code(Avma(map.range.start), length),
            }
            let (range, offset, path) = (map.range, map.offset, map.path);
            space.mappings.push(Mapped { range, offset, path, image });
        }
        self.spaces.insert(pid, space);
    }

    fn image(&mut self, pid: Pid, map: &procfs::Mapping) -> Option<Arc<ModuleImage>> {
        if !map.path.starts_with('/') {
            return None;
        }
        let range = format!("/proc/{pid}/map_files/{:x}-{:x}", map.range.start, map.range.end);
        let root = procfs::root_of(pid).ok()?;
        let open = |path: &Path| procfs::open_in_root(&root, path).ok();
        let file = File::open(range).ok().or_else(|| open(Path::new(&map.path)))?;
        self.cache.open(file, &map.path, None, &mut |path| open(path)).ok()
    }

    /// The stack of a process at `registers` (in the kernel's order), with the top of its stack memory.
    /// `watched` is the address whose access led here.
    pub(super) fn stack(
        &mut self,
        pid: i32,
        registers: &[u64],
        stack: &[u8],
        watched: Option<u64>,
    ) -> Stack {
        let Some(arch) = Arch::NATIVE else { return Stack::default() };
        let registers = Registers::from_perf(arch, UNWIND_REGISTERS, registers);
        let Some(registers) = registers else { return Stack::default() };
        let at = registers.instruction_pointer();
        if self.spaces.get(&pid).is_none_or(|space| space.find(at.0).is_none()) {
            self.read_maps(pid);
        }
        let Some(space) = self.spaces.get(&pid) else { return Stack::default() };
        let base = registers.stack_pointer().map_or(Avma(0), Avma);
        let mut addresses = Vec::new();
        let dump = StackDump { base, bytes: stack };
        self.unwinder.unwind(&space.unwind, registers, dump, &mut addresses);
        let mut found = Stack::default();
        for (depth, address) in addresses.iter().take(MOST_FRAMES).enumerate() {
            // A watchpoint fires behind its instruction, so that the address before it is meant.
            let lookup = match address {
                CodeAddress::InstructionPointer(at) if watched.is_some() => at.0.wrapping_sub(1),
                other => other.lookup().0,
            };
            let access = watched.filter(|_| depth == 0).map(|watched| (registers, watched));
            name(space, lookup, access, &mut found);
        }
        found
    }
}

/// Appends the functions at an address, inlined ones first.
fn name(space: &Space, address: u64, access: Option<(Registers, u64)>, found: &mut Stack) {
    let Some((mapped, svma)) = space.find(address) else {
        found.frames.push(CodeFrame { address, ..CodeFrame::default() });
        return;
    };
    let module = base_name(&mapped.path).to_owned();
    let (Some(image), Some(svma)) = (&mapped.image, svma) else {
        found.frames.push(CodeFrame { module, address, ..CodeFrame::default() });
        return;
    };
    let symbols = image.symbolize(svma);
    if let (Some((registers, watched)), Some(function)) = (access, symbols.function) {
        found.access = image.memory_access(Svma(svma.0 + 1), function, &registers, watched);
    }
    let start = symbols.function.map_or(svma.0, |function| function.start.0);
    for frame in &symbols.frames {
        found.frames.push(CodeFrame {
            module: module.clone(),
            function: frame.function.as_deref().unwrap_or_default().to_owned(),
            file: frame.file.as_deref().unwrap_or_default().to_owned(),
            line: frame.line.unwrap_or(0),
            address: start,
        });
    }
}
