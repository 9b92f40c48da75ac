//! Whose code a frame is: the program's own, a library's or the runtime's and system's.
//!
//! Findings and comparisons point at the nearest frame of the program's own code, because that is
//! what its author can change. What counts as own follows from paths, modules and packages, never from
//! a program's name; docs/filters.md has the rule for users ("What counts as the program's own code").
//! `--own` replaces it.
//!
//! ```text
//! stack, root first     _start   main   numpy.dot   _PyEval_Eval   load_rows   pysleep   do_nanosleep
//! origin                runtime  own    library     runtime        own         runtime   runtime
//! pointed at                                                       ^^^^^^^^^
//! ```
//!
//! Frames are judged once each, stacks from callers to what they call: linear in both.

mod functions;
mod paths;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Frame, FrameId, Module, Recording, StackId};

use crate::calls::Patterns;

pub use source::SourceFunction;

/// Whose a script is that a runtime runs, by where it lies; none for other modules.
#[must_use]
pub fn script_origin(module: &Module) -> Option<CodeOrigin> {
    paths::is_script(&module.path).then(|| paths::script_origin(&module.path))
}

/// True for the module of code that a runtime generates.
#[must_use]
pub fn is_generated(module: &Module) -> bool {
    module.name.as_str() == source::GENERATED
}

/// The function of a frame as its source has it.
#[must_use]
pub fn source_function(recording: &Recording, frame: FrameId) -> SourceFunction<'_> {
    let frame = recording.frame(frame);
    let module = frame.module.map_or("", |module| recording.module(module).name.as_str());
    SourceFunction::new(frame, module)
}

/// A frame's function without a line, the same for all of its frames: `module!function`; generated
/// code has its source's name, and its file where that is known.
#[must_use]
pub fn function_name(recording: &Recording, frame: FrameId) -> String {
    let of = recording.frame(frame);
    let module = of.module.map(|module| recording.module(module));
    if !module.is_some_and(is_generated) || source::managed(&of.function).is_none() {
        return recording.frame_name(frame);
    }
    let found = source_function(recording, frame);
    match found.file {
        Some(file) => format!("{} {}", found.name, paths::base_name(file)),
        None => found.name.into_owned(),
    }
}

/// A frame's function as texts name it: `load_config app.py:31` where its line is known, else as
/// [`function_name`].
#[must_use]
pub fn function_label(recording: &Recording, frame: FrameId) -> String {
    let with_line = source_function(recording, frame).with_line();
    with_line.unwrap_or_else(|| function_name(recording, frame))
}

/// Whose code a frame is; what is nearer to the program's author is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CodeOrigin {
    /// The kernel's, the system's libraries', or a language runtime's native code.
    #[default]
    Runtime,
    /// A standard library's or a package's that others wrote.
    Library,
    /// The program's own.
    Own,
}

/// Whose code every frame of a recording is, and where each stack points.
#[derive(Debug, Clone, Default)]
pub struct OwnCode {
    origins: Vec<CodeOrigin>,
    /// Whether patterns say what is own.
    chosen: bool,
    /// Whether each frame's function has a name: without one, nobody can look at it.
    named: Vec<bool>,
    /// The innermost frame of the best origin; none where only the runtime's are on the stack.
    nearest: Vec<Option<FrameId>>,
}

impl OwnCode {
    /// Judges every frame. Patterns replace the rule where there are any: what they match, in the
    /// language of docs/filters.md, is own, and nothing else.
    #[must_use]
    pub fn new(recording: &Recording, patterns: &Patterns) -> Self {
        let rule = OriginRule::new(recording);
        let frames = 0..recording.frames.len();
        let judged = frames.map(|at| {
            let id = FrameId::from_index(at);
            let by_rule = rule.frame_origin(recording.frame(id));
            match patterns.is_empty() {
                true => by_rule,
                false if is_matched(recording, patterns, id) => CodeOrigin::Own,
                false => by_rule.min(CodeOrigin::Library),
            }
        });
        let named = recording.frames.iter().map(|frame| frame.function.as_str() != "?");
        let (origins, named) = (judged.collect(), named.collect());
        let chosen = !patterns.is_empty();
        let mut own = Self { origins, chosen, named, nearest: Vec::new() };
        own.nearest.reserve_exact(recording.stacks.len());
        for node in &recording.stacks {
            // Callers stand before what they call.
            let above = node.parent.and_then(|parent| own.nearest(Some(parent)));
            let points = own.is_named(node.frame) && own.origin(node.frame) > CodeOrigin::Runtime;
            let better = above.is_none_or(|above| own.origin(node.frame) >= own.origin(above));
            own.nearest.push(if points && better { Some(node.frame) } else { above });
        }
        own
    }

