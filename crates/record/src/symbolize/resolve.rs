//! From raw addresses to rows: frames with names, and stacks as a prefix tree.
//!
//! Unique stacks are named as soon as they are first written out, while everything they need is at
//! hand; an address is asked for once. Generated code is the exception: its names are known only
//! when the recording ends, so its frames carry their address and are renamed then.
//!
//! Between a return address and the function below it, functions that left the stack by a jump are put
//! where only one way leads from the call to that function; such frames are marked as guessed.
//!
//! Root first: a chain is innermost first, so it is walked from its end.

mod generated;
mod hidden;
mod interpreted;

use std::sync::Arc;

use culprit_model::{
    Frame, FrameId, Instruction, LossKind, ModuleId, Stack, StackId, Text, ThreadId,
};
use culprit_symbols::{
    Avma, CodeAddress, FileOffset, KernelSymbols, ModuleImage, Svma, SymbolFrame,
};
use rustc_hash::FxHashMap;

use crate::enrich::bytecode::{Bytecodes, is_function};
use crate::enrich::interpreters::Interpreted;
use crate::enrich::managed::{ManagedCode, ManagedPlace};
use crate::events::ledger::Ledger;
use crate::events::sizes::BlockSize;
use crate::events::space::{SpaceId, Spaces};
use crate::events::stacks::{RawStack, RawStacks, is_marker, join, split};
use crate::symbolize::modules::Modules;

use generated::ManagedFrame;

/// A function's name where nothing names it.
pub(crate) const UNKNOWN: &str = "?";

/// Names addresses and builds the two tables.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    kernel: Option<Arc<KernelSymbols>>,
    frames: Vec<Frame>,
    stacks: Vec<Stack>,
    /// Frames of an address, the outermost first.
    known: FxHashMap<Spot, Box<[FrameId]>>,
    /// Where the function begins that an address of a module is in.
    functions: FxHashMap<(ModuleId, Svma), Svma>,
    /// Frames of the functions that left the stack between a call and a function; none for most.
    hidden: FxHashMap<Called, Option<Box<[FrameId]>>>,
    nodes: FxHashMap<(Option<StackId>, FrameId), StackId>,
    texts: FxHashMap<Box<str>, Text>,
    unknown: Option<FrameId>,
    /// What was read last of each thread's interpreter.
    interpreted: FxHashMap<ThreadId, (Arc<[Interpreted]>, Option<StackId>)>,
    /// Rows that are alike but for what a dump may teach later, and what it taught.
    repairs: FxHashMap<StackId, StackId>,
    /// Frames of code that only its process names, and what they stand for.
    managed: Vec<ManagedFrame>,
    /// Where each stack went when frames became several; empty before, and where none did.
    moved: Vec<StackId>,
}

/// An address that is named once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Spot {
    Kernel(u64),
    Module(ModuleId, u64),
    /// A kernel function that is known by name only.
    Named(Text),
    /// A function that left by a jump: where it begins, and the jump if it is the only one.
    Guessed(ModuleId, Svma, Option<Svma>),
    /// A line of an interpreted function: name, file, line.
    Interpreted(Text, Text, Option<u32>),
    /// An interpreter's loop.
    Loop(Text),
    /// A function that an interpreter has in itself: name, and the language's module.
    BuiltIn(Text, &'static str),
    /// An event loop waits for what follows.
    Awaits(&'static str),
    /// The size of an allocated block, as the word of a chain that it is.
    Size(u64),
    /// A place in code that only its process names, and whether the thread ran there.
    Managed(i32, ManagedPlace, bool),
    /// A line of a function of a runtime: module, name, file, line, and whether it was inlined.
    Function(Option<ModuleId>, Text, Text, Option<u32>, bool),
}

/// An address in a module with an image, as the module states it: for a caller, within the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Position {
    module: ModuleId,
    at: Svma,
}

/// Where a caller is, and where the function below it begins.
type Called = (Position, (ModuleId, Svma));

/// Where names come from.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    /// Images of what is mapped.
    pub(crate) modules: &'a mut Modules,
    /// Code that runtimes have made.
    pub(crate) managed: &'a mut ManagedCode,
    /// Functions that interpreters run.
    pub(crate) bytecodes: &'a Bytecodes,
    /// What is mapped where.
    pub(crate) spaces: &'a Spaces,
    /// What could not be named.
    pub(crate) ledger: &'a mut Ledger,
}

