//! What a function is called in its source, and where it stands there.
//!
//! Frames mostly say so themselves. Names of generated code are written by the runtime instead, with
//! the place or the types in the text:
//!
//! ```text
//! V8        JS:*hashRows /app/rows.cjs:2:18               hashRows       /app/rows.cjs:2
//! JVM       int app.Orders.parse(java.lang.String)        app.Orders.parse
//! .NET      void [shop] Shop.Orders::Parse(string)[Tier0] Shop.Orders.Parse
//! CPython   py::load:/app/app.py                          load           /app/app.py
//! ```
//!
//! Sources: V8 `CodeEventLogger` (src/logging/log.cc, `--perf-basic-prof`), HotSpot
//! `CodeCache::write_perf_map`, .NET `PerfMap::LogJITCompiledMethod`, CPython
//! Python/perf_trampoline.c.

use std::borrow::Cow;

use culprit_model::Frame;

/// The module of generated code.
pub(super) const GENERATED: &str = "[jit]";

/// A function as its source has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFunction<'f> {
    /// Its name, without a place and without the types around a managed method.
    pub name: Cow<'f, str>,
    /// Its source file; none where nothing tells.
    pub file: Option<&'f str>,
    /// The line in it: of the instruction or call, else of the function's beginning.
    pub line: Option<u32>,
}

impl<'f> SourceFunction<'f> {
    /// The function of a frame of this module.
    #[must_use]
    pub fn new(frame: &'f Frame, module: &str) -> Self {
        let plain = Self {
            name: Cow::Borrowed(&frame.function),
            file: frame.file.as_deref(),
            line: frame.line,
        };
        let named = if module == GENERATED { managed(&frame.function) } else { None };
        match named {
            Some(ManagedName::Script { name, path, line }) => Self {
                name: Cow::Borrowed(if name.is_empty() { "(anonymous)" } else { name }),
                file: plain.file.or(path),
                line: plain.line.or(line),
            },
            Some(ManagedName::Method { name, .. }) => Self { name: dotted(name), ..plain },
            None => plain,
        }
    }

    /// `function FILE:LINE` with the file's base name; none where the place is not known.
    #[must_use]
    pub fn with_line(&self) -> Option<String> {
        let file = self.file?;
        let base = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{} {base}:{}", self.name, self.line?))
    }
}

fn dotted(name: &str) -> Cow<'_, str> {
    if name.contains("::") { name.replace("::", ".").into() } else { name.into() }
}

/// A name of generated code that a runtime made of a function of some source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ManagedName<'n> {
    /// A function of a script; none of a path for code that a program put together itself.
    Script { name: &'n str, path: Option<&'n str>, line: Option<u32> },
    /// A method with its class and package, and its assembly where the runtime has those.
    Method { name: &'n str, assembly: Option<&'n str> },
}

/// Reads a name of generated code; none for stubs and for what a runtime generates for itself.
pub(super) fn managed(function: &str) -> Option<ManagedName<'_>> {
    if let Some(name) = function.strip_prefix("py::") {
        let (name, path) = name.rsplit_once(':')?;
        return Some(ManagedName::Script { name, path: Some(path), line: None });
    }
    javascript(function).or_else(|| dotnet(function)).or_else(|| {
        let is_plain = |name: &&str| name.contains('.') && is_method(name);
        let name = java_method(function).or_else(|| Some(function).filter(is_plain))?;
        Some(ManagedName::Method { name, assembly: None })
    })
}

/// V8's kinds of functions that scripts have.
const SCRIPT_KINDS: [&str; 5] = ["JS:", "Script:", "Eval:", "LazyCompile:", "Function:"];

fn javascript(function: &str) -> Option<ManagedName<'_>> {
    let rest = SCRIPT_KINDS.iter().find_map(|kind| function.strip_prefix(kind))?;
    // Which of its compilers made the code.
    let rest = rest.trim_start_matches(['*', '~', '^', '+', '\'']);
    let (name, place) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut parts = place.rsplitn(3, ':');
    let numbers = (parts.next().map(str::parse::<u32>), parts.next().map(str::parse));
    let (path, line) = match (numbers, parts.next()) {
        ((Some(Ok(_)), Some(Ok(line))), Some(path)) => (path, Some(line)),
        _ => (place, None),
    };
    let path = path.strip_prefix("file://").unwrap_or(path);
    Some(ManagedName::Script { name, path: Some(path).filter(|path| !path.is_empty()), line })
}

