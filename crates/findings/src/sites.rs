//! Where a finding's cost arises: which process, thread and function, the costliest first.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rustc_hash::FxHashMap;

use culprit_model::{Evidence as Fact, FrameId, Interval, Nanos, StackId, Text, ThreadId, Where};

use culprit_engine::causes::FutexWaits;
use culprit_engine::own::source_function;

use crate::evidence::{Evidence, IntervalId, Segment, SegmentId};
use crate::naming::Aim;
use crate::rule::{Site, fact};

/// How many places a finding lists: what does not fit on a screen is in the flame graph.
const MAX_SITES: usize = 5;

/// How many waiting threads a finding lists.
const MAX_WAITERS: usize = 3;

/// One place with its cost.
struct Place {
    name: Name,
    cost: Nanos,
    /// The interval that costs most, for the stack.
    typical: (Nanos, IntervalId),
    /// Its frame.
    frame: Option<FrameId>,
    threads: Vec<ThreadId>,
}

impl Place {
    /// Adds a place of the same name.
    fn add(&mut self, other: Self) {
        self.cost += other.cost;
        if other.typical.0 > self.typical.0 {
            self.typical = other.typical;
            self.frame = other.frame;
        }
        self.threads.extend(other.threads);
    }
}

/// What a place is called: its program, thread and function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    process: Text,
    thread: Text,
    function: Text,
}

/// The places of a set of segments: at the nearest functions of the program's own code.
pub(crate) fn of(evidence: &Evidence<'_>, held: &[SegmentId], site: Site) -> Vec<Where> {
    let mut shown: Vec<Where> = Vec::new();
    for place in places(evidence, held, site, Aim::Own) {
        let at = at(evidence, place);
        if shown.len() < MAX_SITES && !shown.contains(&at) {
            shown.push(at);
        }
    }
    shown
}

/// The program and the function of the costliest place of a set of segments, as the rule sees it.
pub(crate) fn costliest(
    evidence: &Evidence<'_>,
    held: &[SegmentId],
    site: Site,
) -> Option<(Text, Text)> {
    let first = places(evidence, held, site, Aim::Picked).into_iter().next()?;
    Some((first.name.process, first.name.function))
}

/// The places of a set of segments, the most telling first.
fn places(evidence: &Evidence<'_>, held: &[SegmentId], site: Site, aim: Aim) -> Vec<Place> {
    match site {
        Site::Work => ranked(evidence, work(evidence, held), aim, |e, i| e.function(i)),
        Site::Owner => ranked(evidence, work(evidence, held), aim, Evidence::owner),
        Site::Caller => ranked(evidence, work(evidence, held), aim, Evidence::caller),
        Site::Requester => {
            let asked = held.iter().map(|s| evidence.chain.segment(*s));
            let asked = asked.map(|s| (evidence.requester(s).interval, s.length));
            ranked(evidence, asked, aim, Evidence::asker)
        }
        Site::Function(frame) => {
            let name = evidence.name(Some(frame));
            let inside = held.iter().map(|s| evidence.chain.segment(*s));
            let inside = inside.map(|s| (below(evidence, s, &name), s.length));
            ranked(evidence, inside, aim, move |_, _| Some(frame))
        }
        Site::Entry => ranked(evidence, work(evidence, held), aim, Evidence::focus),
        Site::WaitThenWork => {
            let mut places = ranked(evidence, waits(evidence, held), aim, |e, i| e.function(i));
            places.truncate(2);
            let work =
                work(evidence, held).filter(|(i, _)| !evidence.interval(*i).cause.is_blocked());
            places.extend(ranked(evidence, work, aim, |e, i| e.function(i)));
            places
        }
    }
}

/// The interval of a segment, or of the nearest wait around it, that passes below a function.
fn below(evidence: &Evidence<'_>, segment: &Segment, function: &Text) -> IntervalId {
    let is_below = |id: &IntervalId| {
        let stack = evidence.interval(*id).stack;
        let mut frames = stack.into_iter().flat_map(|s| evidence.recording.stack(s));
        frames.any(|frame| evidence.name(Some(frame)) == *function)
    };
    let waits = evidence.chain.links(segment).map(|link| link.wait);
    let mut all = std::iter::once(segment.interval).chain(waits);
    all.find(is_below).unwrap_or(segment.interval)
}

/// The intervals in which a set of segments passes.
fn work<'e>(
    evidence: &'e Evidence<'_>,
    held: &'e [SegmentId],
) -> impl Iterator<Item = (IntervalId, Nanos)> + 'e {
    held.iter().map(|s| evidence.chain.segment(*s)).map(|s| (s.interval, s.length))
}

/// The waits that make a set of segments depend on something.
fn waits<'e>(
    evidence: &'e Evidence<'_>,
    held: &'e [SegmentId],
) -> impl Iterator<Item = (IntervalId, Nanos)> + 'e {
    let segments = held.iter().map(|s| evidence.chain.segment(*s));
    segments.map(|s| (evidence.dependent_wait(s).unwrap_or(s.interval), s.length))
}

/// What a thread spent in a function.
struct Spent {
    sum: Nanos,
    /// Its costliest interval.
    typical: (Nanos, IntervalId),
}

