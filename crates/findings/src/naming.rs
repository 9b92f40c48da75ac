//! How a finding's texts name functions: the program's own, with file and line where these are known.
//!
//! Rules group time by the functions that they look at, often a runtime's or the C library's, and
//! write these functions' names between backticks. Here each such name becomes that of the nearest
//! function of the program's own code, where most of the named function's time was spent for one:
//!
//! ```text
//! rule      idle for 700 ms of 750 ms: `libpython3.11.so.1.0!pysleep` in app waits for a timer
//! finding   idle for 700 ms of 750 ms: `wait_for_peer app.py:31` in app waits for a timer
//! ```
//!
//! Where none has half of it, the costliest is named, and how many others there are. A function that a
//! finding is about keeps its name ([`Aim::at`]).

use std::collections::BTreeMap;

use culprit_engine::own::{CodeOrigin, OwnCode, function_label};
use culprit_model::{FrameId, Nanos, StackId, Text};
use rustc_hash::FxHashMap;

use crate::evidence::{Doing, Evidence, SegmentId};
use crate::rule::{Claim, Site};

/// Which frame of a stack stands for the one that a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// That one: the finding is about this function.
    Picked,
    /// The nearest of the program's own code.
    Own,
}

impl Aim {
    /// What texts of a finding at a site name. A kind of work, or where work is done, is a function's
    /// own, unless the user says what is the program's; a wait and a call are its caller's, too.
    fn at(site: Site, own: &OwnCode) -> Self {
        match site {
            Site::Function(_) => Self::Picked,
            Site::Owner | Site::Caller if !own.is_chosen() => Self::Picked,
            Site::Owner | Site::Caller => Self::Own,
            Site::Work | Site::Requester | Site::WaitThenWork | Site::Entry => Self::Own,
        }
    }

    /// The frame for a stack of which a rule looks at `picked`.
    pub(crate) fn frame(
        self,
        evidence: &Evidence<'_>,
        stack: Option<StackId>,
        picked: Option<FrameId>,
    ) -> Option<FrameId> {
        match self {
            Self::Picked => picked,
            Self::Own => evidence.own.pointed(stack, picked),
        }
    }

    /// The name by which places of such frames are told apart.
    pub(crate) fn name(self, evidence: &Evidence<'_>, frame: Option<FrameId>) -> Text {
        match (self, frame) {
            (Self::Own, Some(frame)) => evidence.shown_name(frame),
            _ => evidence.name(frame),
        }
    }
}

/// How the texts of one finding name functions.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    /// What stands for a name that a rule wrote.
    labels: BTreeMap<Text, Label>,
}

/// What stands for a rule's name of a function.
#[derive(Debug, PartialEq, Eq)]
struct Label {
    name: String,
    /// How many other functions the rule's name stands for, where they have most of the time.
    others: usize,
}

impl Label {
    /// What is said behind the name.
    fn rest(&self) -> String {
        match self.others {
            0 => String::new(),
            1 => " (and 1 other function)".to_owned(),
            others => format!(" (and {others} other functions)"),
        }
    }
}

/// Time of a rule's function by the frame that is named instead.
type Times = FxHashMap<(FrameId, FrameId), Nanos>;

