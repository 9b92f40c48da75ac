//! The places at which threads wait, whatever the kernel did below.
//!
//! Two stacks are of one site where the functions outside the kernel have the same names: a loop that
//! waits again comes to the same site, also after a runtime has compiled it anew, and by whichever way
//! the kernel then put it to sleep.

use culprit_model::{FrameId, Recording, StackId};
use rustc_hash::FxHashMap;

use crate::causes::KERNEL_MODULE;

/// A site of waits; only sites of the same [`WaitSites`] can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WaitSite(u32);

/// The sites of a recording's stacks, found as they are asked for.
#[derive(Debug)]
pub(super) struct WaitSites<'r> {
    recording: &'r Recording,
    /// Known stacks; none for one of the kernel alone.
    of_stacks: FxHashMap<StackId, Option<WaitSite>>,
    /// Sites by the site of their caller, and the name of the function.
    sites: FxHashMap<(Option<WaitSite>, &'r str), WaitSite>,
}

impl<'r> WaitSites<'r> {
    pub(super) fn new(recording: &'r Recording) -> Self {
        Self { recording, of_stacks: FxHashMap::default(), sites: FxHashMap::default() }
    }

    /// The site of a stack; none for one without frames outside the kernel. Linear in frames that no
    /// stack before it had.
    pub(super) fn site(&mut self, stack: StackId) -> Option<WaitSite> {
        let mut unknown = Vec::new();
        let mut site = None;
        let mut next = Some(stack);
        while let Some(at) = next {
            if let Some(known) = self.of_stacks.get(&at) {
                site = *known;
                break;
            }
            let Some(node) = self.recording.stacks.get(at.index()) else { break };
            unknown.push((at, node.frame));
            next = node.parent.filter(|parent| *parent < at);
        }
        for (at, frame) in unknown.into_iter().rev() {
            site = self.called(site, frame);
            self.of_stacks.insert(at, site);
        }
        site
    }

    /// The site of a frame that was called at a site: that one's own for frames of the kernel.
    fn called(&mut self, caller: Option<WaitSite>, frame: FrameId) -> Option<WaitSite> {
        let Some(frame) = self.recording.frames.get(frame.index()) else { return caller };
        let module = frame.module.and_then(|id| self.recording.modules.get(id.index()));
        if module.is_some_and(|module| module.name.as_str() == KERNEL_MODULE) {
            return caller;
        }
        let new = WaitSite(u32::try_from(self.sites.len()).unwrap_or(u32::MAX));
        Some(*self.sites.entry((caller, frame.function.as_str())).or_insert(new))
    }
}
