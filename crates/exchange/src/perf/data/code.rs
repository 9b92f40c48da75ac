//! What is mapped where, and the names of the code there.
//!
//! Names come from the files of this machine, their debug files and perf's cache of files. A file
//! counts only if its build id is the recorded one. The kernel's names come from /proc/kallsyms, if
//! this is the kernel that was recorded (`kernel`). The same files unwind copied stacks.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use culprit_model::{Frame, FrameId, LossKind, ModuleId, Text};
use culprit_symbols::{
    Arch, Avma, BuildId, CodeAddress, CodeMap, FileOffset, ModuleImage, Outcome, Registers,
    StackDump, UnwindSpace, Unwinder, VDSO_NAME, vdso_image,
};
use rustc_hash::FxHashMap;

use super::kernel::{Kernel, Mapped, Recorded};
use crate::builder::{Builder, base_name};

/// The process to which perf gives the kernel's mappings.
const KERNEL: i32 = -1;

/// A mapping of a process, as it was made: a later one may have cut pieces out of it.
#[derive(Debug, Clone, Copy)]
struct Mapping {
    start: u64,
    offset: u64,
    module: usize,
}

/// The mappings of a process. The number changes with them, so that stacks of addresses are known
/// by it.
#[derive(Debug, Clone, Default)]
struct Space {
    number: u32,
    mappings: CodeMap<Mapping>,
    /// The same for the unwinder, once it is asked for.
    unwinding: Option<UnwindSpace>,
}

/// Whose code an address is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// A process's.
    User(i32),
    /// The kernel's.
    Kernel,
    /// Of something that the file says nothing of: a guest, a hypervisor.
    Other(&'static str),
}

/// A file that is mapped somewhere.
struct Module {
    id: ModuleId,
    path: String,
    build_id: Option<BuildId>,
    /// None until it is asked for; then the image, if the file is here and the same.
    image: Option<Option<ModuleImage>>,
}

/// All code of a recording.
#[derive(Default)]
pub(super) struct Code {
    spaces: FxHashMap<i32, Space>,
    numbers: u32,
    modules: Vec<Module>,
    known: FxHashMap<(String, Vec<u8>), usize>,
    build_ids: FxHashMap<String, Vec<u8>>,
    recorded: Recorded,
    kernel: Option<Option<Kernel>>,
    frames: FxHashMap<(u32, u64), Box<[FrameId]>>,
    unwinder: Unwinder,
    /// Code that the kernel generated: its end and name by its start.
    generated: BTreeMap<u64, (u64, String)>,
}

/// The number of the kernel's mappings, and of what is neither its nor a process's.
const KERNEL_SPACE: u32 = u32::MAX;

impl Code {
    /// Notes the build id that the file states for a path.
    pub(super) fn states(&mut self, path: &str, build_id: &[u8]) {
        self.build_ids.insert(path.to_owned(), build_id.to_vec());
    }

    /// Notes the host and the kernel that the file states.
    pub(super) fn recorded_on(&mut self, host: &str, release: &str) {
        host.clone_into(&mut self.recorded.host);
        release.clone_into(&mut self.recorded.release);
    }

    /// A mapping begins; what was there is gone.
    pub(super) fn map(
        &mut self,
        pid: i32,
        (start, length, offset): (u64, u64, u64),
        (path, build_id): (&str, Option<&[u8]>),
        builder: &mut Builder,
    ) {
        if pid == KERNEL
            && let Some(mapped) = Mapped::new((start, length), path, build_id)
        {
            self.recorded.mapped = mapped;
        }
        let Some(end) = start.checked_add(length).filter(|end| *end > start) else { return };
        let module = self.module(path, build_id, builder);
        self.numbers += 1;
        let space = self.spaces.entry(pid).or_default();
        space.number = self.numbers;
        space.unwinding = None;
        space.mappings.insert(start..end, Mapping { start, offset, module });
    }

    /// A process begins as the copy of another.
    pub(super) fn fork(&mut self, parent: i32, child: i32) {
        if parent != child
            && let Some(space) = self.spaces.get(&parent).cloned()
        {
            self.spaces.insert(child, space);
        }
    }

    /// A process executes a program: nothing of it is mapped any more.
    pub(super) fn exec(&mut self, pid: i32) {
        self.spaces.remove(&pid);
    }

    /// The number of a process's mappings as they are.
    pub(super) fn number(&self, pid: i32) -> u32 {
        self.spaces.get(&pid).map_or(0, |space| space.number)
    }