/// The places of a set of intervals with their costs, the costliest first. `pick` is what the rule
/// looks at in an interval.
fn ranked<'e>(
    evidence: &Evidence<'e>,
    costs: impl Iterator<Item = (IntervalId, Nanos)>,
    aim: Aim,
    pick: impl Fn(&Evidence<'e>, &Interval) -> Option<FrameId>,
) -> Vec<Place> {
    // By handles first: segments are many, and names are long to compare.
    let mut handles: FxHashMap<(ThreadId, Option<FrameId>), Spent> = FxHashMap::default();
    for (id, cost) in costs {
        let interval = evidence.interval(id);
        let frame = aim.frame(evidence, interval.stack, pick(evidence, interval));
        let first = Spent { sum: Nanos::ZERO, typical: (cost, id) };
        let spent = handles.entry((interval.thread, frame)).or_insert(first);
        spent.sum += cost;
        if cost > spent.typical.0 {
            spent.typical = (cost, id);
        }
    }
    let mut handles: Vec<_> = handles.into_iter().collect();
    handles.sort_unstable_by_key(|(handle, _)| *handle);
    let mut places: BTreeMap<Name, Place> = BTreeMap::new();
    for ((thread, frame), spent) in handles {
        let names = evidence.recording.thread(thread);
        let name = Name {
            process: evidence.recording.process(names.process).name.clone(),
            thread: names.name.clone(),
            function: aim.name(evidence, frame),
        };
        let Spent { sum: cost, typical } = spent;
        let place = Place { name: name.clone(), cost, typical, frame, threads: vec![thread] };
        match places.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(place);
            }
            Entry::Occupied(mut entry) => entry.get_mut().add(place),
        }
    }
    let mut places: Vec<_> = places.into_values().collect();
    places.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.name.cmp(&b.name)));
    places.truncate(MAX_SITES);
    places
}

fn at(evidence: &Evidence<'_>, mut place: Place) -> Where {
    let recording = evidence.recording;
    place.threads.sort_unstable();
    place.threads.dedup();
    let mut processes: Vec<_> = place.threads.iter().map(|t| evidence.process(*t)).collect();
    processes.dedup();
    let process = match processes[..] {
        [one] => recording.process_name(one).into(),
        _ => place.name.process,
    };
    let thread = match place.threads[..] {
        [one] => recording.thread_name(one).into(),
        _ => place.name.thread,
    };
    whereabouts(evidence, (process, thread), place.frame, stack(evidence, place.typical.1))
}

/// The places of a statement's stacks, in their order.
pub(crate) fn of_stacks(evidence: &Evidence<'_>, stacks: &[(ThreadId, StackId)]) -> Vec<Where> {
    let recording = evidence.recording;
    let at = |&(thread, stack): &(ThreadId, StackId)| {
        let process = recording.process_name(evidence.process(thread)).into();
        let names = (process, recording.thread_name(thread).into());
        let caller = evidence.chores.caller(Some(stack));
        let frame = caller.or_else(|| evidence.stacks.focus(Some(stack)));
        let frame = Aim::Own.frame(evidence, Some(stack), frame);
        whereabouts(evidence, names, frame, frames(evidence, Some(stack)))
    };
    stacks.iter().take(MAX_SITES).map(at).collect()
}

fn whereabouts(
    evidence: &Evidence<'_>,
    (process, thread): (Text, Text),
    frame: Option<FrameId>,
    stack: Vec<Text>,
) -> Where {
    let recording = evidence.recording;
    let module =
        |frame: FrameId| Some(recording.module(recording.frame(frame).module?).name.clone());
    let source = frame.map(|frame| source_function(recording, frame));
    Where {
        process,
        thread,
        function: source.as_ref().map_or_else(|| "?".into(), |source| (*source.name).into()),
        module: frame.and_then(module).unwrap_or_else(|| "?".into()),
        name: frame.map(|frame| recording.frame_name(frame).into()).unwrap_or_default(),
        file: source.as_ref().and_then(|source| source.file).map(Text::from),
        line: source.and_then(|source| source.line),
        stack,
    }
}

/// A stack as findings show it: root first, the cause last.
fn stack(evidence: &Evidence<'_>, id: IntervalId) -> Vec<Text> {
    let interval = evidence.interval(id);
    let mut names = frames(evidence, interval.stack);
    names.push(culprit_model::Label::word(interval.cause).into());
    names
}

/// The names of a stack's frames, root first.
fn frames(evidence: &Evidence<'_>, stack: Option<StackId>) -> Vec<Text> {
    let frames = stack.into_iter().flat_map(|s| evidence.recording.stack(s));
    let mut names: Vec<Text> = frames.map(|f| evidence.recording.frame_name(f).into()).collect();
    names.reverse();
    names
}

/// Who waited meanwhile, from the outside in: the threads above the segments, with the cause of
/// their wait.
pub(crate) fn who_waited(evidence: &Evidence<'_>, held: &[SegmentId]) -> Vec<Fact> {
    let mut waiters: FxHashMap<(ThreadId, culprit_model::Cause), Nanos> = FxHashMap::default();
    let mut seen = Vec::new();
    let mut waits = FutexWaits::new(evidence.recording);
    for segment in held.iter().map(|s| evidence.chain.segment(*s)) {
        seen.clear();
        for link in evidence.chain.links(segment) {
            let wait = evidence.interval(link.wait);
            let key = (wait.thread, waits.cause(wait.cause, wait.stack));
            if !seen.contains(&key) {
                seen.push(key);
                *waiters.entry(key).or_default() += segment.length;
            }
        }
    }
    let mut waiters: Vec<_> = waiters.into_iter().collect();
    waiters.sort_by_key(|(key, cost)| (std::cmp::Reverse(*cost), *key));
    waiters
        .into_iter()
        .take(MAX_WAITERS)
        .map(|((thread, cause), cost)| {
            let what =
                format!("{} waited for this in {cause}", evidence.recording.thread_name(thread));
            fact(what, cost.0 as f64, "ns")
        })
        .collect()
}
