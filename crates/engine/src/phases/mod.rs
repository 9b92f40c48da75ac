//! Phases of a run: three to six stretches that do different things, by where what it does changes.
//!
//! The time is cut into equal windows. Each window becomes a point: the shares of its time for each use
//! (computing, waiting for a disk, and so on) in each function, along the critical path for a command,
//! over everything that counts for a service. Optimal partitioning (Jackson et al., 2005) then finds the
//! changes: of all ways to cut the windows into stretches it takes the one with the least sum of squared
//! distances to each stretch's mean, where every further stretch costs as much as noise alone would
//! gain by it. What neighbouring windows differ by tells the noise.
//!
//! ```text
//! windows    a a a b b b b b s s s s s b b b d d     each letter: another mix; s: asleep
//! stretches  [ a ] [   b   ] [   s   ] [ b ] [d]
//! phases     start-up steady  idle    steady end
//! ```
//!
//! A name must hold: what is asleep is idle, a steady state takes half of the busy time, and a run
//! without one goes through steps.

mod changes;
#[cfg(test)]
mod laws;
mod uses;
mod windows;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::{Cause, FrameId, Nanos, Recording, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::calls::Patterns;
use crate::causes::Causes;
use crate::own::{OwnCode, function_name};
use crate::wakers::{Relevance, Row, Scope};

pub use uses::TimeUse;
use windows::Windows;

/// Windows of a run: enough to place a change to one per cent, few enough that each holds samples.
const WINDOWS: u64 = 100;

/// Windows are no shorter: at some hundred samples a second each holds several.
const SHORTEST: Nanos = Nanos(10_000_000);

/// Fewer windows have no phases.
const FEWEST: usize = 8;

/// What a stretch is in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Before the steady state.
    Start,
    /// The mix of at least half of the busy time.
    Steady,
    /// Something else between two stretches of the steady state.
    Other,
    /// After the steady state.
    End,
    /// One of several things that the run does one after the other, none for half of the busy time.
    Step,
    /// Asleep, or nothing was recorded, for at least half of the stretch.
    Idle,
}

impl Kind {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Start => "start-up",
            Self::Steady => "steady",
            Self::Other => "other",
            Self::End => "end",
            Self::Step => "step",
            Self::Idle => "idle",
        }
    }
}

/// What time passes for, and where: the innermost named function outside the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Why the thread was not running, or where it ran; none while nobody worked.
    pub cause: Option<Cause>,
    /// `module!function`; empty where no stack tells it.
    pub function: String,
}

/// A stretch of the run that does one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What it is in the run.
    pub kind: Kind,
    /// What is done in it, in words: `computes in app!parse`.
    pub does: String,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// The time that counts by place, the costliest first.
    pub places: Vec<(Place, Nanos)>,
}

impl Phase {
    /// How long it is.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }

    /// All time that counts in it.
    #[must_use]
    pub fn counted(&self) -> Nanos {
        self.places.iter().map(|(_, time)| *time).sum()
    }

    /// The time that counts by cause, the costliest first.
    #[must_use]
    pub fn causes(&self) -> Vec<(Cause, Nanos)> {
        let mut causes: BTreeMap<Cause, Nanos> = BTreeMap::new();
        for (place, time) in &self.places {
            if let Some(cause) = place.cause {
                *causes.entry(cause).or_default() += *time;
            }
        }
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, time)| Reverse(*time));
        causes
    }

    /// The time in which nothing was done: asleep, or nothing recorded.
    #[must_use]
    pub fn idle(&self) -> Nanos {
        let idle = self.places.iter().filter(|(place, _)| TimeUse::new(place.cause).is_idle());
        idle.map(|(_, time)| *time).sum()
    }
}

/// The phases of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    /// In order of time, without gaps.
    pub phases: Vec<Phase>,
    /// How exactly changes are placed.
    pub window: Nanos,
    /// True when the time holds too few windows to tell phases.
    pub too_short: bool,
}

