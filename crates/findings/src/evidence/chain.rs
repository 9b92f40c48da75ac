//! The chain: what each moment of the measured thing's time was spent on.
//!
//! For a command that ended, the measured thing is its life, and the chain is the engine's critical
//! path: its first thread's time with each wait replaced by what the thread that ended it did.
//!
//! ```text
//! time      0    1    2    3    4    5    6
//! driver    work |---- read from pipe ----| work      (woken by follower)
//! follower       | work |--- sleep ---|work|
//! chain     driver|fol. |  follower   |fol.|driver
//! links     -     |pipe |    pipe     |pipe| -
//! ```
//!
//! Idle threads never enter it, because nobody waited for them. Polling loops get special care: a
//! timer ended each wait, but what they look for is another thread's work, so while others work
//! the time is theirs (an inferred link) and only the rest is the loop's own. Waits for the network
//! are filled with what a local peer did, where one can be inferred.
//!
//! For a service (nothing ended, or it was told to) every thread's time counts but its idle waits;
//! its other waits are followed in the same way, and no interval counts for more than its length.

use culprit_engine::wakers::{CommandPath, CriticalPath, Lives, Row, Scope, selected_path};
use culprit_model::{Cause, Interval, Nanos, Recording, ThreadId, Time, WakeSource};

use super::helpers::Helpers;
use super::idle::Idle;
use super::locks::Locks;
use super::loops::Loops;
use super::peers::Peers;
use super::queue::CpuUsers;
use super::serving::Serving;
use super::stacks::Stacks;
use super::work::WorkOfAll;

/// A row of the `intervals` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IntervalId(pub(crate) u32);

impl IntervalId {
    /// The value as an index.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// A segment of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentId(pub(crate) u32);

impl SegmentId {
    /// The value as an index.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A wait of the chain that was filled with what another thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkId(Row);

impl LinkId {
    /// The value as an index.
    pub(crate) const fn index(self) -> usize {
        self.0.index()
    }
}

/// A stretch of the measured time that one thread spent in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// From when.
    pub(crate) start: Time,
    /// How long.
    pub(crate) length: Nanos,
    /// What passed.
    pub(crate) interval: IntervalId,
    /// The innermost wait that this fills; none for the measured thread's own time.
    pub(crate) link: Option<LinkId>,
}

/// A wait that another thread's time fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// The wait.
    pub(crate) wait: IntervalId,
    /// The wait around it.
    pub(crate) parent: Option<LinkId>,
    /// Whose time fills it.
    pub(crate) by: ThreadId,
    /// True when no wakeup tells it: a polling loop waits for whoever works.
    pub(crate) inferred: bool,
}

/// What the measured time was spent on.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// In the order of the measured thread's time; for services thread by thread.
    pub(crate) segments: Vec<Segment>,
    /// The waits; parents before children.
    pub(crate) links: Vec<Link>,
    /// The measured thing's wall time.
    pub(crate) wall: Nanos,
    /// What shares are of: the wall time, or all time that counts where several threads' is more.
    pub(crate) whole: Nanos,
    /// True when a command's own life was measured, false for a service.
    pub(crate) one_shot: bool,
}

/// What the chain is built from.
pub(crate) struct Source<'a> {
    /// The recording.
    pub(crate) recording: &'a Recording,
    /// Its rows by thread.
    pub(crate) lives: &'a Lives,
    /// What its stacks tell.
    pub(crate) stacks: &'a Stacks,
    /// Which waits are for locks.
    pub(crate) locks: &'a Locks,
    /// Which waits are rounds of a polling loop.
    pub(crate) loops: &'a Loops,
    /// Who works when.
    pub(crate) work: &'a WorkOfAll<'a>,
    /// Who ended waits for the network.
    pub(crate) peers: &'a Peers,
    /// Measure from here and up to there.
    pub(crate) range: (Time, Time),
    /// The threads whose time is measured, one entry a thread; none for the measured thing's own.
    pub(crate) threads: Option<&'a [bool]>,
    /// The critical path of the command, where it is known.
    pub(crate) command_path: Option<&'a CommandPath>,
    /// Who has the CPUs.
    pub(super) users: &'a CpuUsers,
    /// Who waits for something outside its process.
    pub(super) helpers: &'a Helpers,
    /// Who offers something on a socket.
    pub(crate) serving: &'a Serving,
}

