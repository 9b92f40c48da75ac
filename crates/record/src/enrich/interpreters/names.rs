//! Functions of Ruby and PHP with their names, each looked up once.

use std::sync::Arc;

use culprit_symbols::runtimes::{FunctionId, InterpretedFrame, InterpretedFunction};
use rustc_hash::FxHashMap;

use super::Interpreted;

/// The functions that were met in a process.
#[derive(Debug)]
pub(super) struct Names {
    /// The interpreter's loop.
    called: Arc<str>,
    /// What functions of the interpreter itself belong to.
    module: &'static str,
    /// Name, and file where it has one.
    functions: FxHashMap<FunctionId, (Arc<str>, Option<Arc<str>>)>,
}

impl Names {
    /// Of an interpreter with this loop and module.
    pub(super) fn new(called: &str, module: &'static str) -> Self {
        Self { called: called.into(), module, functions: FxHashMap::default() }
    }

    /// A frame with its name; `function` knows those that were not met yet.
    pub(super) fn name<'f>(
        &mut self,
        frame: &InterpretedFrame,
        function: impl Fn(FunctionId) -> Option<&'f InterpretedFunction>,
    ) -> Option<Interpreted> {
        let InterpretedFrame::Function { function: id, line } = *frame else {
            return Some(Interpreted::Loop(Arc::clone(&self.called)));
        };
        let known = match self.functions.get(&id) {
            Some(known) => known,
            None => {
                let found = function(id)?;
                let file = found.file.as_deref().map(Arc::from);
                self.functions.entry(id).or_insert((found.name.as_str().into(), file))
            }
        };
        let (name, file) = known.clone();
        Some(match file {
            Some(file) => Interpreted::Function { name, file, line },
            None => Interpreted::BuiltIn { name, module: self.module },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_file_belong_to_the_language() {
        let functions = [
            InterpretedFunction { name: "work".to_owned(), file: Some("/a.rb".to_owned()) },
            InterpretedFunction { name: "each".to_owned(), file: None },
        ];
        let mut names = Names::new("vm_exec_core", "ruby");
        let mut name = |frame| names.name(&frame, |id| functions.get(id.0 as usize));
        let function = |id| InterpretedFrame::Function { function: FunctionId(id), line: Some(3) };
        assert_eq!(name(InterpretedFrame::Entry), Some(Interpreted::Loop("vm_exec_core".into())));
        let own =
            Interpreted::Function { name: "work".into(), file: "/a.rb".into(), line: Some(3) };
        assert_eq!((name(function(0)), name(function(0))), (Some(own.clone()), Some(own)));
        let each = Interpreted::BuiltIn { name: "each".into(), module: "ruby" };
        assert_eq!(name(function(1)), Some(each));
        assert_eq!(name(function(2)), None);
    }
}