impl Naming {
    /// The names in a claim's texts; linear in the segments that it holds.
    pub(crate) fn new(evidence: &Evidence<'_>, claim: &Claim, held: &[SegmentId]) -> Self {
        let texts = [&claim.title, &claim.why, &claim.fix];
        let mut wanted: Vec<Text> =
            texts.into_iter().flat_map(|text| quoted(text)).map(Text::from).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|name| evidence.is_function(name));
        let mut naming = Self::default();
        if wanted.is_empty() {
            return naming;
        }
        let mut sources = [times_of_work, times_of_waits];
        // Who waits may be in a function of the same name as who works meanwhile.
        if claim.site == Site::WaitThenWork {
            sources.reverse();
        }
        for times in sources {
            if !wanted.is_empty() {
                naming.add(evidence, &mut wanted, &times(evidence, claim.site, held));
            }
        }
        if !wanted.is_empty() {
            naming.add(evidence, &mut wanted, &times_of_stacks(evidence, claim));
        }
        naming
    }

    /// Adds the wanted names that some time was spent at, and takes them from the list.
    fn add(&mut self, evidence: &Evidence<'_>, wanted: &mut Vec<Text>, times: &Times) {
        let mut found: BTreeMap<Text, BTreeMap<Text, Instead>> = BTreeMap::new();
        let mut sorted: Vec<_> = times.iter().collect();
        sorted.sort_unstable();
        for ((picked, instead), time) in sorted {
            let name = evidence.name(Some(*picked));
            if wanted.binary_search(&name).is_ok() {
                let by = evidence.shown_name(*instead);
                found.entry(name).or_default().entry(by).or_default().add(*instead, *time);
            }
        }
        for (name, instead) in found {
            wanted.retain(|wanted| *wanted != name);
            let own = |frame: &FrameId| evidence.own.origin(*frame) == CodeOrigin::Own;
            if let Some((frame, others)) = Instead::most(instead.into_values())
                && (others == 0 || own(&frame))
            {
                self.labels.insert(name, Label { name: label(evidence, frame), others });
            }
        }
    }

    /// The text with the names that stand for those of the rule. One name stands for one function: of two, the
    /// second keeps its own, as in `load app.py:31` takes so long, most of it in `libc.so.6!memcpy`.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut named = String::with_capacity(text.len());
        let mut rest = String::new();
        let mut used: BTreeMap<&str, &str> = BTreeMap::new();
        for (at, part) in text.split('`').enumerate() {
            if at > 0 {
                named.push('`');
            }
            named.push_str(&std::mem::take(&mut rest));
            let label = self.labels.get(part).filter(|_| at % 2 == 1);
            let label = label.filter(|label| *used.entry(&label.name).or_insert(part) == part);
            named.push_str(label.map_or(part, |label| &label.name));
            rest = label.map(Label::rest).unwrap_or_default();
        }
        named
    }
}