fn dotnet(function: &str) -> Option<ManagedName<'_>> {
    let before = function.split_once('(').map_or(function, |(before, _)| before);
    let (types, name) = before.rsplit_once("] ")?;
    let (_, assembly) = types.rsplit_once('[')?;
    name.contains("::").then_some(ManagedName::Method { name, assembly: Some(assembly) })
}

/// A Java method as `class.method`, where the name has its types around it as the maps of the JVM's
/// generated code do: `int java.lang.String.indexOf(int, int)`. None for other names: C++ has types
/// before template functions only, and `::` in their names.
#[must_use]
pub fn java_method(function: &str) -> Option<&str> {
    let before = function.strip_suffix(')')?.split_once('(')?.0;
    let (result, method) = before.split_once(' ')?;
    let fine = result.chars().all(is_type_char)
        && is_method(method)
        && !method.starts_with('.')
        && method.contains('.');
    fine.then_some(method)
}

fn is_type_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '$' | '[' | ']' | '/')
}

fn is_method(name: &str) -> bool {
    name.chars().all(|c| is_type_char(c) || matches!(c, '<' | '>' | '+' | '-'))
}

#[cfg(test)]
mod tests {
    use culprit_model::ModuleId;

    use super::*;

    fn frame(function: &str) -> Frame {
        Frame::new(Some(ModuleId(0)), function, None)
    }

    #[test]
    fn names_of_generated_code_tell_function_and_place() {
        for (function, name, place) in [
            ("JS:*hashRows /app/rows.cjs:2:18", "hashRows", Some(("/app/rows.cjs", 2))),
            ("JS:^ file:///app/m.mjs:1:1", "(anonymous)", Some(("/app/m.mjs", 1))),
            ("LazyCompile:~go /app/a.js:7:3", "go", Some(("/app/a.js", 7))),
            ("JS:*writeSync node:fs:880:19", "writeSync", Some(("node:fs", 880))),
            ("int app.Orders.parse(java.lang.String, int)", "app.Orders.parse", None),
            ("app.Orders.parse", "app.Orders.parse", None),
            ("void [shop] Shop.Orders::Parse(string)[Tier0]", "Shop.Orders.Parse", None),
            ("StubRoutines (1)", "StubRoutines (1)", None),
            ("Interpreter", "Interpreter", None),
        ] {
            let frame = frame(function);
            let found = SourceFunction::new(&frame, GENERATED);
            assert_eq!(found.name, name, "{function}");
            assert_eq!(found.file.zip(found.line), place, "{function}");
        }
        let frame = frame("py::load:/app/app.py");
        let found = SourceFunction::new(&frame, GENERATED);
        assert_eq!((&*found.name, found.file, found.line), ("load", Some("/app/app.py"), None));
    }

    #[test]
    fn a_frame_with_a_line_is_named_with_it() {
        let mut frame = frame("load");
        frame.file = Some("/app/app.py".into());
        frame.line = Some(31);
        let label = SourceFunction::new(&frame, "app.py").with_line();
        assert_eq!(label.as_deref(), Some("load app.py:31"));
        frame.line = None;
        assert_eq!(SourceFunction::new(&frame, "app.py").with_line(), None);
    }

    #[test]
    fn only_generated_code_has_such_names() {
        let frame = frame("JS:*f /app/a.js:1:1");
        assert_eq!(SourceFunction::new(&frame, "app").name, "JS:*f /app/a.js:1:1");
    }

    #[test]
    fn javas_types_are_no_part_of_a_methods_name() {
        for (function, method) in [
            ("int java.lang.String.indexOf(int, int)", Some("java.lang.String.indexOf")),
            ("void Main.<init>(java.lang.String[])", Some("Main.<init>")),
            ("byte[] java.util.Arrays.copyOf(byte[], int)", Some("java.util.Arrays.copyOf")),
            ("java.lang.String.indexOf", None),
            ("void std::sort<int*>(int*, int*)", None),
            ("operator new(unsigned long)", None),
            ("main.(*server).handle", None),
            ("JS:*serve file:///app/a (copy).js:3:10", None),
        ] {
            assert_eq!(java_method(function), method, "{function}");
        }
    }
}
