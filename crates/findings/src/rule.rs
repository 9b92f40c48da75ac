//! What a rule is: its texts, and what it claims.
//!
//! A rule is one file under `rules/`. It reads the [`Evidence`] (never a program's name) and
//! returns claims: sets of segments of the measured time that it explains. Claims may overlap;
//! `settle` gives every segment to the most specific claim, so that no cost counts twice.

use culprit_model::{Evidence as Fact, FrameId, Nanos, Severity, StackId, Text, ThreadId};

use crate::evidence::{Evidence, SegmentId};
use crate::settle::MIN_SHARE;

/// The part of the catalogue that a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Somebody waits.
    Waiting,
    /// Reading, writing, flushing.
    Storage,
    /// What memory is used for, and by whom.
    Memory,
    /// On a CPU, or waiting for one.
    Cpu,
    /// Limits of a container.
    Container,
    /// The way between processes.
    Network,
    /// Two places compared.
    Comparison,
    /// Limits of the evidence itself.
    Quality,
    /// Where values of a configuration come from; its pages are in crate `config`.
    Configuration,
    /// What is in an analytics store.
    Data,
}

impl Group {
    /// The group's heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Storage => "Storage",
            Self::Memory => "Memory",
            Self::Cpu => "CPU",
            Self::Container => "Container",
            Self::Network => "Network",
            Self::Comparison => "Comparison",
            Self::Quality => "Quality of the evidence",
            Self::Configuration => "Configuration",
            Self::Data => "Analytics data",
        }
    }
}

/// How much a claim says about the time that it explains; the higher one takes it.
///
/// The order follows from one question: would the fix of the higher claim make the lower one
/// vanish? Naming who waited for whom is the least, then the place where work is done, then the kind
/// of that work, then an order of work that the program chose itself, then a known mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    /// Lists what no other rule explains.
    Remainder,
    /// States something, and explains time only where nothing else does.
    Statement,
    /// Says across processes who waited for whom.
    Relation,
    /// Says where work is done or where nobody works.
    Work,
    /// Names a kind of work, by the part of the kernel or of a library that it passes in.
    Pattern,
    /// Says that one program's own order of work makes it wait.
    Dependency,
    /// Names a known mechanism.
    Mechanism,
}

impl Specificity {
    /// The level as docs name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Remainder => "remainder",
            Self::Statement => "statement",
            Self::Relation => "relation",
            Self::Work => "work",
            Self::Pattern => "pattern",
            Self::Dependency => "dependency",
            Self::Mechanism => "mechanism",
        }
    }
}

/// A number that decides whether a rule speaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// What is compared with it.
    pub what: &'static str,
    /// The number; the rule's code uses the same constant.
    pub value: f64,
    /// Its unit: `ns`, `bytes`, `count`, `share`, `1/s`.
    pub unit: &'static str,
    /// Why this number, and what happens at half and at double.
    pub reason: &'static str,
    /// Where it comes from: a measurement, a document, a source file.
    pub source: &'static str,
}

/// A rule's page: the same text in `culprit explain`, the docs and every finding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleDoc {
    /// The finding's stable identifier.
    pub id: &'static str,
    /// Part of the catalogue.
    pub group: Group,
    /// How much it says; decides who takes time that several rules explain.
    pub specificity: Specificity,
    /// Rules that say more about the same time, although on the same level: this one takes what they
    /// leave.
    pub yields_to: &'static [&'static str],
    /// One sentence: what it says about a program.
    pub claim: &'static str,
    /// What in a recording proves it.
    pub signature: &'static str,
    /// What looks like it and is not reported, a phrase each.
    pub not_reported: &'static [&'static str],
    /// Why this costs time.
    pub why: &'static str,
    /// What to do about it: actions, the most likely first.
    pub fix: &'static [&'static str],
    /// How to see whether the fix worked.
    pub check: &'static str,
    /// The numbers that it decides by; empty when it has none.
    pub thresholds: &'static [Threshold],
}

/// Which end of a segment of time a finding points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// The thread whose time passes, at the function that it was in.
    Work,
    /// The function whose work the time is, as `Chores::owner` has it.
    Owner,
    /// The application's function that called the library code that the time passes in.
    Caller,
    /// The application's function that waits for a runtime's own thread, else as for `Caller`.
    Requester,
    /// One function, on whichever thread the time passes.
    Function(FrameId),
    /// First the innermost waits above it (who waited, and from where), then what was done meanwhile.
    WaitThenWork,
    /// The thread whose time passes, at the function that entered the kernel, wrappers left out.
    Entry,
}

/// How sure a rule is, and why not surer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Confidence {
    /// 0 to 1.
    pub(crate) value: f64,
    /// What lowered it, with the factor: becomes evidence of the finding.
    pub(crate) lowered: Vec<(Text, f64)>,
}

impl Confidence {
    /// The confidence of a rule whose every condition was measured.
    pub(crate) fn of(value: f64) -> Self {
        Self { value, lowered: Vec::new() }
    }