impl Source<'_> {
    /// True when a thread's time is measured.
    fn measures(&self, thread: ThreadId) -> bool {
        self.threads.is_none_or(|kept| kept.get(thread.index()).copied().unwrap_or(false))
    }
}

impl Chain {
    /// Builds the chain; n log n in the intervals that it touches.
    pub(crate) fn of(source: &Source<'_>) -> Self {
        let mut builder = Builder { source, chain: Self::default() };
        match Scope::of(source.recording) {
            Scope::Command { thread, from, to } => {
                let (whole, to) = ((from, to), to.min(source.range.1));
                let range = (from.max(source.range.0).min(to), to);
                builder.chain.one_shot = true;
                builder.chain.wall = range.1.since(range.0);
                if source.threads.is_some() {
                    builder.selected(range);
                } else if range == whole {
                    builder.follow(thread, whole, None);
                } else {
                    let path = selected_path(source.recording, source.lives, thread, range);
                    builder.add(&path, None);
                }
            }
            Scope::Service => builder.service(),
        }
        let mut chain = builder.chain;
        let counted: Nanos = chain.segments.iter().map(|s| s.length).sum();
        chain.whole = chain.wall.max(counted);
        chain
    }

    /// The segment of a handle.
    pub(crate) fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.index()]
    }

    /// Every segment with its handle.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        (0u32..).map(SegmentId).zip(&self.segments)
    }

    /// The waits around a segment, innermost first.
    pub(crate) fn links(&self, segment: &Segment) -> impl Iterator<Item = &Link> {
        self.around(segment.link)
    }

    /// The handles of the waits around a segment, innermost first.
    pub(crate) fn link_ids(&self, segment: &Segment) -> impl Iterator<Item = LinkId> {
        self.ids_around(segment.link)
    }

    /// A wait and those around it, innermost first.
    fn around(&self, wait: Option<LinkId>) -> impl Iterator<Item = &Link> {
        self.ids_around(wait).map(|id| &self.links[id.index()])
    }

    fn ids_around(&self, mut next: Option<LinkId>) -> impl Iterator<Item = LinkId> {
        std::iter::from_fn(move || {
            let id = next?;
            next = self.links[id.index()].parent;
            Some(id)
        })
    }

    /// The time of a set of segments.
    pub(crate) fn total(&self, segments: &[SegmentId]) -> Nanos {
        segments.iter().map(|s| self.segment(*s).length).sum()
    }
}

/// Share of a pause in which others work from which it is theirs: most of it.
const MIN_WORKED: f64 = 0.5;

/// True for a wait that its own timer ended, as far as is known.
pub(crate) fn is_pause(interval: &Interval) -> bool {
    interval.waker.is_none()
        && match interval.cause {
            Cause::Sleep => interval.woken_by != Some(WakeSource::Thread),
            cause => cause.is_blocked() && interval.woken_by == Some(WakeSource::Timer),
        }
}

struct Builder<'s, 'a> {
    source: &'s Source<'a>,
    chain: Chain,
}

impl Builder<'_, '_> {
    /// Appends the critical path of a thread's time under the wait that it fills.
    fn follow(&mut self, thread: ThreadId, range: (Time, Time), under: Option<LinkId>) {
        let source = self.source;
        let path =
            CommandPath::path(source.command_path, source.recording, source.lives, (thread, range));
        self.add(&path, under);
    }

    /// Appends a path whose outermost segments fill a wait, or nothing.
    fn add(&mut self, path: &CriticalPath, under: Option<LinkId>) {
        let source = self.source;
        let first = self.chain.links.len();
        self.add_links(path, first, under);
        self.chain.segments.reserve(path.segments.len());
        for segment in &path.segments {
            let Some(row) = segment.interval.map(Row::index) else { continue };
            let link = segment.under.map_or(under, |at| Some(link_id(first + at.index())));
            let interval = &source.recording.intervals[row];
            let id = IntervalId::from_index(row);
            let range = (segment.from, segment.to);
            let peer = source.peers.ended(source.recording, source.lives, interval);
            match peer.filter(|p| !self.is_above(link, *p) && !self.fills(link, id)) {
                Some(peer) => self.infer(id, range, peer, link),
                None if source.loops.is_round(interval) || self.others_work(interval, range) => {
                    self.share_round(id, range, link);
                }
                None => match self.resolver(interval, range, link) {
                    Some(helper) => self.infer(id, range, helper, link),
                    None => self.share_queue(id, range, link),
                },
            }
        }
    }

