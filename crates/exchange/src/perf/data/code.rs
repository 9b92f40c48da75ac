//! What is mapped where, and the names of the code there.
//!
//! Names come from the files of this machine, their debug files and perf's cache of files. A file
//! counts only if its build id is the recorded one. The kernel's names come from /proc/kallsyms, if
//! this is the kernel that was recorded (`kernel`). The same files unwind copied stacks.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use culprit_model::{Frame, FrameId, Guess, LossKind, ModuleId, Text};
use culprit_symbols::{
    Arch, Avma, BuildId, CodeAddress, CodeMap, CodePlace, FileOffset, HiddenFunction, ModuleImage,
    Outcome, Registers, StackDump, Svma, SymbolFrame, UnwindSpace, Unwinder, VDSO_NAME,
    hidden_by_tail_calls, vdso_image,
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
    /// Frames of the functions that left the stack by jumps between a call and an address below it.
    hidden: FxHashMap<Call, Option<Box<[FrameId]>>>,
    unwinder: Unwinder,
    /// Code that the kernel generated: its end and name by its start.
    generated: BTreeMap<u64, (u64, String)>,
}

/// A space, a return address in it, and an address of the function that runs below.
type Call = (u32, u64, u64);

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
        let row = Frame::new(id, "", Some(address.0));
        levels(&image.symbolize(address).frames, &row, builder)
    }

    /// The frames of the functions that left a process's stack by jumps between a call and the function
    /// below it, outermost first; `call` is within the call. Both addresses have been named before.
    pub(super) fn hidden(
        &mut self,
        pid: i32,
        (call, callee): (u64, u64),
        builder: &mut Builder,
    ) -> Option<Box<[FrameId]>> {
        let key = (self.number(pid), call, callee);
        if let Some(known) = self.hidden.get(&key) {
            return known.clone();
        }
        let mut frames = Vec::new();
        for function in self.find_hidden(pid, call, callee) {
            let HiddenFunction { module, jump, .. } = function;
            let Some((id, image)) = self.opened(module) else { continue };
            let row = Frame::new(Some(id), "", jump.map(|jump| jump.0));
            let row = Frame { guessed: Some(Guess::TailCall), ..row };
            frames.extend(levels(&function.frames(image), &row, builder));
        }
        let frames: Option<Box<[FrameId]>> = (!frames.is_empty()).then(|| frames.into());
        self.hidden.insert(key, frames.clone());
        frames
    }

    fn find_hidden(&self, pid: i32, call: u64, callee: u64) -> Vec<HiddenFunction<usize>> {
        let place = |address: u64| {
            let Mapping { start, offset, module } = *self.mapping(pid, address)?;
            let (_, image) = self.opened(module)?;
            let address = image.svma_in_mapping(Avma(address), Avma(start), FileOffset(offset))?;
            Some(CodePlace { module, image, address })
        };
        // A module that no stack has been in is not opened for this.
        let linked = |name: &[u8]| {
            let pieces = self.spaces.get(&pid)?.mappings.iter();
            let mut modules: Vec<usize> = pieces.map(|(_, mapping)| mapping.module).collect();
            modules.sort_unstable();
            modules.dedup();
            let images = modules.into_iter().filter_map(|at| Some((at, self.opened(at)?.1)));
            let mut found = images.flat_map(|(module, image)| {
                let all = image.exported_functions(name).into_iter();
                all.map(move |address| CodePlace { module, image, address })
            });
            let first = found.next()?;
            found.next().is_none().then_some(first)
        };
        let (Some(call), Some(callee)) = (place(call), place(callee)) else { return Vec::new() };
        let call = CodePlace { address: Svma(call.address.0.saturating_add(1)), ..call };
        hidden_by_tail_calls(call, callee, &linked)
    }

    /// A module whose file has been opened.
    fn opened(&self, at: usize) -> Option<(ModuleId, &ModuleImage)> {
        let module = self.modules.get(at)?;
        Some((module.id, module.image.as_ref()?.as_ref()?))
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

/// The frames for the inline levels of an address, innermost first as given, outermost first as
/// returned; `row` has what is the same in all.
fn levels(levels: &[SymbolFrame], row: &Frame, builder: &mut Builder) -> Box<[FrameId]> {
    let outermost = levels.len().saturating_sub(1);
    let frames = levels.iter().enumerate().rev().map(|(at, name)| {
        builder.frame(Frame {
            function: Text::from(name.function.as_deref().unwrap_or("?")),
            file: name.file.as_deref().map(Text::from),
            line: name.line,
            inlined: at < outermost,
            ..row.clone()
        })
    });
    frames.collect()
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

    /// At the start of a file that is loaded where it lies in the file.
    const BASE: u64 = 0x10_0000;

    #[test]
    fn a_function_that_left_by_a_jump_is_guessed_at_its_call_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("tails.c");
        let text = "__attribute__((noipa)) int second(int x) { return x + 1; }\n\
                    __attribute__((noipa)) int first(int x) { return second(x * 3); }\n\
                    int main(int n, char **v) { (void)v; return first(n) + second(n); }\n";
        std::fs::write(&source, text).expect("room");
        let program = match culprit_testkit::compiled(&source, "tails", &["-O2", "-g"]) {
            Ok(program) => program,
            Err(why) => return culprit_testkit::skip("a_function_that_left_by_a_jump", &why),
        };
        let path = program.to_str().expect("UTF-8");
        let (mut code, mut builder) = (Code::default(), Builder::default());
        code.map(7, (BASE, 1 << 20, 0), (path, None), &mut builder);
        let place = |wanted: &str| {
            let file = File::open(&program).expect("it was built");
            let named = &mut |name: &str| name == wanted;
            let found = culprit_symbols::find_functions(file, path, named).expect("an ELF file");
            (BASE + found[0].offset.0, found[0].size)
        };
        let ((main, size), (second, _)) = (place("main"), place("second"));
        for address in [main, second] {
            code.frames(Whose::User(7), address, &mut builder);
        }
        let all =
            (main..main + size).filter_map(|call| code.hidden(7, (call, second), &mut builder));
        let all: Vec<_> = all.collect();
        let [frames] = &all[..] else { panic!("one call leads there by a jump: {all:?}") };
        let [frame] = frames[..] else { panic!("one function: {frames:?}") };
        let frame = builder.recording().frame(frame);
        assert_eq!((frame.function.as_str(), frame.line), ("first", Some(2)));
        assert_eq!(frame.guessed, Some(Guess::TailCall));
    }

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
