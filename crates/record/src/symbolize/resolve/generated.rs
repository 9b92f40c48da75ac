//! Names of generated code, when the recording ends: what its process said while it lived, else what its
//! runtime has written down.
//!
//! ```text
//! recorded   main < [jit] 0x7f10 < [jit] interpreter, site 3 < sleep
//! named      main < Orders.handle < Orders.check < Orders.parse < Orders.nap < sleep
//!                   one address, three inlined methods           one site, one method
//! ```
//!
//! So one node of a stack may become several. The stacks are then built anew, and each old one knows where
//! it went.

use culprit_model::{
    Frame, FrameId, LossKind, ModuleId, Stack, StackId, Text, parse_generated_name,
};
use culprit_symbols::Avma;
use rustc_hash::FxHashMap;

use super::{Code, Resolver, Spot, UNKNOWN};
use crate::enrich::managed::{ManagedFunction, ManagedPlace};

/// What a frame of an interpreter is called where its method is not known.
const INTERPRETER: &str = "Interpreter";

/// Methods whose process ended before they could be read.
const NOT_READ: &str = "methods that Culprit did not read before their process ended";

/// A frame of code that only its process names.
#[derive(Debug, Clone, Copy)]
pub(super) struct ManagedFrame {
    frame: FrameId,
    pid: i32,
    place: ManagedPlace,
    /// The thread ran there, and was not in a call from there.
    runs: bool,
}

impl Resolver {
    /// The frame of a place that has no address of its own.
    pub(super) fn managed_frame(
        &mut self,
        (pid, place): (i32, ManagedPlace),
        runs: bool,
        code: &mut Code<'_>,
    ) -> &[FrameId] {
        let spot = Spot::Managed(pid, place, runs);
        if !self.known.contains_key(&spot) {
            let function = match place {
                ManagedPlace::Interpreted { .. } => INTERPRETER,
                ManagedPlace::Instruction { .. } => UNKNOWN,
            };
            let module = code.modules.generated_code(pid);
            let function = self.text(function);
            let frame = self.push_frame(Frame::new(Some(module), function, None));
            self.managed.push(ManagedFrame { frame, pid, place, runs });
            self.known.insert(spot.clone(), Box::new([frame]));
        }
        self.known.get(&spot).map_or(&[], |frames| frames)
    }

    /// Asks what an address of generated code is.
    pub(super) fn ask_generated(
        &mut self,
        frame: FrameId,
        address: Avma,
        module: ModuleId,
        code: &mut Code<'_>,
    ) {
        let Some(pid) = code.modules.generating_process(module) else { return };
        let place = ManagedPlace::Instruction { address: address.0, version: 0 };
        code.managed.ask(pid, place);
        self.managed.push(ManagedFrame { frame, pid, place, runs: false });
    }

    /// Names the frames of generated code.
    pub(crate) fn name_generated(&mut self, code: &mut Code<'_>) {
        self.name_by_maps(code);
        let mut several = FxHashMap::default();
        let mut unread = 0;
        for ManagedFrame { frame, pid, place, runs } in std::mem::take(&mut self.managed) {
            let interpreted = matches!(place, ManagedPlace::Interpreted { .. });
            match code.managed.functions(pid, place) {
                Some(functions) => {
                    let module = code.modules.generated_code(pid);
                    let mut frames = self.function_frames(module, &functions, frame);
                    if runs && interpreted {
                        // A method that is interpreted is one that is compiled, but for its time.
                        frames.push(self.interpreter(module));
                    }
                    several.insert(frame, frames);
                }
                None => unread += u64::from(interpreted),
            }
        }
        if unread > 0 {
            code.ledger.whole(LossKind::InterpreterFramesMissing, NOT_READ, unread);
        }
        if !several.is_empty() {
            self.rebuild(&several);
        }
    }

