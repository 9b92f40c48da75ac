//! The search for the only way from a function to another by jumps.
//!
//! ```text
//! called --> a --> goal        one way: called, a
//!       \--> b                 b leads elsewhere and does not count
//!
//! called --> a --> goal        two ways, and with a jump from a back to `called` endless ones: nothing
//!       \--> b --> goal
//! ```

use crate::Svma;
use crate::image::plt::STUB_SUFFIX;

use super::{CodePlace, HiddenFunction, Target};

/// Functions in a row that left by jumps, at most. Of 1,400 ways in a Rust program of 7,000 functions the
/// longest had five, and 97 % had one.
const LONGEST_WAY: usize = 8;

/// Functions that one search looks at. The functions of the same program reach nine by jumps at most, and
/// 99 % of them six; where there are many, more than one way is likely.
const MOST_FUNCTIONS: usize = 256;

/// Pieces into which a compiler splits one function, besides the first.
const MOST_PARTS: usize = 8;

/// What `linked` is to answer, see [`hidden_by_tail_calls`](super::hidden_by_tail_calls).
type Linked<'s, 'a, M> = &'s dyn Fn(&[u8]) -> Option<CodePlace<'a, M>>;

/// One search.
pub(super) struct Search<'s, 'a, M> {
    /// The start of the symbol that owns the code that runs.
    goal: CodePlace<'a, M>,
    linked: Linked<'s, 'a, M>,
}

/// A function and the ways out of it.
struct Function<'a, M> {
    place: CodePlace<'a, M>,
    /// Whether the code that runs is a part of it.
    is_goal: bool,
    /// Whether it also jumps to addresses that it computes or loads.
    computed: bool,
    /// Whether jumps may be missing.
    unread: bool,
    /// Functions to which it jumps, as numbers of the list, and by which instruction.
    next: Vec<(usize, Svma)>,
}

/// The code of a function, which a compiler may have split.
struct Whole<'a, M> {
    jumps: Vec<(Svma, CodePlace<'a, M>)>,
    is_goal: bool,
    computed: bool,
    unread: bool,
}

impl<'s, 'a, M: Copy + PartialEq> Search<'s, 'a, M> {
    pub(super) fn new(goal: CodePlace<'a, M>, linked: Linked<'s, 'a, M>) -> Self {
        Self { goal, linked }
    }

    /// Whether a function is the one that runs.
    pub(super) fn is_goal(&self, place: &CodePlace<'a, M>) -> bool {
        same(place, &self.goal)
    }

