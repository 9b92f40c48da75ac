//! Threads, stacks and texts of a chunk, each looked up once.

use culprit_model::{Frame, FrameId, ModuleId, ProcessId, StackId, Text, ThreadId};
use rustc_hash::FxHashMap;

use super::chunk::{Chunk, Key, Record, Value};
use crate::builder::Builder;

/// A stack with what the reader must know of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) stack: Option<StackId>,
    /// Its leaf is in the kernel.
    pub(super) kernel: bool,
    /// Its root end was cut off by the recorder.
    pub(super) cut: bool,
}

/// A function with the module that it is of, and whether it is the kernel's.
#[derive(Debug, Clone)]
struct Method {
    module: Option<ModuleId>,
    function: Text,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    stacks: FxHashMap<Key, Known>,
    threads: FxHashMap<Key, Option<ThreadId>>,
    methods: FxHashMap<Key, Method>,
    texts: FxHashMap<Key, Text>,
}

impl Names {
    /// The text that a constant is or has as its name, as `java.lang.String` for classes.
    pub(super) fn text(&mut self, chunk: &Chunk<'_>, key: Key) -> Text {
        let known = self
            .texts
            .entry(key)
            .or_insert_with(|| Text::from(&*chunk.text(chunk.constant(key)).unwrap_or_default()));
        known.clone()
    }

    pub(super) fn class(&mut self, chunk: &Chunk<'_>, key: Key) -> String {
        class_name(&self.text(chunk, key))
    }

    pub(super) fn thread(
        &mut self,
        builder: &mut Builder,
        chunk: &Chunk<'_>,
        (process, key): (ProcessId, Key),
    ) -> Option<ThreadId> {
        *self.threads.entry(key).or_insert_with(|| {
            let Value::Record(thread) = chunk.constant(key) else { return None };
            let number = |name| thread.number(name).and_then(|id| u32::try_from(id).ok());
            // Virtual threads have no thread of the system to themselves.
            let number =
                number("osThreadId").filter(|id| *id > 0).or_else(|| number("javaThreadId"));
            let named = ["javaName", "osName"].iter().filter_map(|name| thread.text(name));
            let name = named.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
            Some(builder.thread(process, number.unwrap_or(0), &name))
        })
    }

    pub(super) fn stack(
        &mut self,
        builder: &mut Builder,
        chunk: &Chunk<'_>,
        key: Key,
    ) -> Option<Known> {
        if let Some(known) = self.stacks.get(&key) {
            return Some(*known);
        }
        let Value::Record(trace) = chunk.constant(key) else { return None };
        let mut frames = Vec::new();
        for frame in trace.list("frames") {
            frames.push(self.frame(builder, chunk, &frame));
        }
        let kernel = frames.first().is_some_and(|(_, kernel)| *kernel);
        let stack = builder.stack(frames.into_iter().rev().map(|(frame, _)| frame));
        let known = Known { stack, kernel, cut: trace.number("truncated") == Some(1) };
        self.stacks.insert(key, known);
        Some(known)
    }

    /// A frame, and whether it is the kernel's.
    fn frame(
        &mut self,
        builder: &mut Builder,
        chunk: &Chunk<'_>,
        frame: &Record<'_>,
    ) -> (FrameId, bool) {
        let kind = frame.key("type").map(|key| self.text(chunk, key)).unwrap_or_default();
        let kernel = kind.as_str() == "Kernel";
        let method = frame.key("method").map(|key| self.method(builder, chunk, key));
        let (module, function) = match method {
            Some(Method { module, function }) => (module, function),
            None => (None, Text::from("?")),
        };
        let module = if kernel { Some(builder.module("[kernel]")) } else { module };
        let line = frame.number("lineNumber").and_then(|line| u32::try_from(line).ok());
        // Unknown lines are 0, -1 or, of native methods, -2.
        let line = line.filter(|line| *line > 0 && line.cast_signed() > 0);
        let inlined = kind.as_str() == "Inlined";
        let frame = Frame { line, inlined, ..Frame::new(module, function, None) };
        (builder.frame(frame), kernel)
    }

    /// What a method is called.
    pub(super) fn function(&mut self, builder: &mut Builder, chunk: &Chunk<'_>, key: Key) -> Text {
        self.method(builder, chunk, key).function
    }

    fn method(&mut self, builder: &mut Builder, chunk: &Chunk<'_>, key: Key) -> Method {
        if let Some(known) = self.methods.get(&key) {
            return known.clone();
        }
        let method = match chunk.constant(key) {
            Value::Record(method) => self.describe(builder, chunk, &method),
            _ => Method { module: None, function: Text::from("?") },
        };
        self.methods.insert(key, method.clone());
        method
    }

    fn describe(&mut self, builder: &mut Builder, chunk: &Chunk<'_>, of: &Record<'_>) -> Method {
        let name = of.key("name").map(|key| self.text(chunk, key)).unwrap_or_default();
        let class = of.key("type");
        let module = class.and_then(|key| self.module(builder, chunk, key));
        let class = class.map(|key| self.class(chunk, key)).unwrap_or_default();
        let function = match (class.as_str(), name.as_str()) {
            ("", "") => "?".to_owned(),
            ("", name) => name.to_owned(),
            // async-profiler's frames that are a class and nothing else.
            (class, "") => class.to_owned(),
            (class, name) => format!("{class}.{name}"),
        };
        Method { module, function: Text::from(&*function) }
    }

    /// The module that the package of a class is of; none for the program's own classes, as a rule.
    fn module(&mut self, builder: &mut Builder, chunk: &Chunk<'_>, key: Key) -> Option<ModuleId> {
        let Value::Record(class) = chunk.constant(key) else { return None };
        let Value::Record(package) = chunk.constant(class.key("package")?) else {
            return None;
        };
        let name = self.text(chunk, package.key("module")?);
        (!name.is_empty()).then(|| builder.module(&name))
    }
}

/// A class's name as Java's programs write it: `java.util.List`, `int[][]`.
fn class_name(internal: &str) -> String {
    let inner = internal.trim_start_matches('[');
    let depth = internal.len() - inner.len();
    let name = match inner {
        "B" if depth > 0 => "byte",
        "C" if depth > 0 => "char",
        "D" if depth > 0 => "double",
        "F" if depth > 0 => "float",
        "I" if depth > 0 => "int",
        "J" if depth > 0 => "long",
        "S" if depth > 0 => "short",
        "Z" if depth > 0 => "boolean",
        _ if depth > 0 => {
            inner.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(inner)
        }
        _ => inner,
    };
    // Classes without a file, of lambdas, say where they are in memory.
    let name = name.split_once("+0x").map_or(name, |(name, _)| name);
    name.replace('/', ".") + &"[]".repeat(depth.min(MOST_DIMENSIONS))
}

/// As many as the virtual machine allows.
const MOST_DIMENSIONS: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_as_in_sources() {
        for (internal, name) in [
            ("java/util/List", "java.util.List"),
            ("[I", "int[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("I", "I"),
            ("Work$$Lambda$91+0x00007f751c008000/26728049", "Work$$Lambda$91"),
            ("", ""),
        ] {
            assert_eq!(class_name(internal), name);
        }
    }
}
