//! What is where in the memory of each process: generated methods, mapped files and their symbols.

use std::collections::BTreeMap;

use culprit_model::{Frame, FrameId, LossKind, ModuleId, Text};
use rustc_hash::FxHashMap;

use crate::builder::Builder;

/// The kernel's half of the addresses.
const KERNEL: u64 = 1 << 63;

/// A generated method.
#[derive(Debug, Clone)]
struct Method {
    end: u64,
    name: Text,
    /// The number of its module.
    module: u64,
}

/// A mapped file.
#[derive(Debug, Clone)]
struct Mapping {
    end: u64,
    id: u64,
    path: Text,
}

/// Functions by where they begin, with where they end.
type Symbols = BTreeMap<u64, (u64, Text)>;

/// The memory of one process.
#[derive(Debug, Default)]
struct Memory {
    methods: BTreeMap<u64, Method>,
    mappings: BTreeMap<u64, Mapping>,
    modules: FxHashMap<u64, Text>,
    frames: FxHashMap<u64, FrameId>,
}

/// The memory of all processes.
#[derive(Debug, Default)]
pub(super) struct Code {
    processes: FxHashMap<u32, Memory>,
    /// The functions of each mapping, by its number.
    symbols: FxHashMap<u64, Symbols>,
    /// Frames without a name, by what is mapped there.
    unnamed: BTreeMap<Text, u64>,
}

pub(super) fn is_kernel(address: u64) -> bool {
    address >= KERNEL
}

impl Code {
    /// A method of generated code.
    pub(super) fn method(&mut self, process: u32, (start, size): (u64, u64), name: &str, of: u64) {
        let end = start.saturating_add(size);
        let method = Method { end, name: Text::from(name), module: of };
        self.memory(process).methods.insert(start, method);
    }

    /// A module of the .NET runtime.
    pub(super) fn module(&mut self, process: u32, id: u64, path: &str) {
        self.memory(process).modules.insert(id, Text::from(path));
    }

    pub(super) fn mapping(&mut self, process: u32, id: u64, (start, end): (u64, u64), path: &str) {
        let mapping = Mapping { end, id, path: Text::from(path) };
        self.memory(process).mappings.insert(start, mapping);
    }

    /// A function in a mapping, by addresses of the process or counted from the mapping's begin.
    pub(super) fn symbol(&mut self, mapping: u64, (start, end): (u64, u64), name: &str) {
        let symbols = self.symbols.entry(mapping).or_default();
        symbols.insert(start, (end, Text::from(name)));
    }

    fn memory(&mut self, process: u32) -> &mut Memory {
        self.processes.entry(process).or_default()
    }

    /// The frame of an address; `leaf` for the instruction itself, else where a call returns to.
    pub(super) fn frame(
        &mut self,
        builder: &mut Builder,
        process: u32,
        (address, leaf): (u64, bool),
    ) -> FrameId {
        let place = if leaf { address } else { address.saturating_sub(1) };
        let memory = self.processes.entry(process).or_default();
        if let Some(known) = memory.frames.get(&place) {
            return *known;
        }
        let module = memory.module_at(builder, place);
        let method = memory.method(place).map(|method| method.name.clone());
        let name = method.or_else(|| {
            let (start, mapping) = memory.mapping(place)?;
            let symbols = self.symbols.get(&mapping.id)?;
            function(symbols, place).or_else(|| function(symbols, place - start))
        });
        if name.is_none() {
            let path = module.map(|id| builder.recording().module(id).path.clone());
            *self.unnamed.entry(path.unwrap_or_default()).or_default() += 1;
        }
        let function = name.unwrap_or_else(|| Text::from("?"));
        let frame = builder.frame(Frame::new(module, function, None));
        memory.frames.insert(place, frame);
        frame
    }

    /// Tells which addresses have no name.
    pub(super) fn finish(self, builder: &mut Builder) {
        for (path, count) in self.unnamed {
            let kind = match path.as_str() {
                "" => LossKind::AddressesUnknown,
                "[kernel]" => LossKind::KernelSymbolsMissing,
                _ => LossKind::SymbolsMissing,
            };
            builder.lose(kind, count, path.as_str());
        }
    }
}

/// The function at an address.
fn function(symbols: &Symbols, address: u64) -> Option<Text> {
    let (_, (end, name)) = symbols.range(..=address).next_back()?;
    (address < *end).then(|| name.clone())
}

impl Memory {
    fn method(&self, address: u64) -> Option<&Method> {
        let (_, method) = self.methods.range(..=address).next_back()?;
        (address < method.end).then_some(method)
    }

    /// What is mapped at an address, and from where on.
    fn mapping(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (start, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end).then_some((*start, mapping))
    }

    fn module_at(&self, builder: &mut Builder, address: u64) -> Option<ModuleId> {
        let path = match self.method(address) {
            Some(method) => self.modules.get(&method.module),
            None => self.mapping(address).map(|(_, mapping)| &mapping.path),
        };
        if is_kernel(address) && path.is_none_or(|path| is_image(path)) {
            return Some(builder.module("[kernel]"));
        }
        let path = path.filter(|path| !path.is_empty())?.as_str();
        let base = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let name = [".dll", ".exe"].iter().find_map(|ending| base.strip_suffix(ending));
        Some(builder.module_named(name.unwrap_or(base), path))
    }
}

/// Whether a mapping of the kernel's half is the kernel's own image.
fn is_image(path: &str) -> bool {
    path.is_empty() || path.contains("vmlinux") || path.contains("kallsyms")
}
