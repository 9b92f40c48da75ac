//! Known callers: advice for who asks for the time of a finding, known by the functions on its stacks.
//!
//! `fsync-storm` says what any program can do about its flushes. Below SQLite's commit it can say more: one
//! transaction, another journal mode. The callers are data, `callers.toml` beside the sources; each has the
//! findings that it belongs to, its evidence, and where its advice comes from.

use std::borrow::Cow;
use std::sync::LazyLock;

use culprit_engine::names::{PatternId, PatternSet, plain, source_name};
use culprit_engine::wakers::is_descendant;
use culprit_model::{Interval, Nanos, StackId};
use toml::de::{DeTable, DeValue};

use crate::evidence::{Evidence, SegmentId};

/// Share of a finding's time that must pass below a caller's functions: with less, something else is as
/// much the reason.
const MIN_SHARE: f64 = 0.5;

/// The findings whose time passes in children of who asks for it.
const OF_CHILDREN: [&str; 3] = ["spawn-storm", "wait-on-child", "repeated-work"];

/// A known caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// What it is called.
    pub id: &'static str,
    /// The findings that it has advice for.
    pub findings: Vec<&'static str>,
    /// Functions below which the time passes; `*` stands for any text.
    pub inside: Vec<&'static str>,
    /// Modules below which it passes, where functions may have no names.
    pub modules: Vec<&'static str>,
    /// Why it asks for this.
    pub why: &'static str,
    /// What to do, the most likely first.
    pub fix: Vec<&'static str>,
    /// Where the advice comes from.
    pub source: &'static str,
}

/// The callers, and what finds them on a stack.
struct Table {
    callers: Vec<Caller>,
    functions: PatternSet,
    modules: PatternSet,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let callers = parse(include_str!("../callers.toml")).unwrap_or_default();
    fn each<'c>(
        callers: &'c [Caller],
        names: fn(&Caller) -> &Vec<&'static str>,
    ) -> impl Iterator<Item = (&'static str, PatternId)> + 'c {
        let ids = (0..PatternId::MAX).zip(callers);
        ids.flat_map(move |(id, caller)| names(caller).iter().map(move |name| (*name, id)))
    }
    let functions = PatternSet::new(each(&callers, |caller| &caller.inside));
    let modules = PatternSet::new(each(&callers, |caller| &caller.modules));
    Table { callers, functions, modules }
});

/// Every known caller.
#[must_use]
pub fn callers() -> &'static [Caller] {
    &TABLE.callers
}

fn parse(text: &'static str) -> Result<Vec<Caller>, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?.into_inner();
    let rows = table.get("callers").and_then(|rows| rows.get_ref().as_array());
    rows.ok_or("no callers")?.iter().map(|row| caller(row.get_ref())).collect()
}

fn caller(row: &DeValue<'static>) -> Result<Caller, String> {
    let text = |value: &DeValue<'static>| match value {
        DeValue::String(Cow::Borrowed(text)) => Ok(*text),
        _ => Err("no text, or one with an escape".to_owned()),
    };
    let word = |key: &str| {
        let value = row.get(key).ok_or_else(|| format!("no `{key}`"))?;
        text(value.get_ref())
    };
    let words = |key: &str| -> Result<Vec<&'static str>, String> {
        let all = row.get(key).and_then(|all| all.get_ref().as_array());
        all.into_iter().flat_map(|all| all.iter()).map(|word| text(word.get_ref())).collect()
    };
    Ok(Caller {
        id: word("id")?,
        findings: words("findings")?,
        inside: words("inside")?,
        modules: words("modules")?,
        why: word("why")?,
        fix: words("fix")?,
        source: word("source")?,
    })
}

/// A set of callers, by their places in the table.
type CallerSet = u64;

/// Which callers each stack of a recording passes through, made at first use.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    stacks: std::sync::OnceLock<Vec<CallerSet>>,
}

impl Callers {
    /// The caller that asks for most of the time of a finding.
    pub(crate) fn of(
        &self,
        evidence: &Evidence<'_>,
        finding: &str,
        held: &[SegmentId],
    ) -> Option<&'static Caller> {
        let known = |(_, caller): &(usize, &Caller)| caller.findings.contains(&finding);
        let mut candidates = callers().iter().enumerate().filter(known).peekable();
        candidates.peek()?;
        let stacks = self.stacks.get_or_init(|| of_stacks(evidence));
        if stacks.iter().all(|set| *set == 0) {
            return None;
        }
        let mut times = vec![Nanos::ZERO; callers().len()];
        // What processes cost, their parent asks for.
        let of_children = OF_CHILDREN.contains(&finding);
        for id in held {
            let segment = evidence.chain.segment(*id);
            let own = evidence.of_segment(segment);
            let process = evidence.process(own.thread);
            let asks = |wait: &&Interval| {
                let waiter = evidence.process(wait.thread);
                waiter == process
                    || (of_children && is_descendant(evidence.recording, process, waiter))
            };
            let waits = evidence.chain.links(segment).map(|link| evidence.interval(link.wait));
            let waits = waits.filter(asks);
            let of = |stack: Option<StackId>| stack.map_or(0, |stack| stacks[stack.index()]);
            let set = waits.fold(of(own.stack), |set, wait| set | of(wait.stack));
            let inside = times.iter_mut().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            inside.for_each(|(_, time)| *time += segment.length);
        }
        let whole = evidence.total(held);
        let most = |(at, _): &(usize, &Caller)| times[*at].share_of(whole) >= MIN_SHARE;
        candidates.find(most).map(|(_, caller)| caller)
    }
}

/// The callers that each stack passes through. Linear in frames and stacks.
fn of_stacks(evidence: &Evidence<'_>) -> Vec<CallerSet> {
    let recording = evidence.recording;
    let set_of = |patterns: &PatternSet, name: &str| {
        let mut set: CallerSet = 0;
        patterns.each(name, |id| set |= 1 << id);
        set
    };
    let of_modules: Vec<_> =
        recording.modules.iter().map(|module| set_of(&TABLE.modules, &module.name)).collect();
    let of_frame = |frame: &culprit_model::Frame| {
        let module = frame.module.map_or(0, |module| of_modules[module.index()]);
        let kernel = frame.module.is_some_and(|module| recording.module(module).is_kernel());
        let name = if kernel { source_name(&frame.function) } else { plain(&frame.function) };
        let python = frame.file.as_deref().filter(|file| file.ends_with(".py"));
        // As Python itself writes them for perf.
        let python = python.map(|file| format!("py::{}:{file}", frame.function));
        let python = python.map_or(0, |name| set_of(&TABLE.functions, &name));
        module | python | set_of(&TABLE.functions, name)
    };
    let frames: Vec<_> = recording.frames.iter().map(of_frame).collect();
    let mut stacks: Vec<CallerSet> = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        let above = node.parent.and_then(|p| stacks.get(p.index())).copied().unwrap_or_default();
        stacks.push(above | frames[node.frame.index()]);
    }
    stacks
}

#[cfg(test)]
mod tests;
