//! Functions of a source file that a runtime compiles while the program runs.
//!
//! Such a function stands in a module named after its file (`app.js!parse`), where a compiled program's
//! has the program's or library's. Its name alone says little: `read` of `app.js` is not that of the C
//! library. So the tables of functions know it by name and file, as V8 writes both, or CPython's own
//! trampolines for perf.

use std::borrow::Cow;

use culprit_model::{Frame, Module};

/// Whether a frame's module is its own source file.
#[must_use]
pub fn is_compiled_at_run_time(frame: &Frame, module: Option<&Module>) -> bool {
    let (Some(file), Some(module)) = (frame.file.as_deref(), module) else { return false };
    let base = file.rsplit('/').next().unwrap_or(file).trim_matches(['[', ']']);
    let name = module.name.as_str();
    !name.is_empty() && (name == file || name == base)
}

/// Function and module as the tables of functions know them.
#[must_use]
pub fn known_as<'a>(frame: &'a Frame, module: Option<&'a Module>) -> (Cow<'a, str>, &'a str) {
    let function = frame.function.as_str();
    if is_compiled_at_run_time(frame, module) {
        let file = frame.file.as_deref().unwrap_or_default();
        // CPython has the modules that import others in itself.
        let known = if file.ends_with(".py") || file.starts_with("<frozen ") {
            format!("py::{function}:{file}")
        } else {
            format!("JS:{function} {file}")
        };
        return (known.into(), "");
    }
    (function.into(), module.map_or("", |module| module.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(module: &str, function: &str, file: Option<&str>) -> (String, String) {
        let row = Module {
            name: module.into(),
            path: module.into(),
            build_id: None,
            symbols: true,
            lines: file.is_some(),
        };
        let frame = Frame { file: file.map(Into::into), ..Frame::new(None, function, None) };
        let (function, module) = known_as(&frame, Some(&row));
        (function.into_owned(), module.to_owned())
    }

    #[test]
    fn a_function_of_a_script_is_known_with_its_file() {
        for (module, function, file, expected) in [
            ("n.js", "read", Some("/app/n.js"), ("JS:read /app/n.js", "")),
            ("node:fs", "statSync", Some("node:fs"), ("JS:statSync node:fs", "")),
            ("eval", "f", Some("[eval]"), ("JS:f [eval]", "")),
            ("n.py", "N.read", Some("/lib/n.py"), ("py::N.read:/lib/n.py", "")),
            ("<frozen x>", "load", Some("<frozen x>"), ("py::load:<frozen x>", "")),
            ("app", "read", Some("/src/app.c"), ("read", "app")),
            ("libc.so.6", "read", None, ("read", "libc.so.6")),
        ] {
            let (known, of) = lookup(module, function, file);
            assert_eq!((known.as_str(), of.as_str()), expected);
        }
    }
}
