//! The stacks of a thread, from the tables of the thread or of the whole file.

use culprit_model::{FrameId, LossKind, ModuleId, StackId, Text};

use super::columns::{Frames, Functions, Lib, Tables};
use crate::builder::Builder;
use crate::json::{Loose, Number, Str};

/// Bits of the `flags` of frames (version 71) and functions (version 75).
const FRAME_HAS_LIB: usize = 2;
const FUNCTION_IS_JS: usize = 1;
const FUNCTION_HAS_RESOURCE: usize = 4;
const FUNCTION_HAS_SOURCE: usize = 8;

/// The file's list of libraries.
pub(super) struct Libs<'a>(&'a [Loose<Lib<'a>>]);

impl<'a> Libs<'a> {
    pub(super) fn new(libs: &'a [Loose<Lib<'a>>]) -> Self {
        Self(libs)
    }

    fn module(&self, at: usize, builder: &mut Builder) -> Option<ModuleId> {
        let lib = self.0.get(at)?.get()?;
        let (name, path) = (lib.name.text(), lib.path.text());
        let id = match (name, path) {
            ("", "") => return None,
            (name, "") => builder.module_named(name, name),
            ("", path) => builder.module(path),
            (name, path) => builder.module_named(name, path),
        };
        let code = lib.code_id.text();
        if !code.is_empty() {
            let module = &mut builder.recording().modules[id.index()];
            module.build_id.get_or_insert_with(|| Text::from(code));
        }
        Some(id)
    }
}

/// The stack of each row of a stack table; none for rows that make no sense.
pub(super) struct Stacks(Vec<Option<StackId>>);

impl Stacks {
    pub(super) fn get(&self, at: usize) -> Option<StackId> {
        self.0.get(at).copied().flatten()
    }

    /// The stacks of rows of a caller's row and a frame each, callers first.
    pub(super) fn from_rows(
        rows: impl Iterator<Item = (Option<usize>, Option<FrameId>)>,
        builder: &mut Builder,
    ) -> Self {
        let mut stacks: Vec<Option<StackId>> = Vec::new();
        for (caller, frame) in rows {
            let stack = match (caller, frame) {
                (None, Some(frame)) => Some(builder.push(None, frame)),
                (Some(at), Some(frame)) => {
                    let caller = stacks.get(at).copied().flatten();
                    caller.map(|caller| builder.push(Some(caller), frame))
                }
                (_, None) => None,
            };
            stacks.push(stack);
        }
        Self(stacks)
    }

    pub(super) fn of(
        own: &Tables<'_>,
        shared: Option<&Tables<'_>>,
        libs: &Libs<'_>,
        builder: &mut Builder,
    ) -> Self {
        let names = Names {
            strings: either(own, shared, |tables| tables.string_array.as_deref()),
            functions: either(own, shared, |tables| tables.func_table.as_ref()),
            resources: either(own, shared, |tables| {
                tables.resource_table.as_ref().map(|table| &*table.lib)
            }),
            sources: either(own, shared, |tables| {
                tables.sources.as_ref().map(|table| &*table.filename)
            }),
            libs,
        };
        let frames = either(own, shared, |tables| tables.frame_table.as_ref());
        let frames: Vec<Option<FrameId>> = frames.map_or_else(Vec::new, |frames| {
            (0..frames.func.len()).map(|at| names.frame(frames, at, builder)).collect()
        });
        let Some(table) = either(own, shared, |tables| tables.stack_table.as_ref()) else {
            return Self(Vec::new());
        };
        let rows = table.frame.iter().enumerate().map(|(at, frame)| {
            let caller = match (&table.prefix, &table.prefix_offset) {
                (Some(prefix), _) => prefix.get(at).and_then(|prefix| prefix.index()),
                (None, Some(offset)) => {
                    let back =
                        offset.get(at).and_then(|back| back.index()).filter(|back| *back > 0);
                    // One that leads in front of the first row makes no sense.
                    back.map(|back| at.checked_sub(back).unwrap_or(usize::MAX))
                }
                (None, None) => None,
            };
            (caller, frame.index().and_then(|frame| frames.get(frame).copied().flatten()))
        });
        Self::from_rows(rows, builder)
    }
}

/// A table of the thread, else of all threads.
fn either<'a, T: ?Sized>(
    own: &'a Tables<'_>,
    shared: Option<&'a Tables<'_>>,
    table: impl Fn(&'a Tables<'_>) -> Option<&'a T>,
) -> Option<&'a T> {
    table(own).or_else(|| table(shared?))
}

/// What frames point to.
struct Names<'a> {
    strings: Option<&'a [Loose<Str<'a>>]>,
    functions: Option<&'a Functions>,
    resources: Option<&'a [Number]>,
    sources: Option<&'a [Number]>,
    libs: &'a Libs<'a>,
}

impl Names<'_> {
    fn frame(&self, frames: &Frames, at: usize, builder: &mut Builder) -> Option<FrameId> {
        let functions = self.functions?;
        let function = frames.func.get(at)?.index()?;
        let name = self.string(functions.name.get(function)?.index()?)?;
        let file = self.file(functions, function).unwrap_or("");
        let line = frames.line.get(at).and_then(|line| line.small()).filter(|line| *line > 0);
        let flagged = |flags: &Option<Vec<Number>>, at: usize, bit: usize| {
            let flags = flags.as_ref().and_then(|flags| flags.get(at)?.index());
            flags.is_none_or(|flags| flags & bit != 0)
        };
        let lib = match &frames.lib {
            Some(lib) => lib
                .get(at)
                .and_then(|lib| lib.index())
                .filter(|_| flagged(&frames.flags, at, FRAME_HAS_LIB)),
            None => functions
                .resource
                .get(function)
                .and_then(|resource| resource.index())
                .filter(|_| flagged(&functions.flags, function, FUNCTION_HAS_RESOURCE))
                .and_then(|resource| self.resources?.get(resource)?.index()),
        };
        let module = lib.and_then(|lib| self.libs.module(lib, builder));
        let script = match &functions.flags {
            Some(_) => flagged(&functions.flags, function, FUNCTION_IS_JS),
            None => functions.is_js.get(function).and_then(Loose::get) == Some(&true),
        };
        let script = script && !file.is_empty();
        let module = module.or_else(|| script.then(|| builder.module(file)));
        // An address stands where no name was found.
        let nameless = name.strip_prefix("0x").is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        if let Some(module) = module.filter(|_| nameless) {
            let path = builder.recording().module(module).path.to_string();
            builder.lose(LossKind::SymbolsMissing, 1, &path);
        }
        Some(match module {
            Some(module) => {
                builder.function(Some(module), if nameless { "?" } else { name }, file, line)
            }
            None => builder.located(name, file, line),
        })
    }

    fn file(&self, functions: &Functions, function: usize) -> Option<&str> {
        if let Some(files) = &functions.file_name {
            return self.string(files.get(function)?.index()?);
        }
        let flags = functions.flags.as_ref().map(|flags| flags.get(function)?.index());
        if flags.is_some_and(|flags| flags.unwrap_or(0) & FUNCTION_HAS_SOURCE == 0) {
            return None;
        }
        let source = functions.source.get(function)?.index()?;
        self.string(self.sources?.get(source)?.index()?)
    }

    fn string(&self, at: usize) -> Option<&str> {
        Some(self.strings?.get(at)?.text())
    }
}