    /// The function to which code of a module leads; none where that is not sure.
    pub(super) fn function_at(
        &self,
        from: CodePlace<'a, M>,
        target: Target,
    ) -> Option<CodePlace<'a, M>> {
        match target {
            Target::Slot(slot) => self.linked_to(from.image.linkage().name_of(slot)?),
            Target::Address(address) => {
                let hit = from.image.symbol(Svma(address)).filter(|hit| hit.exact)?;
                match hit.name.strip_suffix(STUB_SUFFIX) {
                    Some(name) => self.linked_to(name),
                    None => Some(CodePlace { address: Svma(hit.range.start), ..from }),
                }
            }
        }
    }

    /// The function that the process's linker takes for a name. The one that runs needs no question: it
    /// would not run if it were not the one.
    fn linked_to(&self, name: &[u8]) -> Option<CodePlace<'a, M>> {
        let mut own = self.goal.image.linkage().exported(name);
        if own.any(|start| start == self.goal.address.0) {
            return Some(self.goal);
        }
        let place = (self.linked)(name)?;
        let start = place.image.named_function(place.address)?;
        Some(CodePlace { address: Svma(start), ..place })
    }

    /// The functions on the only way from a function to the goal, without the goal.
    pub(super) fn only_way(&self, called: CodePlace<'a, M>) -> Option<Vec<HiddenFunction<M>>> {
        let functions = self.reachable(called)?;
        let leads = leading_to_goal(&functions);
        let mut way = Vec::new();
        let mut at = 0;
        loop {
            let function = functions.get(at)?;
            let mut next = function.next.iter().filter(|(to, _)| leads.get(*to) == Some(&true));
            if function.is_goal {
                // From the goal back to the goal there is another way.
                return next.next().is_none().then_some(way);
            }
            let (to, jump) = next.next()?;
            if function.may_jump_anywhere()
                || next.any(|(other, _)| other != to)
                || way.len() == LONGEST_WAY
            {
                return None;
            }
            let jumps = function.next.iter().filter(|(other, _)| other == to).count();
            let CodePlace { module, address: start, .. } = function.place;
            way.push(HiddenFunction { module, start, jump: (jumps == 1).then_some(*jump) });
            at = *to;
        }
    }

    /// Every function that is reached from one by jumps, that one first; none when there are too many.
    fn reachable(&self, called: CodePlace<'a, M>) -> Option<Vec<Function<'a, M>>> {
        let new = |place| Function {
            place,
            is_goal: false,
            computed: false,
            unread: false,
            next: Vec::new(),
        };
        let mut functions = vec![new(called)];
        let mut at = 0;
        while let Some(function) = functions.get(at) {
            let whole = self.whole(function.place);
            let mut next = Vec::with_capacity(whole.jumps.len());
            for (jump, place) in whole.jumps {
                let known = functions.iter().position(|function| same(&function.place, &place));
                let to = known.unwrap_or_else(|| {
                    functions.push(new(place));
                    functions.len() - 1
                });
                next.push((to, jump));
            }
            if functions.len() > MOST_FUNCTIONS {
                return None;
            }
            if let Some(function) = functions.get_mut(at) {
                (function.computed, function.unread) = (whole.computed, whole.unread);
                (function.is_goal, function.next) = (whole.is_goal, next);
            }
            at += 1;
        }
        Some(functions)
    }

    /// The jumps out of a function and out of the parts that the compiler moved away from it.
    fn whole(&self, place: CodePlace<'a, M>) -> Whole<'a, M> {
        let mut whole = Whole { jumps: Vec::new(), is_goal: false, computed: false, unread: false };
        let mut parts = vec![place];
        let mut at = 0;
        while let Some(part) = parts.get(at).copied() {
            at += 1;
            whole.is_goal |= self.is_goal(&part);
            let Some(hit) = part.image.symbol(part.address) else { continue };
            let jumps = part.image.jumps(hit.range.start, hit.range.end);
            whole.computed |= jumps.computed;
            whole.unread |= jumps.unread;
            for jump in &jumps.out {
                let Some(to) = self.function_at(part, jump.to) else {
                    whole.computed |= part.image.is_variable(jump.to);
                    continue;
                };
                if is_part(&to) && parts.len() <= MOST_PARTS {
                    if !parts.iter().any(|part| same(part, &to)) {
                        parts.push(to);
                    }
                } else {
                    whole.jumps.push((Svma(jump.from), to));
                }
            }
        }
        whole.jumps.retain(|(_, to)| !parts.iter().any(|part| same(part, to)));
        whole
    }
}

impl<M> Function<'_, M> {
    /// Whether it may also leave by a jump to a place that is not known.
    fn may_jump_anywhere(&self) -> bool {
        self.unread || (self.computed && !self.place.image.lists_tail_calls(self.place.address))
    }
}

fn same<M: PartialEq>(a: &CodePlace<'_, M>, b: &CodePlace<'_, M>) -> bool {
    a.module == b.module && a.address == b.address
}

/// Whether code is the part of a function that is seldom executed, which compilers move away from it and
/// name after it: `work.cold`, `work.cold.1`. A jump there does not leave the function.
fn is_part<M>(place: &CodePlace<'_, M>) -> bool {
    let hit = place.image.symbol(place.address);
    hit.is_some_and(|hit| {
        let name = hit.name;
        let numbered = name.iter().rposition(|byte| !byte.is_ascii_digit());
        let name = match numbered.and_then(|last| name.split_at_checked(last + 1)) {
            Some((name, number)) if !number.is_empty() => name.strip_suffix(b".").unwrap_or(name),
            _ => name,
        };
        name.ends_with(b".cold")
    })
}

/// Of each function, whether jumps lead from it to the goal.
fn leading_to_goal<M>(functions: &[Function<'_, M>]) -> Vec<bool> {
    let mut leads: Vec<bool> = functions.iter().map(|function| function.is_goal).collect();
    loop {
        let leads_now = |function: &Function<'_, M>| {
            let mut next = function.next.iter();
            function.is_goal || next.any(|(to, _)| leads.get(*to) == Some(&true))
        };
        let better: Vec<bool> = functions.iter().map(leads_now).collect();
        if better == leads {
            return leads;
        }
        leads = better;
    }
}
