//! What a kernel function says about the wait of a thread that left the CPU in it.
//!
//! The rules are data: [`names`](crate::names), one file for each area of the kernel. A function that
//! was renamed or inlined away on one kernel is matched by its neighbours. The families were measured on
//! Linux 6.18 with one thread a kind of wait; older names are from the kernel's history. How a rule
//! applies is its [`Strength`]; see `classify.rs` for the walk.

use culprit_model::Cause;

/// When a rule applies to the stack that its function stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The function says what is waited for. The innermost such function of a stack decides.
    Names,
    /// The function only says how is waited (for block I/O, say). It decides when no function
    /// further out names the wait.
    Hints,
    /// The function decides only when nothing but the scheduler itself was called from it: the
    /// thread did not wait there, it was taken off the CPU.
    Leaves,
}

/// What the nearest caller that says so was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Context {
    /// Anything.
    #[default]
    Any,
    /// Changing or looking at the process's memory map, which one lock guards.
    MemoryMap,
    /// Serving a page fault, the memory map's lock in hand.
    PageFault,
    /// Ending the thread; what it does to its memory map is inlined there on current kernels.
    Exit,
}

/// These functions mean this cause.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Function names without compiler suffix; `*` stands for any text.
    pub functions: Vec<&'static str>,
    /// When the rule applies.
    pub strength: Strength,
    /// The context that it needs; [`Context::Any`] needs none. Of one function, rules that need one
    /// come first.
    pub under: Context,
    /// The cause.
    pub cause: Cause,
    /// What is waited for, in words that complete "waits for ...".
    pub awaits: &'static str,
    /// Where in the kernel's source the functions stand.
    pub source: &'static str,
}

/// Every rule, in the order of the files.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    crate::names::kernel_rules()
}