    fn module(&mut self, path: &str, build_id: Option<&[u8]>, builder: &mut Builder) -> usize {
        let id = build_id.or_else(|| self.build_ids.get(path).map(Vec::as_slice));
        let key = (path.to_owned(), id.unwrap_or_default().to_vec());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let build_id = id.and_then(BuildId::new);
        let name = base_name(path);
        let name = if path.starts_with("//") || path == "[heap]" { "[jit]" } else { name };
        let module = builder.module_named(name, path);
        if let Some(id) = &build_id {
            let text: String = id.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            builder.recording().modules[module.index()].build_id = Some(Text::from(text));
        }
        self.modules.push(Module { id: module, path: path.to_owned(), build_id, image: None });
        self.known.insert(key, self.modules.len() - 1);
        self.modules.len() - 1
    }

    /// The frames at an address, outermost first. `lookup` is within the instruction that is meant.
    pub(super) fn frames(
        &mut self,
        whose: Whose,
        lookup: u64,
        builder: &mut Builder,
    ) -> Box<[FrameId]> {
        let number = match whose {
            Whose::User(pid) => self.number(pid),
            Whose::Kernel => KERNEL_SPACE,
            Whose::Other(module) => {
                let module = builder.module_named(module, module);
                return Box::new([builder.frame(Frame::new(Some(module), "?", None))]);
            }
        };
        if let Some(known) = self.frames.get(&(number, lookup)) {
            return known.clone();
        }
        let frames = match whose {
            Whose::User(pid) => self.user(pid, lookup, builder),
            _ => Box::new([self.kernel(lookup, builder)]),
        };
        self.frames.insert((number, lookup), frames.clone());
        frames
    }

    /// What a process has mapped at an address.
    fn mapping(&self, pid: i32, address: u64) -> Option<&Mapping> {
        self.spaces.get(&pid)?.mappings.find(address).map(|(_, mapping)| mapping)
    }

    fn user(&mut self, pid: i32, lookup: u64, builder: &mut Builder) -> Box<[FrameId]> {
        let Some(mapping) = self.mapping(pid, lookup).copied() else {
            builder.lose(
                LossKind::AddressesUnknown,
                1,
                "addresses outside all mappings of the file",
            );
            return Box::new([builder.frame(Frame::new(None, "?", None))]);
        };
        let module = &mut self.modules[mapping.module];
        let id = Some(module.id);
        let image = module.image(builder);
        let offset = FileOffset(mapping.offset);
        let address = image.as_ref().and_then(|image| {
            Some((image, image.svma_in_mapping(Avma(lookup), Avma(mapping.start), offset)?))
        });
        let Some((image, address)) = address else {
            return Box::new([builder.frame(Frame::new(id, "?", None))]);
        };
        let names = image.symbolize(address).frames;
        let outermost = names.len().saturating_sub(1);
        let frames = names.iter().enumerate().rev().map(|(at, name)| {
            builder.frame(Frame {
                file: name.file.as_deref().map(Text::from),
                line: name.line,
                inlined: at < outermost,
                ..Frame::new(id, name.function.as_deref().unwrap_or("?"), Some(address.0))
            })
        });
        frames.collect()
    }

    /// Code that the kernel generated, a BPF program mostly, appears or goes.
    pub(super) fn generated(&mut self, start: u64, length: u64, name: String, gone: bool) {
        if gone {
            self.generated.remove(&start);
        } else {
            self.generated.insert(start, (start.saturating_add(length), name));
        }
    }

    /// Walks a copied stack. Addresses innermost first go to `sink`; false when the walk ended
    /// before the outermost frame.
    pub(super) fn unwind(
        &mut self,
        pid: i32,
        registers: Registers,
        stack: &[u8],
        sink: &mut Vec<CodeAddress>,
        builder: &mut Builder,
    ) -> bool {
        let Self { spaces, modules, unwinder, .. } = self;
        let space = spaces.entry(pid).or_default();
        let mappings = &space.mappings;
        let unwinding =
            space.unwinding.get_or_insert_with(|| unwind_space(mappings, modules, builder));
        // perf copies from the stack pointer upwards.
        let Some(base) = registers.get(stack_pointer(registers.arch())) else { return false };
        let dump = StackDump { base: Avma(base), bytes: stack };
        unwinder.unwind(unwinding, registers, dump, sink).outcome == Outcome::Complete
    }