    /// The frames of a place's functions, outermost first. What a map has named already keeps that name
    /// where the process only knows the name of the whole.
    fn function_frames(
        &mut self,
        module: ModuleId,
        functions: &[ManagedFunction],
        known: FrameId,
    ) -> Vec<FrameId> {
        let by_map = |frame: &Frame| frame.address.is_some() && frame.function.as_str() != UNKNOWN;
        if let [only] = functions
            && only.file.is_none()
            && self.frames.get(known.index()).is_some_and(by_map)
        {
            return vec![known];
        }
        let outermost = functions.len().saturating_sub(1);
        let frames = functions.iter().enumerate().rev().map(|(level, function)| {
            let inlined = level != outermost;
            let (name, file) = (self.text(&function.name), function.file.as_deref());
            let file = file.map(|file| self.text(file));
            let frame = Frame::new(Some(module), name, None);
            self.function_frame(Frame { file, line: function.line, inlined, ..frame })
        });
        frames.collect()
    }

    /// The frame of the interpreter itself.
    fn interpreter(&mut self, module: ModuleId) -> FrameId {
        let name = self.text(INTERPRETER);
        self.function_frame(Frame::new(Some(module), name, None))
    }

    /// One frame for all that are the same.
    fn function_frame(&mut self, frame: Frame) -> FrameId {
        let file = frame.file.clone().unwrap_or_else(|| Text::from(""));
        let (name, line) = (frame.function.clone(), frame.line);
        let spot = Spot::Function(frame.module, name, file, line, frame.inlined);
        if let Some([known]) = self.known.get(&spot).map(|frames| &**frames) {
            return *known;
        }
        let id = self.push_frame(frame);
        self.known.insert(spot, Box::new([id]));
        id
    }

    /// Puts several frames in the place of one, in every stack.
    fn rebuild(&mut self, several: &FxHashMap<FrameId, Vec<FrameId>>) {
        let old = std::mem::take(&mut self.stacks);
        self.nodes.clear();
        let mut moved: Vec<StackId> = Vec::with_capacity(old.len());
        for Stack { parent, frame } in old {
            let mut parent = parent.and_then(|parent| moved.get(parent.index()).copied());
            let own = [frame];
            for frame in several.get(&frame).map_or(&own[..], Vec::as_slice) {
                parent = Some(self.node(parent, *frame));
            }
            // Every place has at least one function.
            moved.push(parent.unwrap_or_else(|| StackId::from_index(0)));
        }
        self.moved = moved;
    }