/// A function as a text names it. Lines of the system's and of runtimes' code tell nobody anything.
fn label(evidence: &Evidence<'_>, frame: FrameId) -> String {
    match evidence.own.origin(frame) {
        CodeOrigin::Runtime => evidence.shown_name(frame).to_string(),
        CodeOrigin::Library | CodeOrigin::Own => function_label(evidence.recording, frame),
    }
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The frames of one function that may be named instead of a rule's.
#[derive(Debug, Default)]
struct Instead {
    time: Nanos,
    costliest: Option<(Nanos, FrameId)>,
}

impl Instead {
    fn add(&mut self, frame: FrameId, time: Nanos) {
        self.time += time;
        if self.costliest.is_none_or(|(most, _)| time > most) {
            self.costliest = Some((time, frame));
        }
    }

    /// The costliest frame of the costliest function, and how many others have to be spoken of: all
    /// where that function has less than half of the time, because a title's numbers are theirs then.
    fn most(all: impl Iterator<Item = Self>) -> Option<(FrameId, usize)> {
        let all: Vec<Self> = all.collect();
        let whole: Nanos = all.iter().map(|instead| instead.time).sum();
        // Of several the first, so that the answer is the same every time.
        let most = all.iter().rev().max_by_key(|instead| instead.time)?;
        let is_most = most.time.0.saturating_mul(2) >= whole.0;
        let (_, frame) = most.costliest?;
        Some((frame, if is_most { 0 } else { all.len() - 1 }))
    }
}

/// The time of some segments by what a rule looks at for a site.
fn times_of_work(evidence: &Evidence<'_>, site: Site, held: &[SegmentId]) -> Times {
    let aim = Aim::at(site, &evidence.own);
    let mut times = Times::default();
    let all = evidence.doings.times(&evidence.chain, held);
    for (kind, time) in all.into_iter().enumerate().filter(|(_, time)| *time > Nanos::ZERO) {
        let doing = evidence.doings.of_kind(kind);
        for picked in picked(evidence, site, doing).into_iter().flatten() {
            let instead = aim.frame(evidence, doing.stack, Some(picked)).unwrap_or(picked);
            *times.entry((picked, instead)).or_default() += time;
        }
    }
    times
}

/// The frames that a rule may look at for a site, each once.
fn picked(evidence: &Evidence<'_>, site: Site, doing: Doing) -> [Option<FrameId>; 2] {
    let application = || evidence.chores.application(doing.stack);
    let function = || evidence.function(doing);
    let (first, second) = match site {
        Site::Owner => (evidence.chores.owner(doing.stack).or_else(function), None),
        Site::Caller => (evidence.chores.caller(doing.stack).or_else(function), None),
        Site::Function(frame) => (Some(frame), None),
        Site::Entry => (evidence.stacks.focus(doing.stack), None),
        Site::Requester | Site::Work | Site::WaitThenWork => (application(), function()),
    };
    [first, second.filter(|second| Some(*second) != first)]
}

/// The time of some segments by what a rule looks at of the waits that they fill.
fn times_of_waits(evidence: &Evidence<'_>, site: Site, held: &[SegmentId]) -> Times {
    let mut times = Times::default();
    for segment in held.iter().map(|id| evidence.chain.segment(*id)) {
        let around = match site {
            Site::Requester => Some(evidence.requester(segment).interval),
            _ => evidence.chain.links(segment).next().map(|link| link.wait),
        };
        let dependent = evidence.dependent_wait(segment).filter(|wait| Some(*wait) != around);
        for wait in [around, dependent].into_iter().flatten() {
            add_stack(evidence, &mut times, evidence.interval(wait).stack, segment.length);
        }
    }
    times
}

/// The stacks that a statement points at, all of one weight.
fn times_of_stacks(evidence: &Evidence<'_>, claim: &Claim) -> Times {
    let mut times = Times::default();
    for (_, stack) in &claim.stacks {
        add_stack(evidence, &mut times, Some(*stack), Nanos(1));
    }
    times
}

/// Adds the time of a stack at all that a rule may look at in it.
fn add_stack(evidence: &Evidence<'_>, times: &mut Times, stack: Option<StackId>, time: Nanos) {
    let mut known = Vec::new();
    let chores = &evidence.chores;
    for picked in [evidence.stacks.focus(stack), chores.application(stack), chores.caller(stack)] {
        let Some(picked) = picked.filter(|frame| !known.contains(frame)) else { continue };
        known.push(picked);
        let instead = evidence.own.pointed(stack, Some(picked)).unwrap_or(picked);
        *times.entry((picked, instead)).or_default() += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_between_backticks_are_replaced() {
        let named = |others| {
            let label = Label { name: "load app.py:3".to_owned(), others };
            Naming { labels: [(Text::from("libc!read"), label)].into() }
        };
        let naming = named(0);
        let text = naming.apply("libc!read: `libc!read` waits, `libc!readv` works");
        assert_eq!(text, "libc!read: `load app.py:3` waits, `libc!readv` works");
        assert_eq!(naming.apply("no name"), "no name");
        assert_eq!(naming.apply("open `libc!read"), "open `load app.py:3");
        let text = named(2).apply("`libc!read` waits");
        assert_eq!(text, "`load app.py:3` (and 2 other functions) waits");
    }

    #[test]
    fn a_function_with_less_than_half_of_the_time_is_named_with_how_many_others() {
        let of = |times: &[u64]| {
            let all = times.iter().enumerate().map(|(at, time)| {
                let mut instead = Instead::default();
                instead.add(FrameId::from_index(at), Nanos(*time));
                instead
            });
            Instead::most(all)
        };
        assert_eq!(of(&[10, 90]), Some((FrameId::from_index(1), 0)));
        assert_eq!(of(&[40, 30, 30]), Some((FrameId::from_index(0), 2)));
        assert_eq!(of(&[30, 30, 30]), Some((FrameId::from_index(0), 2)));
        assert_eq!(of(&[]), None);
    }
}
