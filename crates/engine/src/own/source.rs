//! What a function is called in its source, and where it stands there.
//!
//! Frames mostly say so themselves. In old recordings and in other profilers' files, names of generated
//! code are as the runtime writes them, with the place or the types in the text:
//!
//! ```text
//! V8        JS:*hashRows /app/rows.cjs:2:18               hashRows       /app/rows.cjs:2
//! JVM       int app.Orders.parse(java.lang.String)        app.Orders.parse
//! .NET      void [shop] Shop.Orders::Parse(string)[Tier0] Shop.Orders.Parse
//! CPython   py::load:/app/app.py                          load           /app/app.py
//! ```
//!
//! [`parse_generated_name`](culprit_model::parse_generated_name) takes them apart, but for CPython's.
//! Source of those: Python/perf_trampoline.c.

use std::borrow::Cow;

use culprit_model::{Frame, method_name, script_name};

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
            Some(ManagedName::Script { name, path, line }) => {
                Self { name, file: plain.file.or(path), line: plain.line.or(line) }
            }
            Some(ManagedName::Method { name, .. }) => Self { name, ..plain },
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

/// A name of generated code that a runtime made of a function of some source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ManagedName<'n> {
    /// A function of a script; none of a path for code that a program put together itself.
    Script { name: Cow<'n, str>, path: Option<&'n str>, line: Option<u32> },
    /// A method with its class and package, and its assembly where the runtime has those.
    Method { name: Cow<'n, str>, assembly: Option<&'n str> },
}

/// Reads a name of generated code; none for stubs and for what a runtime generates for itself.
pub(super) fn managed(function: &str) -> Option<ManagedName<'_>> {
    if let Some(name) = function.strip_prefix("py::") {
        let (name, path) = name.rsplit_once(':')?;
        return Some(ManagedName::Script { name: name.into(), path: Some(path), line: None });
    }
    if let Some(found) = script_name(function) {
        let (name, path, line) = (found.function, found.file, found.line);
        return Some(ManagedName::Script { name, path, line });
    }
    if let Some(found) = method_name(function) {
        return Some(ManagedName::Method { name: found.function, assembly: found.module });
    }
    let is_plain = function.contains('.') && function.chars().all(is_method_char);
    is_plain.then(|| ManagedName::Method { name: function.into(), assembly: None })
}

/// True for the characters of a method's name with its class and package.
fn is_method_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '$' | '[' | ']' | '/' | '<' | '>' | '+' | '-')
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
            ("JS:^ file:///app/m.mjs:1:1", "(top level)", Some(("/app/m.mjs", 1))),
            ("JS:~ /app/a.js:7:20", "(anonymous)", Some(("/app/a.js", 7))),
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
}