    /// True where the user's patterns say what is own, and not the rule.
    #[must_use]
    pub fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// Whose code a frame is.
    #[must_use]
    pub fn origin(&self, frame: FrameId) -> CodeOrigin {
        self.origins.get(frame.index()).copied().unwrap_or_default()
    }

    fn is_named(&self, frame: FrameId) -> bool {
        self.named.get(frame.index()).copied().unwrap_or_default()
    }

    /// Whose code each function name of a recording is, `module!function` as views show it; the
    /// nearest to the program's author where several functions have one name.
    #[must_use]
    pub fn by_name(&self, recording: &Recording) -> BTreeMap<String, CodeOrigin> {
        let mut names: BTreeMap<String, CodeOrigin> = BTreeMap::new();
        for at in 0..recording.frames.len() {
            let frame = FrameId::from_index(at);
            let origin = names.entry(recording.frame_name(frame)).or_default();
            *origin = self.origin(frame).max(*origin);
        }
        names
    }

    /// The innermost frame of a stack that is the program's own, else a library's; none where only the
    /// runtime and the system are on it. Frames without a name do not count.
    #[must_use]
    pub fn nearest(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.nearest.get(stack?.index()).copied().flatten()
    }

    /// Where to point for a stack of which `picked` was chosen for another reason: there, unless a
    /// frame nearer to the program's author is on the stack.
    #[must_use]
    pub fn pointed(&self, stack: Option<StackId>, picked: Option<FrameId>) -> Option<FrameId> {
        let nearest = self.nearest(stack);
        let better = |picked: FrameId| {
            let nearer = |nearest| self.origin(nearest) > self.origin(picked);
            nearest.is_some_and(|nearest| nearer(nearest) || !self.is_named(picked))
        };
        match picked {
            Some(picked) if !better(picked) => Some(picked),
            _ => nearest.or(picked),
        }
    }
}

fn is_matched(recording: &Recording, patterns: &Patterns, id: FrameId) -> bool {
    let frame = recording.frame(id);
    let path = frame.module.map(|module| &recording.module(module).path);
    let long = path.map(|path| format!("{path}!{}", frame.function));
    patterns.any_of(&recording.frame_name(id), long.as_deref())
}

/// What the rule knows of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModuleKind {
    /// All of it is one origin's.
    All(CodeOrigin),
    /// Native code of the program, into which compilers put that of libraries; from Go or not.
    Native { go: bool },
    /// Methods of the JVM: their packages tell.
    Classes,
    /// Code that a runtime generated.
    Generated,
}

/// The rule for one recording.
struct OriginRule<'r> {
    modules: Vec<ModuleKind>,
    /// Source files of libraries, judged once each.
    library_files: BTreeSet<&'r str>,
}

impl<'r> OriginRule<'r> {
    fn new(recording: &'r Recording) -> Self {
        let programs: BTreeSet<&str> =
            recording.processes.iter().map(|process| paths::plain(&process.exe)).collect();
        let shipped: BTreeSet<String> =
            programs.iter().filter_map(|program| paths::runtime_libraries(program)).collect();
        let kind = |module| module_kind(module, &programs, &shipped);
        let mut kinds: Vec<ModuleKind> = recording.modules.iter().map(kind).collect();
        for frame in &recording.frames {
            let Some(id) = frame.module else { continue };
            let Some(kind) = kinds.get_mut(id.index()) else { continue };
            let is_native = matches!(kind, ModuleKind::Native { .. });
            let may_be_script = is_native || *kind == ModuleKind::All(CodeOrigin::Runtime);
            if may_be_script && is_its_source(frame, recording.module(id)) {
                // A script without an ending, such as `bin/rails`.
                *kind = ModuleKind::All(paths::script_origin(&recording.module(id).path));
            } else if is_native && frame.function.starts_with("runtime.") {
                // Every program of Go has its runtime in itself.
                *kind = ModuleKind::Native { go: true };
            }
        }
        let files: BTreeSet<&str> =
            recording.frames.iter().filter_map(|frame| frame.file.as_deref()).collect();
        let library_files = files.into_iter().filter(|file| paths::is_library_source(file));
        Self { modules: kinds, library_files: library_files.collect() }
    }