impl Resolver {
    /// From now on, kernel code is named by `kernel`.
    pub(crate) fn set_kernel(&mut self, kernel: Arc<KernelSymbols>) {
        self.kernel = Some(kernel);
    }

    /// The stack of a thread that waits: user frames, and the kernel functions that /proc named, both innermost
    /// first.
    pub(crate) fn waiting_stack(
        &mut self,
        user: Option<(SpaceId, Vec<u64>)>,
        functions: &[(Option<String>, String)],
        code: &mut Code<'_>,
    ) -> Option<StackId> {
        let user = user.map(|(space, chain)| (space, join(&[], &chain)));
        let mut parent = user.and_then(|(space, chain)| self.resolve(space, &chain, false, code));
        for (module, function) in functions.iter().rev() {
            let spot = Spot::Named(self.text(function));
            let known = self.known.get(&spot).and_then(|frames| frames.first()).copied();
            let frame = known.unwrap_or_else(|| {
                let module = code.modules.kernel(module.as_deref());
                let function = self.text(function);
                self.push_frame(Frame {
                    module: Some(module),
                    function,
                    address: None,
                    file: None,
                    line: None,
                    inlined: false,
                    instruction: None,
                    guessed: None,
                })
            });
            self.known.insert(spot, Box::new([frame]));
            parent = Some(self.node(parent, frame));
        }
        parent
    }

    /// The kernel function at an address, without the suffixes that compilers add.
    pub(crate) fn kernel_name(&self, address: u64) -> Option<&str> {
        self.kernel.as_ref()?.lookup(Avma(address)).map(|symbol| symbol.name)
    }

    /// Gives every stack that has been seen since the last call its row. The row's leaf is a node
    /// of its own, because a dump may teach this stack, and not its twin, other frames later.
    pub(crate) fn resolve_new(&mut self, raw: &mut RawStacks, code: &mut Code<'_>) {
        for stack in raw.take_new() {
            let row = self.resolve(raw.space(stack), raw.chain(stack), true, code);
            raw.set_row(stack, row);
        }
    }

    /// Names what dumps have taught about `stacks`.
    pub(crate) fn repair(&mut self, stacks: &[RawStack], raw: &RawStacks, code: &mut Code<'_>) {
        for stack in stacks {
            let Some(row) = raw.row(*stack) else { continue };
            let chain = raw.repaired(*stack);
            let chain = chain.as_deref().unwrap_or_else(|| raw.chain(*stack));
            if let Some(better) = self.resolve(raw.space(*stack), chain, false, code) {
                self.repairs.insert(row, better);
            }
        }
    }

    /// The row that stands for a row once everything is learnt.
    pub(crate) fn repaired(&self, row: StackId) -> StackId {
        let row = self.repairs.get(&row).copied().unwrap_or(row);
        self.moved.get(row.index()).copied().unwrap_or(row)
    }

    /// Every frame so far.
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Every stack so far.
    pub(crate) fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    fn resolve(
        &mut self,
        space: SpaceId,
        chain: &[u64],
        own_leaf: bool,
        code: &mut Code<'_>,
    ) -> Option<StackId> {
        let (kernel, user) = split(chain);
        let mut path = Vec::new();
        let mut caller = None;
        let mut runs = None;
        for (depth, address) in user.iter().enumerate().rev().filter(|(_, word)| !is_marker(**word))
        {
            if is_function(*address) {
                runs = Some(*address);
                continue;
            }
            let (frames, here) = self.user_frames(space, position(depth, *address), code);
            let frames = frames.to_vec();
            if let (Some(caller), Some(here)) = (caller, here)
                && let Some(hidden) = self.hidden(space, caller, here, code)
            {
                path.extend_from_slice(&hidden);
            }
            caller = here;
            // Addresses of nothing in a row are one gap.
            if frames.last() != path.last() || frames.last() != self.unknown.as_ref() {
                path.extend_from_slice(&frames);
            }
            path.extend(runs.take().and_then(|word| self.bytecode_frame(word, &frames, code)));
        }
        // The kernel part starts with its marker.
        for (depth, address) in kernel.iter().skip(1).enumerate().rev() {
            if !is_marker(*address) {
                let frames = self.kernel_frame(position(depth, *address), code);
                path.extend_from_slice(&frames);
            }
        }
        let (leaf, callers) = path.split_last()?;
        let mut parent = None;
        for frame in callers {
            parent = Some(self.node(parent, *frame));
        }
        Some(if own_leaf { self.push_node(parent, *leaf) } else { self.node(parent, *leaf) })
    }

