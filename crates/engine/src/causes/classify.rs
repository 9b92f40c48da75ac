//! Decides once per stack why a thread that left the CPU there was off it.
//!
//! Stacks are a prefix tree whose parents come before their children, and the innermost rule wins:
//! so one pass over the tree settles every stack from its caller's verdict and its own frame, in
//! time linear in frames and stacks. An exception boundary throws the caller's verdict away:
//!
//! ```text
//! tcp_recvmsg               names: net
//!   _copy_to_iter
//!     asm_exc_page_fault    boundary: verdict dropped, context any
//!       lock_mm_and_find_vma          context memory map
//!         rwsem_down_read_slowpath    names, under memory map: memory   <- the cause
//! ```
//!
//! Only kernel frames take part: a program may call its own functions `do_wait`.

use culprit_model::{Cause, Frame, Recording, StackId};

use super::rules::{Context, Rule, Strength};
use crate::names::{Family, KernelFunction, kernel};

/// The name of the module whose frames are the kernel's.
pub const KERNEL_MODULE: &str = "[kernel]";

/// Why a thread was off the CPU at a stack.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// The cause; [`Cause::Other`] where no rule applies.
    pub cause: Cause,
    /// The rule that decided; none where no rule applies.
    pub rule: Option<&'static Rule>,
}

/// The verdict of every stack of one recording.
#[derive(Debug, Clone)]
pub struct Causes {
    nodes: Vec<Node>,
}

/// What is known of one stack.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// The innermost rule that names the wait.
    named: Option<&'static Rule>,
    /// The innermost rule that hints at it.
    hinted: Option<&'static Rule>,
    /// The rule of a frame from which only the scheduler was called.
    left: Option<&'static Rule>,
    /// What the nearest caller that says so was doing.
    context: Context,
    /// Whether this frame is the kernel's.
    kernel: bool,
    /// Whether a thread that leaves the CPU here does not come back.
    dead: bool,
    /// The innermost frame outside the kernel.
    user: Option<StackId>,
    /// How many frames there are outside the kernel.
    user_depth: u32,
}

/// What one frame says, whatever stack it stands on.
#[derive(Debug, Clone, Default)]
struct FrameFacts {
    rules: Vec<&'static Rule>,
    context: Option<Context>,
    exception: bool,
    scheduler: bool,
    death: bool,
    kernel: bool,
}

impl Causes {
    /// Settles every stack of a recording. Linear in frames and stacks.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let facts: Vec<FrameFacts> =
            recording.frames.iter().map(|frame| facts(recording, frame)).collect();
        let mut nodes: Vec<Node> = Vec::with_capacity(recording.stacks.len());
        let silent = FrameFacts::default();
        for (at, stack) in recording.stacks.iter().enumerate() {
            let caller = stack.parent.and_then(|p| nodes.get(p.index())).copied();
            let facts = facts.get(stack.frame.index()).unwrap_or(&silent);
            nodes.push(settle(caller.unwrap_or_default(), facts, StackId::from_index(at)));
        }
        Self { nodes }
    }

    /// Why a thread that left the CPU at this stack without being pushed off it was waiting.
    #[must_use]
    pub fn wait(&self, stack: StackId) -> Verdict {
        let node = self.nodes.get(stack.index());
        let rule = node.and_then(|node| node.left.or(node.named).or(node.hinted));
        Verdict { cause: rule.map_or(Cause::Other, |rule| rule.cause), rule }
    }

    /// True when a thread pushed off the CPU at this stack was, by the functions on it, held back
    /// by its cgroup's quota.
    #[must_use]
    pub fn throttles(&self, stack: StackId) -> bool {
        let left = self.nodes.get(stack.index()).and_then(|node| node.left);
        left.is_some_and(|rule| rule.cause == Cause::RunnableQuota)
    }

    /// True when a thread that left the CPU at this stack ended there.
    #[must_use]
    pub fn ends(&self, stack: StackId) -> bool {
        self.nodes.get(stack.index()).is_some_and(|node| node.dead)
    }

    /// True when the innermost frame is the kernel's.
    #[must_use]
    pub fn in_kernel(&self, stack: StackId) -> bool {
        self.nodes.get(stack.index()).is_some_and(|node| node.kernel)
    }

    /// True when a thread that left the CPU at this stack was about to run user code, so that the
    /// time before was user time.
    #[must_use]
    pub fn returning_to_user(&self, stack: StackId) -> bool {
        self.nodes.get(stack.index()).is_some_and(|node| node.left.is_some())
    }

    /// The stack up to its innermost frame outside the kernel; none for one of the kernel alone.
    #[must_use]
    pub fn user_part(&self, stack: StackId) -> Option<StackId> {
        self.nodes.get(stack.index()).and_then(|node| node.user)
    }

    /// How many frames of a stack are outside the kernel.
    #[must_use]
    pub fn user_depth(&self, stack: StackId) -> u32 {
        self.nodes.get(stack.index()).map_or(0, |node| node.user_depth)
    }
}

/// One step of the walk from the root to the leaf.
fn settle(caller: Node, facts: &FrameFacts, own: StackId) -> Node {
    let kernel = caller.kernel || facts.kernel;
    let user_depth = caller.user_depth;
    if !kernel {
        return Node { user: Some(own), user_depth: user_depth + 1, ..Node::default() };
    }
    let mut node = Node { kernel, ..caller };
    if facts.exception {
        node = Node { kernel, user: caller.user, user_depth, ..Node::default() };
    }
    node.context = facts.context.unwrap_or(node.context);
    node.dead |= facts.death;
    if !facts.scheduler {
        node.left = None;
    }
    let fits = |rule: &&Rule| rule.under == Context::Any || rule.under == node.context;
    if let Some(rule) = facts.rules.iter().copied().find(fits) {
        match rule.strength {
            Strength::Names => (node.named, node.hinted) = (Some(rule), None),
            Strength::Hints => node.hinted = Some(rule),
            Strength::Leaves => node.left = Some(rule),
        }
    }
    node
}

/// What a function of the kernel says; nothing for all others.
fn facts(recording: &Recording, frame: &Frame) -> FrameFacts {
    let module = frame.module.and_then(|m| recording.modules.get(m.index()));
    if module.is_none_or(|m| m.name.as_str() != KERNEL_MODULE) {
        return FrameFacts::default();
    }
    let KernelFunction { families, rules } = kernel(&frame.function);
    let context = CONTEXTS.iter().find(|(family, _)| families.has(*family));
    FrameFacts {
        rules,
        context: context.map(|(_, context)| *context),
        exception: families.has(Family::Exception),
        scheduler: families.has(Family::SwitchesOut),
        death: families.has(Family::NeverReturns),
        kernel: true,
    }
}

/// Functions that set the context for what they call.
const CONTEXTS: [(Family, Context); 3] = [
    (Family::MemoryMap, Context::MemoryMap),
    (Family::EndsThread, Context::Exit),
    (Family::FaultService, Context::PageFault),
];

/// The verdict on a single kernel function, where only that is known (`/proc/PID/wchan`).
pub(super) fn function_verdict(function: &str) -> Verdict {
    let rules = kernel(function).rules;
    let applies = |rule: &&Rule| rule.under == Context::Any && rule.strength != Strength::Leaves;
    let rule = rules.iter().copied().find(applies);
    Verdict { cause: rule.map_or(Cause::Other, |rule| rule.cause), rule }
}