    /// Gives time on a run queue to the program's own threads that had the CPU meanwhile.
    fn share_queue(
        &mut self,
        wait: IntervalId,
        (start, end): (Time, Time),
        parent: Option<LinkId>,
    ) {
        let source = self.source;
        let row = &source.recording.intervals[wait.index()];
        // Time ready after the wait for a lock is a part of the lock's hand-over. A runtime's thread without
        // a task has the CPU for whoever works, perhaps for this very thread.
        let handed_over = source.locks.is_lock(source.recording, source.stacks, row);
        if handed_over || self.fills(parent, wait) {
            return self.push(wait, start, end, parent);
        }
        let mut at = start;
        for user in source.users.during(source.recording, (wait, row), (start, end)) {
            if self.is_above(parent, user.thread) {
                continue;
            }
            let (from, to) = (user.from.max(at), user.to.min(end));
            if from < to {
                self.push(wait, at, from, parent);
                self.infer(wait, (from, to), user.thread, parent);
                at = to;
            }
        }
        self.push(wait, at, end, parent);
    }

    fn add_links(&mut self, path: &CriticalPath, first: usize, under: Option<LinkId>) {
        self.chain.links.extend(path.waits.iter().map(|wait| Link {
            wait: IntervalId::from_index(wait.interval.index()),
            parent: wait.under.map_or(under, |at| Some(link_id(first + at.index()))),
            by: wait.thread,
            inferred: false,
        }));
    }

    /// True for a pause during most of which others work: what they do is what passes then.
    fn others_work(&self, interval: &Interval, (from, to): (Time, Time)) -> bool {
        let worked = || self.source.work.with_at_least(1, from, to).share_of(to.since(from));
        is_pause(interval) && worked() > MIN_WORKED
    }

    /// The thread of the process that waits for a name server while another one pauses: the pause is for that.
    fn resolver(
        &self,
        interval: &Interval,
        range: (Time, Time),
        link: Option<LinkId>,
    ) -> Option<ThreadId> {
        let unknown = matches!(interval.woken_by, Some(WakeSource::Interrupt | WakeSource::Unseen));
        let may_pause = is_pause(interval) || (interval.cause == Cause::Poll && unknown);
        let source = self.source;
        let helper = || source.helpers.resolving(source, interval.thread, range);
        may_pause.then(helper).flatten().filter(|thread| !self.is_above(link, *thread))
    }

    /// True when a thread waits above a link already: to follow it again would go in circles.
    fn is_above(&self, link: Option<LinkId>, thread: ThreadId) -> bool {
        let waiter = |link: &Link| self.source.recording.intervals[link.wait.index()].thread;
        self.chain.around(link).any(|link| waiter(link) == thread)
    }

    /// True when a wait is filled already: before its peer was born, whoever made that one was, perhaps the
    /// waiter itself in this very wait.
    fn fills(&self, link: Option<LinkId>, wait: IntervalId) -> bool {
        self.chain.around(link).any(|link| link.wait == wait)
    }

    /// Gives a polling loop's round to those who worked meanwhile, as far as somebody did.
    fn share_round(
        &mut self,
        wait: IntervalId,
        (start, end): (Time, Time),
        parent: Option<LinkId>,
    ) {
        let own = self.source.recording.intervals[wait.index()].thread;
        let mut at = start;
        let pieces: Vec<_> = self.source.work.between(start, end).collect();
        for piece in pieces {
            if piece.thread == own || self.is_above(parent, piece.thread) {
                continue;
            }
            let (from, to) = (piece.from.max(start), piece.to.min(end));
            self.share_with_helper(wait, (at, from), parent);
            self.infer(wait, (from, to), piece.thread, parent);
            at = to;
        }
        self.share_with_helper(wait, (at, end), parent);
    }