    fn node(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        if let Some(known) = self.nodes.get(&(parent, frame)) {
            return *known;
        }
        let id = self.push_node(parent, frame);
        self.nodes.insert((parent, frame), id);
        id
    }

    fn push_node(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let id = StackId::from_index(self.stacks.len());
        self.stacks.push(Stack { parent, frame });
        id
    }

    fn kernel_frame(&mut self, address: CodeAddress, code: &mut Code<'_>) -> [FrameId; 1] {
        let lookup = address.lookup();
        if let Some(known) = self.known.get(&Spot::Kernel(lookup.0)) {
            return [known[0]];
        }
        let symbol = self.kernel.as_ref().and_then(|kernel| kernel.lookup(lookup));
        let (module, function, at) = match symbol {
            Some(symbol) => (symbol.module, symbol.name.to_owned(), lookup.0),
            None => {
                code.ledger.whole(LossKind::KernelSymbolsMissing, "", 1);
                (None, UNKNOWN.to_owned(), lookup.0)
            }
        };
        let module = code.modules.kernel(module);
        let function = self.text(&function);
        let id = self.push_frame(Frame::new(Some(module), function, Some(at)));
        self.known.insert(Spot::Kernel(lookup.0), Box::new([id]));
        [id]
    }

    /// The frames of a user address, outermost first, and which position it is in code with an image.
    fn user_frames(
        &mut self,
        space: SpaceId,
        address: CodeAddress,
        code: &mut Code<'_>,
    ) -> (&[FrameId], Option<Position>) {
        if let Some((pid, place)) = code.managed.site(space, address.address().0) {
            let runs = matches!(address, CodeAddress::InstructionPointer(_));
            return (self.managed_frame((pid, place), runs, code), None);
        }
        if let CodeAddress::InstructionPointer(word) = address
            && let Some(size) = BlockSize::of_word(word.0)
        {
            return (self.size_frame(size, code), None);
        }
        let lookup = address.lookup();
        let Some(map) = code.spaces.find(space, lookup.0).copied() else {
            return (self.nowhere(), None);
        };
        let image = code.modules.image(map.module).cloned();
        let svma = image.as_ref().and_then(|image| {
            image.svma_in_mapping(lookup, Avma(map.start), FileOffset(map.offset))
        });
        // Without an image the distance in the file still tells addresses apart, and without a
        // file the address itself.
        let in_file = map.in_file(lookup.0);
        let generated = code.modules.is_generated(map.module);
        let at = svma.map_or(if generated { lookup.0 } else { in_file }, |svma| svma.0);
        let here = svma.map(|at| Position { module: map.module, at });
        let spot = Spot::Module(map.module, at);
        if !self.known.contains_key(&spot) {
            let frames = match (image, svma) {
                (Some(image), Some(svma)) => {
                    let leaf = matches!(address, CodeAddress::InstructionPointer(_));
                    self.named(&image, (svma, leaf), map.module, code)
                }
                _ => vec![self.unnamed(map.module, at)],
            };
            if let (true, [frame]) = (generated, frames.as_slice()) {
                self.ask_generated(*frame, lookup, map.module, code);
            }
            self.known.insert(spot.clone(), frames.into());
        }
        (self.known.get(&spot).map_or(&[], |frames| frames), here)
    }

    /// The frame of the function that a word stands for, if it was found in a frame of an interpreter's loop:
    /// other functions may have such an address as well.
    fn bytecode_frame(
        &mut self,
        word: u64,
        native: &[FrameId],
        code: &mut Code<'_>,
    ) -> Option<FrameId> {
        let innermost = &self.frames[native.last()?.index()].function;
        let (name, file) =
            code.bytecodes.function(word).filter(|_| code.bytecodes.is_loop(innermost))?;
        let (name, file) = (Arc::clone(name), Arc::clone(file));
        let function = Interpreted::Function { name, file, line: None };
        Some(self.interpreted_frame(&function, code.modules))
    }

    /// The frame of an allocated block's size.
    fn size_frame(&mut self, size: BlockSize, code: &mut Code<'_>) -> &[FrameId] {
        let spot = Spot::Size(size.word());
        if !self.known.contains_key(&spot) {
            let (module, name) = (code.modules.in_brackets("size"), self.text(&size.label()));
            let frame = self.push_frame(Frame::new(Some(module), name, None));
            self.known.insert(spot.clone(), Box::new([frame]));
        }
        self.known.get(&spot).map_or(&[], |frames| frames)
    }