    /// Names frames by what the runtimes have written.
    fn name_by_maps(&mut self, code: &mut Code<'_>) {
        let sources = code.modules.read_generated();
        for frame in &mut self.frames {
            let (Some(module), Some(address)) = (frame.module, frame.address) else { continue };
            if !code.modules.is_generated(module) {
                continue;
            }
            let of_module = sources.iter().filter(|(id, _)| *id == module);
            let mut found = of_module.filter_map(|(_, code)| code.lookup(Avma(address), None));
            // How much an address without a name matters is counted in rows (`unnamed`).
            if let Some(symbol) = found.next() {
                let name = parse_generated_name(&symbol.name);
                if symbol.ambiguous {
                    code.ledger.whole(LossKind::NamesAmbiguous, &name.function, 1);
                }
                frame.function = Text::from(&*name.function);
                // A dump has the line of the address, a name that of the function.
                let (file, line) = match symbol.file.as_deref() {
                    Some(file) => (Some(file), symbol.line),
                    None => (name.file, name.line),
                };
                (frame.file, frame.line) = (file.map(Text::from), line);
                match (name.module, name.file) {
                    (Some(script), Some(path)) => {
                        frame.module = Some(code.modules.generated_script(script, path));
                    }
                    (Some(assembly), None) => {
                        let place = code.modules.method_place(module, assembly, &symbol.name);
                        if let (None, Some((file, line))) = (&frame.file, place.source) {
                            (frame.file, frame.line) = (Some(file.into()), Some(line));
                        }
                        let path = place.assembly.as_deref();
                        let part = code.modules.generated_assembly(assembly, path);
                        if frame.line.is_some() {
                            code.modules.has_lines(part);
                        }
                        frame.module = Some(part);
                    }
                    (None, _) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use culprit_model::Time;
    use culprit_symbols::{CodeAddress, InterpretedFrame};

    use super::*;
    use crate::enrich::bytecode::Bytecodes;
    use crate::enrich::managed::{ManagedCode, ManagedNews};
    use crate::events::ledger::Ledger;
    use crate::events::space::{MappedCode, Spaces};
    use crate::events::stacks::{RawStacks, Variant, join};
    use crate::symbolize::modules::Modules;

    fn function(name: &str, line: u32) -> ManagedFunction {
        let file = Some("Orders.java".into());
        ManagedFunction { name: name.into(), file, line: Some(line) }
    }

    /// The frames of a stack, outermost first.
    fn described(resolver: &Resolver, stack: StackId) -> Vec<String> {
        let mut frames = Vec::new();
        let mut next = Some(stack);
        while let Some(stack) = next {
            let Stack { parent, frame } = resolver.stacks[stack.index()];
            let frame = &resolver.frames[frame.index()];
            let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
            let inlined = if frame.inlined { " inlined" } else { "" };
            frames.push(format!("{}{line}{inlined}", frame.function.as_str()));
            next = parent;
        }
        frames.reverse();
        frames
    }

    #[test]
    fn one_frame_becomes_the_methods_that_were_inlined_there() {
        let (mut modules, mut spaces) = (Modules::default(), Spaces::default());
        let (requests, _asked) = channel();
        let mut managed = ManagedCode::new(requests);
        let mut ledger = Ledger::default();
        let mut raw = RawStacks::default();
        let mut resolver = Resolver::default();
        let space = spaces.empty();
        let module = modules.generated_code(7);
        let map = MappedCode { start: 0x1000, end: 0x2000, offset: 0, module };
        spaces.map(space, map, &modules);
        // Compiled code calls an interpreted method, of which one is known and one is not.
        let mut stack = |method| {
            let frames = [
                CodeAddress::InstructionPointer(Avma(0x1f00)),
                CodeAddress::ReturnAddress(Avma(0x1101)),
            ];
            let interpreted = InterpretedFrame { depth: 0, method, bytecode: 1 };
            let chain = managed.chain((space, 7), &frames, &[interpreted]);
            raw.intern(space, Variant::default(), &join(&[], &chain))
        };
        let (known, unknown) = (stack(1), stack(2));
        let mut code = Code {
            modules: &mut modules,
            managed: &mut managed,
            bytecodes: &Bytecodes::default(),
            spaces: &spaces,
            ledger: &mut ledger,
        };
        resolver.resolve_new(&mut raw, &mut code);
        let place = ManagedPlace::Interpreted { method: 1, bytecode: 1 };
        let compiled = ManagedPlace::Instruction { address: 0x1100, version: 0 };
        let answers = vec![
            (place, Arc::from([function("Orders.nap", 40)])),
            (compiled, Arc::from([function("Orders.check", 20), function("Orders.handle", 10)])),
        ];
        code.managed.tell(7, ManagedNews::Functions(answers), Time(9));
        resolver.name_generated(&mut code);
        let row = |stack| resolver.repaired(raw.row(stack).expect("it was resolved"));
        let outer = ["Orders.handle:10", "Orders.check:20 inlined"];
        let inner = ["Orders.nap:40", "Interpreter"];
        assert_eq!(described(&resolver, row(known)), [&outer[..], &inner].concat());
        assert_eq!(described(&resolver, row(unknown)), [&outer[..], &["Interpreter"]].concat());
        assert_eq!(ledger.count(LossKind::InterpreterFramesMissing), 1);
    }
}