    /// Lowers it by `factor`, saying why; a factor of 1 changes nothing.
    pub(crate) fn lower(&mut self, why: impl Into<Text>, factor: f64) {
        if factor < 0.995 {
            self.value *= factor.max(0.0);
            self.lowered.push((why.into(), factor));
        }
    }
}

/// Stands in a claim's title for its cost, which is known only when every segment has gone to one
/// claim. A character of the private-use area, so that no name of a function or process holds it.
pub(crate) const COST: char = '\u{e000}';

/// Stands for the share that [`COST`] is of [`Claim::of`], in per cent and with the sign.
pub(crate) const PERCENT: char = '\u{e001}';

/// Time that one rule explains.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// The rule that says so.
    pub(crate) rule: &'static RuleDoc,
    /// How much it says; the rule's own level unless this claim says less.
    pub(crate) specificity: Specificity,
    /// One sentence with the main number; [`COST`] where that is the cost.
    pub(crate) title: String,
    /// What the title's [`PERCENT`] is a share of; zero where it has none.
    pub(crate) of: Nanos,
    /// What it explains, in any order; empty for statements.
    pub(crate) segments: Vec<SegmentId>,
    /// Where to point.
    pub(crate) site: Site,
    /// Where it points instead of `site`, the most telling first: a statement has no segments to take
    /// that from, and what has is not always where the reason is.
    pub(crate) stacks: Vec<(ThreadId, StackId)>,
    /// The measured facts, the most telling first.
    pub(crate) evidence: Vec<Fact>,
    /// What this recording adds to the rule's own reason; empty for nothing.
    pub(crate) why: String,
    /// What this recording adds to the rule's own fix; empty for nothing.
    pub(crate) fix: String,
    /// How sure, before losses of the recording are looked at.
    pub(crate) confidence: Confidence,
    /// Share of the wall time from which it is listed; it takes its time in any case, so that the
    /// same time has the same name in every run.
    pub(crate) listed_from: f64,
    /// How much a statement matters; none for claims of time, whose share decides.
    pub(crate) severity: Option<Severity>,
    /// How much a claim of time matters at most, whatever its share: what may be the program's
    /// purpose is no fault.
    pub(crate) at_most: Severity,
    /// The share of its time that the fix saves, which is what decides about its severity.
    pub(crate) saves: f64,
}

impl Claim {
    /// A claim with nothing to add to the rule's texts, certain as far as the rule goes.
    pub(crate) fn new(rule: &'static RuleDoc, title: String, segments: Vec<SegmentId>) -> Self {
        Self {
            rule,
            specificity: rule.specificity,
            title,
            of: Nanos::ZERO,
            segments,
            site: Site::Work,
            stacks: Vec::new(),
            evidence: Vec::new(),
            why: String::new(),
            fix: String::new(),
            confidence: Confidence::of(0.95),
            listed_from: MIN_SHARE,
            severity: None,
            at_most: Severity::High,
            saves: 1.0,
        }
    }

    /// A statement: it explains no time, and is always listed.
    pub(crate) fn statement(rule: &'static RuleDoc, title: String, severity: Severity) -> Self {
        Self {
            severity: Some(severity),
            confidence: Confidence::of(1.0),
            ..Self::new(rule, title, Vec::new())
        }
    }

    /// The same, pointing at `site`.
    pub(crate) fn at(mut self, site: Site) -> Self {
        self.site = site;
        self
    }

    /// The same, pointing at stacks.
    pub(crate) fn pointing(mut self, stacks: Vec<(ThreadId, StackId)>) -> Self {
        self.stacks = stacks;
        self
    }

    /// The same, with what this recording adds to the rule's reason and fix.
    pub(crate) fn saying(mut self, why: String, fix: String) -> Self {
        (self.why, self.fix) = (why, fix);
        self
    }

    /// The same, whose title gives its cost as a share of `whole`.
    pub(crate) fn share_of(mut self, whole: Nanos) -> Self {
        self.of = whole;
        self
    }

    /// The same, as sure as `value` before doubts are looked at.
    pub(crate) fn sure(mut self, value: f64) -> Self {
        self.confidence = Confidence::of(value);
        self
    }

    /// Adds measured facts.
    pub(crate) fn facts(mut self, facts: impl IntoIterator<Item = Fact>) -> Self {
        self.evidence.extend(facts);
        self
    }

    /// Adds a length of time.
    pub(crate) fn time(self, what: impl Into<Text>, length: Nanos) -> Self {
        self.fact(what, length.0 as f64, "ns")
    }

    /// Adds a measured fact.
    pub(crate) fn fact(mut self, what: impl Into<Text>, value: f64, unit: &str) -> Self {
        self.evidence.push(fact(what, value, unit));
        self
    }
}

/// One measured fact.
pub(crate) fn fact(what: impl Into<Text>, value: f64, unit: &str) -> Fact {
    Fact { what: what.into(), value, unit: unit.into() }
}

/// One rule; its page is the constant `DOC` of its file.
pub(crate) trait Rule: Sync {
    /// What it explains in this recording, in a fixed order.
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim>;
}