    fn frame_origin(&self, frame: &Frame) -> CodeOrigin {
        let kind = frame.module.and_then(|module| self.modules.get(module.index()));
        match kind {
            Some(ModuleKind::All(origin)) => *origin,
            Some(ModuleKind::Native { go }) => self.native_origin(frame, *go),
            Some(ModuleKind::Classes) => functions::class_origin(&frame.function),
            Some(ModuleKind::Generated) => source::managed(&frame.function)
                .map_or(CodeOrigin::Runtime, functions::managed_origin),
            // Imports without modules: only the function's name tells.
            None => match source::managed(&frame.function) {
                Some(found) => functions::managed_origin(found),
                None => self.native_origin(frame, false),
            },
        }
    }

    fn native_origin(&self, frame: &Frame, go: bool) -> CodeOrigin {
        let in_library =
            frame.file.as_deref().is_some_and(|file| self.library_files.contains(file));
        if in_library { CodeOrigin::Library } else { functions::native_origin(&frame.function, go) }
    }
}

/// True for a frame whose source file is its module: the module is a script. Native code comes from
/// other files than its own.
fn is_its_source(frame: &Frame, module: &Module) -> bool {
    module.build_id.is_none() && frame.file.as_ref().is_some_and(|file| *file == module.path)
}

/// What a module is; `programs` are the executables of the recorded processes, `shipped` the folders
/// where the runtimes among them have their libraries.
fn module_kind(
    module: &Module,
    programs: &BTreeSet<&str>,
    shipped: &BTreeSet<String>,
) -> ModuleKind {
    let (name, path) = (module.name.as_str(), paths::plain(&module.path));
    if name == source::GENERATED {
        return ModuleKind::Generated;
    }
    if name.starts_with('[') || path.ends_with(".ko") {
        return ModuleKind::All(CodeOrigin::Runtime);
    }
    if paths::is_script(path) {
        return ModuleKind::All(paths::script_origin(path));
    }
    if paths::is_jvm_source(path) {
        return ModuleKind::Classes;
    }
    if path.ends_with(".dll") {
        let by_path = if paths::is_package(path) { CodeOrigin::Library } else { CodeOrigin::Own };
        return ModuleKind::All(by_path.min(paths::assembly_origin(paths::base_name(path))));
    }
    if paths::is_runtime(paths::base_name(path)) {
        return ModuleKind::All(CodeOrigin::Runtime);
    }
    if programs.contains(path) {
        return ModuleKind::Native { go: false };
    }
    // Names of jitted methods give the assembly without its file.
    let assembly = if path.contains('/') { CodeOrigin::Own } else { paths::assembly_origin(path) };
    if assembly != CodeOrigin::Own {
        return ModuleKind::All(assembly);
    }
    match native_library(path) {
        ModuleKind::Native { .. } if shipped.iter().any(|folder| path.starts_with(folder)) => {
            ModuleKind::All(CodeOrigin::Library)
        }
        kind => kind,
    }
}

/// What a native module is that no process was started from.
fn native_library(path: &str) -> ModuleKind {
    if paths::is_package(path) || path.starts_with("/usr/local/lib") {
        return ModuleKind::All(CodeOrigin::Library);
    }
    let name = paths::base_name(path);
    let bare = !path.contains('/') && name.starts_with("lib") && name.contains(".so");
    let of_python = paths::is_standard_python(path);
    if paths::is_system(path) || paths::is_system_module(name) || of_python || bare {
        return ModuleKind::All(CodeOrigin::Runtime);
    }
    ModuleKind::Native { go: false }
}

#[cfg(test)]
mod tests;