    /// The frames of an address, outermost first; what its instructions do is asked of leaves only.
    fn named(
        &mut self,
        image: &ModuleImage,
        (svma, leaf): (Svma, bool),
        module: ModuleId,
        code: &mut Code<'_>,
    ) -> Vec<FrameId> {
        let symbols = image.symbolize(svma);
        if let Some(function) = symbols.function {
            self.functions.insert((module, svma), function.start);
        }
        let function = symbols.function.filter(|_| leaf);
        let does = function.and_then(|function| image.instruction(svma, function)).map(instruction);
        let row = at_address(module, Some(svma));
        let ids = self.push_levels(&symbols.frames, &row, code);
        if let (Some(does), Some(innermost)) = (does, ids.last()) {
            self.frames[innermost.index()].instruction = Some(does);
        }
        ids
    }

    /// New frames for the inline levels of an address, innermost first as given, outermost first as
    /// returned; `row` has what is the same in all.
    fn push_levels(
        &mut self,
        levels: &[SymbolFrame],
        row: &Frame,
        code: &mut Code<'_>,
    ) -> Vec<FrameId> {
        if let Some(module) = row.module
            && levels.iter().any(|frame| frame.line.is_some())
        {
            code.modules.has_lines(module);
        }
        let outermost = levels.len().saturating_sub(1);
        let mut ids = Vec::with_capacity(levels.len());
        for (level, frame) in levels.iter().enumerate().rev() {
            if let (None, Some(module)) = (&frame.function, row.module) {
                let path = code.modules.rows()[module.index()].path.clone();
                code.ledger.whole(LossKind::SymbolsMissing, &path, 1);
            }
            let function = self.text(frame.function.as_deref().unwrap_or(UNKNOWN));
            let file = frame.file.as_deref().map(|file| self.text(file));
            let (line, inlined) = (frame.line, level != outermost);
            ids.push(self.push_frame(Frame { function, file, line, inlined, ..row.clone() }));
        }
        ids
    }

    fn unnamed(&mut self, module: ModuleId, at: u64) -> FrameId {
        let function = self.text(UNKNOWN);
        self.push_frame(Frame::new(Some(module), function, Some(at)))
    }

    /// One frame for all addresses that belong to nothing: chains by frame pointers end in garbage
    /// where a function keeps none, and each piece of garbage would be a function otherwise.
    fn nowhere(&mut self) -> &[FrameId] {
        if self.unknown.is_none() {
            let function = self.text(UNKNOWN);
            self.unknown = Some(self.push_frame(Frame::new(None, function, None)));
        }
        self.unknown.as_slice()
    }

    fn push_frame(&mut self, frame: Frame) -> FrameId {
        let id = FrameId::from_index(self.frames.len());
        self.frames.push(frame);
        id
    }

    fn text(&mut self, text: &str) -> Text {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let shared = Text::from(text);
        self.texts.insert(text.into(), shared.clone());
        shared
    }
}

/// A frame of which only the place is known.
fn at_address(module: ModuleId, address: Option<Svma>) -> Frame {
    Frame::new(Some(module), "", address.map(|address| address.0))
}

/// What the symbols' crate says of code, as recordings hold it.
fn instruction(does: culprit_symbols::Instruction) -> Instruction {
    match does {
        culprit_symbols::Instruction::Atomic => Instruction::Atomic,
        culprit_symbols::Instruction::AtomicFixed => Instruction::AtomicFixed,
        culprit_symbols::Instruction::Spin => Instruction::Spin,
        culprit_symbols::Instruction::Pause => Instruction::Pause,
    }
}

/// The first address is where the thread was, the others are where it will return to.
fn position(depth: usize, address: u64) -> CodeAddress {
    match depth {
        0 => CodeAddress::InstructionPointer(Avma(address)),
        _ => CodeAddress::ReturnAddress(Avma(address)),
    }
}

/// An unwound frame as a word of a chain, where only the first is taken as it is: the instruction
/// that a signal interrupted is moved up by one, so that looking one below finds it.
pub(crate) fn chain_word(depth: usize, frame: CodeAddress) -> u64 {
    match frame {
        CodeAddress::InstructionPointer(address) if depth > 0 => address.0.saturating_add(1),
        other => other.address().0,
    }
}