/// What time is used for, and in which function: the program's own nearest one, else the innermost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Spot {
    time_use: TimeUse,
    function: String,
}

/// A stretch of time that counts.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from: Time,
    to: Time,
    /// What it passes for: an index of [`Counted::uses`].
    passes_for: usize,
}

/// All time that counts within a range, and what it passes for.
#[derive(Debug, Default)]
struct Counted {
    places: Vec<Place>,
    /// Where changes are looked for.
    spots: Vec<Spot>,
    /// A place and the spot that it belongs to, each pair once.
    uses: Vec<(usize, usize)>,
    pieces: Vec<Piece>,
}

impl Phases {
    /// Finds the phases of a command's life, or of a service's recording. Linear in intervals.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self::new(recording, &Relevance::of(recording), None)
    }

    /// The phases of one thread's time, followed through wakers.
    #[must_use]
    pub fn of_thread(recording: &Recording, thread: ThreadId, range: (Time, Time)) -> Self {
        Self::new(recording, &Relevance::of_range(recording, thread, range), None)
    }

    /// The phases of a part of the recording's time.
    #[must_use]
    pub fn of_range(recording: &Recording, range: (Time, Time)) -> Self {
        Self::new(recording, &Relevance::of(recording), Some(range))
    }

    fn new(recording: &Recording, relevance: &Relevance, part: Option<(Time, Time)>) -> Self {
        let (from, to) = match relevance.scope {
            Scope::Command { from, to, .. } => (from, to),
            Scope::Service => (Time::START, Time(recording.meta.wall.0)),
        };
        let range = part.map_or((from, to), |(a, b)| (a.max(from).min(to), b.min(to).max(from)));
        let counted = Counted::new(recording, relevance, range);
        let whole = range.1.since(range.0);
        let window = Nanos(whole.0.div_ceil(WINDOWS)).max(SHORTEST);
        let count = usize::try_from(whole.0 / window.0).unwrap_or(0).max(1);
        let windows = Windows::new(&counted, range, (window, count));
        let too_short = count < FEWEST;
        let stretches =
            if too_short { changes::whole(&windows) } else { changes::stretches(&windows) };
        let at = |cut: usize| match cut == count {
            true => range.1,
            false => Time(range.0.0 + window.0 * cut as u64),
        };
        let phase = |(kind, (first, last))| counted.phase(kind, at(first), at(last));
        Self { phases: stretches.into_iter().map(phase).collect(), window, too_short }
    }

    /// The share of a place in the time that counts of the steady state.
    #[must_use]
    pub fn steady_share(&self, place: &Place) -> f64 {
        let steady = || self.phases.iter().filter(|phase| phase.kind == Kind::Steady);
        let whole: Nanos = steady().map(Phase::counted).sum();
        let own = steady().flat_map(|phase| &phase.places).filter(|(own, _)| own == place);
        own.map(|(_, time)| *time).sum::<Nanos>().share_of(whole)
    }
}

impl Counted {
    fn new(recording: &Recording, relevance: &Relevance, range: (Time, Time)) -> Self {
        let names = Names::new(recording);
        let mut known: FxHashMap<(Option<Cause>, Option<StackId>), usize> = FxHashMap::default();
        let (mut places, mut spots) = (Numbered::default(), Numbered::default());
        let mut uses = Numbered::default();
        let mut pieces = Vec::new();
        let mut add = |row: Option<usize>, from: Time, to: Time| {
            let (from, to) = (from.max(range.0), to.min(range.1));
            if from >= to {
                return;
            }
            let row = row.map(|at| &recording.intervals[at]);
            let key = (row.map(|row| row.cause), row.and_then(|row| row.stack));
            let passes_for = *known.entry(key).or_insert_with(|| {
                let (cause, stack) = key;
                let time_use = TimeUse::new(cause).of_the_program();
                let place = Place { cause, function: names.innermost(stack) };
                let spot = Spot { time_use, function: names.nearest_own(stack) };
                uses.number((places.number(place), spots.number(spot)))
            });
            pieces.push(Piece { from, to, passes_for });
        };
        match relevance.scope {
            Scope::Command { .. } => {
                for segment in &relevance.path.segments {
                    add(segment.interval.map(Row::index), segment.from, segment.to);
                }
            }
            Scope::Service => {
                for (at, row) in recording.intervals.iter().enumerate() {
                    add(Some(at), row.start, row.start + relevance.own(at));
                }
            }
        }
        Self { places: places.values, spots: spots.values, uses: uses.values, pieces }
    }

