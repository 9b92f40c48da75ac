//! What the names of functions and modules tell of each frame, looked up once.

use culprit_engine::names::{self, Families, Family, known_as};
use culprit_engine::own::{CodeOrigin, script_origin};
use culprit_model::{FrameId, Module, Recording};
use rustc_hash::FxHashMap;

/// What one frame's name tells.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    /// A function of the kernel.
    pub(crate) kernel: bool,
    /// Whose script it is a function of; none for functions of no script.
    pub(crate) script: Option<CodeOrigin>,
    /// What the module belongs to.
    pub(crate) module: Families,
    /// What the function and its module belong to. Functions of the program's own scripts have any
    /// names, so nothing is known of them.
    pub(crate) families: Families,
}

/// What is known of every frame; one entry a frame.
#[derive(Debug)]
pub(crate) struct KnownFrames(Vec<Known>);

impl KnownFrames {
    /// Looks every name up once.
    pub(crate) fn of(recording: &Recording) -> Self {
        let modules: Vec<Families> =
            recording.modules.iter().map(|module| names::module(&module.name)).collect();
        let mut functions: FxHashMap<(String, Families), Families> = FxHashMap::default();
        let known = |frame: &culprit_model::Frame| {
            let module = frame.module.map(|m| recording.module(m));
            if module.is_some_and(Module::is_kernel) {
                let families = names::kernel(&frame.function).families;
                return Known { kernel: true, families, ..Known::default() };
            }
            let script = module.and_then(script_origin);
            if script == Some(CodeOrigin::Own) {
                return Known { script, ..Known::default() };
            }
            let (function, name) = known_as(frame, module);
            let of_module = match frame.module {
                Some(module) if !name.is_empty() => modules[module.index()],
                _ => Families::NONE,
            };
            let key = (function.into_owned(), of_module);
            let families = match functions.get(&key) {
                Some(families) => *families,
                None => {
                    let families = names::library(&key.0, of_module);
                    functions.insert(key, families);
                    families
                }
            };
            Known { kernel: false, script, module: of_module, families }
        };
        Self(recording.frames.iter().map(known).collect())
    }

    /// What is known of a frame.
    pub(crate) fn get(&self, frame: FrameId) -> Known {
        self.0.get(frame.index()).copied().unwrap_or_default()
    }

    /// True for a frame whose function or module is of a family.
    pub(crate) fn is(&self, frame: FrameId, family: Family) -> bool {
        self.get(frame).families.has(family)
    }
}
