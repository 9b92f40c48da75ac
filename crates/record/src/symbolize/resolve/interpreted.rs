//! Functions of interpreters as frames.

use std::sync::Arc;

use culprit_model::{Frame, FrameId, StackId, ThreadId};

use super::{Resolver, Spot};
use crate::enrich::interpreters::Interpreted;
use crate::symbolize::modules::Modules;

impl Resolver {
    /// The stack of what an interpreter runs on a thread, the outermost first; none for nothing.
    pub(crate) fn interpreted_stack(
        &mut self,
        thread: ThreadId,
        frames: &Arc<[Interpreted]>,
        modules: &mut Modules,
    ) -> Option<StackId> {
        if let Some((last, stack)) = self.interpreted.get(&thread)
            && Arc::ptr_eq(last, frames)
        {
            return *stack;
        }
        let mut stack = None;
        for frame in frames.iter() {
            let frame = self.interpreted_frame(frame, modules);
            stack = Some(self.node(stack, frame));
        }
        self.interpreted.insert(thread, (Arc::clone(frames), stack));
        stack
    }

    pub(super) fn interpreted_frame(
        &mut self,
        frame: &Interpreted,
        modules: &mut Modules,
    ) -> FrameId {
        let (spot, named) = match frame {
            Interpreted::Awaits(event_loop) => {
                let module = modules.in_brackets(event_loop);
                (Spot::Awaits(event_loop), Frame::new(Some(module), Frame::AWAITS, None))
            }
            Interpreted::Loop(name) => {
                let name = self.text(name);
                (Spot::Loop(name.clone()), Frame::new(None, name, None))
            }
            Interpreted::BuiltIn { name, module } => {
                let (name, id) = (self.text(name), modules.in_brackets(module));
                (Spot::BuiltIn(name.clone(), module), Frame::new(Some(id), name, None))
            }
            Interpreted::Function { name, file, line } => {
                let (name, file) = (self.text(name), self.text(file));
                let spot = Spot::Interpreted(name.clone(), file.clone(), *line);
                let module = modules.script(&file);
                let frame = Frame::new(Some(module), name, None);
                (spot, Frame { file: Some(file), line: *line, ..frame })
            }
        };
        if let Some([known]) = self.known.get(&spot).map(|frames| &**frames) {
            return *known;
        }
        let id = self.push_frame(named);
        self.known.insert(spot, Box::new([id]));
        id
    }
}