    fn phase(&self, kind: Kind, from: Time, to: Time) -> Phase {
        let mut times = vec![Nanos::ZERO; self.uses.len()];
        for piece in &self.pieces {
            times[piece.passes_for] += piece.to.min(to).since(piece.from.max(from));
        }
        let mut by_place = vec![Nanos::ZERO; self.places.len()];
        let mut by_spot: BTreeMap<Spot, Nanos> = BTreeMap::new();
        let passed = self.uses.iter().zip(times).filter(|(_, time)| *time > Nanos::ZERO);
        for ((place, spot), time) in passed {
            by_place[*place] += time;
            let time_use = TimeUse::new(self.places[*place].cause);
            let spot = Spot { time_use, function: self.spots[*spot].function.clone() };
            *by_spot.entry(spot).or_default() += time;
        }
        let by_spot: Vec<_> = by_spot.into_iter().collect();
        let places = by_place.into_iter().enumerate().filter(|(_, time)| *time > Nanos::ZERO);
        let mut places: Vec<_> = places.collect();
        places.sort_by_key(|(at, time)| (Reverse(*time), *at));
        let places = places.into_iter().map(|(at, time)| (self.places[at].clone(), time));
        Phase { kind, does: uses::describe(&by_spot), from, to, places: places.collect() }
    }
}

/// Values with numbers, in order of their first appearance.
#[derive(Debug)]
struct Numbered<T> {
    values: Vec<T>,
    known: FxHashMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { values: Vec::new(), known: FxHashMap::default() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn number(&mut self, value: T) -> usize {
        let next = self.values.len();
        let at = *self.known.entry(value.clone()).or_insert(next);
        if at == next {
            self.values.push(value);
        }
        at
    }
}

/// The functions that stacks are named by.
struct Names<'a> {
    recording: &'a Recording,
    innermost: Vec<Option<FrameId>>,
    own: OwnCode,
}

impl<'a> Names<'a> {
    fn new(recording: &'a Recording) -> Self {
        let causes = Causes::of(recording);
        let own = OwnCode::new(recording, &Patterns::default());
        Self { recording, innermost: functions(recording, &causes), own }
    }

    /// The innermost named function outside the kernel; empty without one.
    fn innermost(&self, stack: Option<StackId>) -> String {
        let frame = stack.and_then(|stack| self.innermost.get(stack.index()).copied()?);
        frame.map_or_else(String::new, |frame| self.recording.frame_name(frame))
    }

    /// The program's own function nearest to where it was, else the innermost.
    fn nearest_own(&self, stack: Option<StackId>) -> String {
        let own = self.own.nearest(stack);
        own.map_or_else(|| self.innermost(stack), |frame| function_name(self.recording, frame))
    }
}

/// The innermost named function outside the kernel of each stack.
fn functions(recording: &Recording, causes: &Causes) -> Vec<Option<FrameId>> {
    let mut named: Vec<Option<FrameId>> = Vec::with_capacity(recording.stacks.len());
    for (at, node) in recording.stacks.iter().enumerate() {
        let above = node.parent.and_then(|p| named.get(p.index()).copied()?);
        let kernel = causes.in_kernel(StackId::from_index(at));
        let own = !kernel && recording.frame(node.frame).function.as_str() != "?";
        named.push(if own { Some(node.frame) } else { above });
    }
    named
}