    /// Gives time in which a thread pauses and nobody works to a thread of its process that waits for
    /// something outside meanwhile, such as a name server: that is what the pause is for.
    fn share_with_helper(
        &mut self,
        wait: IntervalId,
        (from, to): (Time, Time),
        parent: Option<LinkId>,
    ) {
        let source = self.source;
        let own = source.recording.intervals[wait.index()].thread;
        let helper = (from < to).then(|| source.helpers.during(source, own, (from, to))).flatten();
        match helper.filter(|thread| !self.is_above(parent, *thread)) {
            Some(helper) => self.infer(wait, (from, to), helper, parent),
            None => self.push(wait, from, to, parent),
        }
    }

    /// Fills a wait's time with what a thread did that no wakeup names.
    fn infer(
        &mut self,
        wait: IntervalId,
        range: (Time, Time),
        thread: ThreadId,
        parent: Option<LinkId>,
    ) {
        let link = link_id(self.chain.links.len());
        self.chain.links.push(Link { wait, parent, by: thread, inferred: true });
        self.follow(thread, range, Some(link));
    }

    fn push(&mut self, interval: IntervalId, from: Time, to: Time, link: Option<LinkId>) {
        if from < to {
            self.chain.segments.push(Segment {
                start: from,
                length: to.since(from),
                interval,
                link,
            });
        }
    }

    /// Every thread's time but its idle waits. Waits are followed first, so that work which
    /// somebody waited for carries that wait; what is left of each thread's work then counts for
    /// itself.
    fn service(&mut self) {
        let Source { recording, lives, stacks, range, .. } = *self.source;
        let idle = Idle::of(recording, lives, stacks);
        let end = Time(recording.meta.wall.0).min(range.1);
        self.chain.wall = end.since(range.0);
        let clip =
            |i: &Interval| (i.start.max(range.0), (i.start + i.duration).min(end).max(range.0));
        let source = self.source;
        let measured = |i: &&Interval| source.measures(i.thread);
        let blocked = recording.intervals.iter().filter(measured).filter(|i| i.cause.is_blocked());
        for interval in blocked {
            let (from, to) = clip(interval);
            let is_request = || source.serving.for_requests(recording, stacks, interval).is_some();
            if from < to && !idle.is_idle(interval) && !is_request() {
                self.follow(interval.thread, (from, to), None);
            }
        }
        let left = self.count_once((range.0, end));
        for (row, interval) in recording.intervals.iter().enumerate() {
            if !interval.cause.is_blocked() && source.measures(interval.thread) {
                let (from, _) = clip(interval);
                self.push(IntervalId::from_index(row), from, from + left[row], None);
            }
        }
    }

    /// The whole time of the threads that the user selected, each wait followed.
    fn selected(&mut self, (from, to): (Time, Time)) {
        let source = self.source;
        for (at, row) in source.recording.threads.iter().enumerate() {
            let thread = ThreadId::from_index(at);
            let life = (row.start.max(from), source.recording.thread_end(thread).min(to));
            if source.measures(thread) && life.0 < life.1 && !source.lives.rows(thread).is_empty() {
                self.follow(thread, life, None);
            }
        }
        self.count_once((from, to));
    }

    /// Cuts segments so that no interval counts for more than its length in the range, however many
    /// waited for it. Returns what is left of each interval.
    fn count_once(&mut self, (start, end): (Time, Time)) -> Vec<Nanos> {
        let length = |i: &Interval| (i.start + i.duration).min(end).since(i.start.max(start));
        let mut left: Vec<Nanos> = self.source.recording.intervals.iter().map(length).collect();
        for segment in &mut self.chain.segments {
            let left = &mut left[segment.interval.index()];
            segment.length = segment.length.min(*left);
            *left = left.saturating_sub(segment.length);
        }
        self.chain.segments.retain(|s| s.length > Nanos::ZERO);
        left
    }
}

fn link_id(index: usize) -> LinkId {
    LinkId(Row::from_index(index))
}
