//! Functions that left the stack by a tail call: they are guessed where one way alone leads to who is there.

use culprit_model::{Frame, FrameId, Guess, ModuleId};
use culprit_symbols::{CodePlace, HiddenFunction, Svma, hidden_by_tail_calls};

use super::{Code, Position, Resolver, Spot, at_address};
use crate::events::space::SpaceId;

impl Resolver {
    /// The frames of the functions that left the stack between a call and the function below it. It is
    /// found once for all processes, though which function a name leads to may differ between them.
    pub(super) fn hidden(
        &mut self,
        space: SpaceId,
        caller: Position,
        callee: Position,
        code: &mut Code<'_>,
    ) -> Option<Box<[FrameId]>> {
        let function = *self.functions.get(&(callee.module, callee.at))?;
        let key = (caller, (callee.module, function));
        if let Some(known) = self.hidden.get(&key) {
            return known.clone();
        }
        let found = find_hidden(space, caller, callee, code);
        let frames = found.into_iter().flat_map(|function| self.guessed_frames(function, code));
        let frames: Vec<FrameId> = frames.collect();
        let frames = (!frames.is_empty()).then(|| frames.into());
        self.hidden.insert(key, frames.clone());
        frames
    }

    /// The frames of a function that left the stack, outermost first: at the jump by which it left,
    /// with what was inlined there, or of several jumps the function alone.
    fn guessed_frames(
        &mut self,
        hidden: HiddenFunction<ModuleId>,
        code: &mut Code<'_>,
    ) -> Box<[FrameId]> {
        let HiddenFunction { module, start, jump } = hidden;
        let spot = Spot::Guessed(module, start, jump);
        if let Some(known) = self.known.get(&spot) {
            return known.clone();
        }
        let Some(image) = code.modules.image(module).cloned() else { return Box::default() };
        let row = Frame { guessed: Some(Guess::TailCall), ..at_address(module, jump) };
        let frames: Box<[FrameId]> = self.push_levels(&hidden.frames(&image), &row, code).into();
        self.known.insert(spot, frames.clone());
        frames
    }
}

/// The functions that left the stack between a call and the function below it, by the code alone.
fn find_hidden(
    space: SpaceId,
    caller: Position,
    callee: Position,
    code: &Code<'_>,
) -> Vec<HiddenFunction<ModuleId>> {
    let place = |module: ModuleId, address: Svma| {
        let image = &**code.modules.image(module)?;
        Some(CodePlace { module, image, address })
    };
    // The dynamic linker takes the first module in an order that is not known here.
    let linked = |name: &[u8]| {
        let modules = code.spaces.modules(space).into_iter();
        let images = modules.filter_map(|id| Some((id, code.modules.image(id)?)));
        let mut found = images.flat_map(|(id, image)| {
            image.exported_functions(name).into_iter().filter_map(move |at| place(id, at))
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    };
    let call = place(caller.module, Svma(caller.at.0.saturating_add(1)));
    let (Some(call), Some(callee)) = (call, place(callee.module, callee.at)) else {
        return Vec::new();
    };
    hidden_by_tail_calls(call, callee, &linked)
}