    fn kernel(&mut self, lookup: u64, builder: &mut Builder) -> FrameId {
        let generated = self.generated.range(..=lookup).next_back();
        if let Some((_, (_, name))) = generated.filter(|(_, (end, _))| lookup < *end) {
            let module = builder.module_named("[bpf]", "[bpf]");
            return builder.frame(Frame::new(Some(module), name.as_str(), None));
        }
        let Self { kernel, recorded, build_ids, .. } = self;
        let kernel = kernel.get_or_insert_with(|| {
            let names = recorded.names(build_ids.get("[kernel.kallsyms]").map(Vec::as_slice));
            names.map_err(|why| builder.lose(LossKind::KernelSymbolsMissing, 1, &why)).ok()
        });
        let symbol = kernel.as_ref().and_then(|kernel| kernel.lookup(lookup));
        let name = symbol.map_or("?", |symbol| symbol.name).to_owned();
        let module = match symbol.and_then(|symbol| symbol.module) {
            Some(module) => format!("[{module}]"),
            None => self.kernel_module(lookup),
        };
        let module = builder.module_named(&module, &module);
        builder.frame(Frame::new(Some(module), name.as_str(), None))
    }

    /// The module of an unnamed kernel address, by where it is mapped.
    fn kernel_module(&self, lookup: u64) -> String {
        let mapping = self.mapping(KERNEL, lookup);
        match mapping.map(|mapping| &self.modules[mapping.module].path) {
            Some(path) if path.starts_with('[') && !path.starts_with("[kernel") => path.clone(),
            _ => "[kernel]".to_owned(),
        }
    }
}

impl Module {
    /// The module's file, if it is here and the one that was recorded.
    fn image(&mut self, builder: &mut Builder) -> Option<&ModuleImage> {
        let Self { id, path, build_id, image } = self;
        image.get_or_insert_with(|| open(*id, path, build_id.as_ref(), builder)).as_ref()
    }
}

/// The DWARF number of the stack pointer.
fn stack_pointer(arch: Arch) -> u8 {
    match arch {
        Arch::X86_64 => 7,
        Arch::Aarch64 => 31,
    }
}

/// A process's mappings as the unwinder wants them.
fn unwind_space(
    mappings: &CodeMap<Mapping>,
    modules: &mut [Module],
    builder: &mut Builder,
) -> UnwindSpace {
    let mut space = UnwindSpace::new();
    for (piece, mapping) in mappings.iter() {
        let (start, length) = (Avma(piece.start), piece.end - piece.start);
        match modules[mapping.module].image(builder) {
            Some(image) => {
                let offset = mapping.offset.wrapping_add(piece.start - mapping.start);
                space.add_module(start, length, FileOffset(offset), image);
            }
            None => space.add_code(start, length),
        }
    }
    space
}

fn open(
    id: ModuleId,
    path: &str,
    build_id: Option<&BuildId>,
    builder: &mut Builder,
) -> Option<ModuleImage> {
    let is_file = path.starts_with('/') && !path.starts_with("//");
    let image = if path == VDSO_NAME {
        // Only this kernel's, and only when it is the one that was recorded.
        vdso_image().ok().filter(|image| build_id.is_some() && image.build_id() == build_id)
    } else if is_file {
        let found = candidates(path, build_id).into_iter().find_map(|file| {
            let file = File::open(file).ok()?;
            ModuleImage::open(file, path, build_id).ok()
        });
        found.map(|mut image| {
            image.attach_debug_files(&mut |path| File::open(path).ok());
            image
        })
    } else {
        None
    };
    let row = &mut builder.recording().modules[id.index()];
    row.symbols = image.as_ref().is_some_and(ModuleImage::has_symbols);
    if image.is_none() && is_file {
        let what = format!("{path}: missing on this machine, or another build");
        builder.lose(LossKind::ModulesUnreadable, 1, &what);
    }
    image
}

/// Where a module's file may be: at its path, or in the cache that `perf record` fills.
fn candidates(path: &str, build_id: Option<&BuildId>) -> Vec<PathBuf> {
    let cached = || {
        let id = build_id?.to_string();
        let (folder, name) = id.split_at_checked(2)?;
        let cache = std::env::home_dir()?.join(".debug/.build-id");
        Some(cache.join(folder).join(name).join("elf"))
    };
    [Some(PathBuf::from(path)), cached()].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_over_the_middle_of_another_leaves_both_of_its_ends() {
        let (mut code, mut builder) = (Code::default(), Builder::default());
        code.map(7, (0x1000, 0x3000, 0x400), ("/outer", None), &mut builder);
        code.map(7, (0x2000, 0x1000, 0), ("/inner", None), &mut builder);
        let found = |address| {
            let mapping = code.mapping(7, address)?;
            let module = code.modules[mapping.module].path.as_str();
            Some((module, address - mapping.start + mapping.offset))
        };
        assert_eq!(found(0x1fff), Some(("/outer", 0x13ff)));
        assert_eq!(found(0x2010), Some(("/inner", 0x10)));
        assert_eq!(found(0x3000), Some(("/outer", 0x2400)));
        assert_eq!(found(0x4000), None);
    }
}
