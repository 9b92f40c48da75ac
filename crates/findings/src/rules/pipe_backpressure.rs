//! `pipe-backpressure`: a writer waits on a full pipe, or a reader on an empty one, because the
//! other end is slow.

use std::collections::BTreeSet;

use culprit_engine::wakers::is_descendant;
use culprit_model::{ProcessId, Severity, StackId, ThreadId};

use crate::evidence::relation::is_for_output;
use crate::evidence::{Evidence, Relation, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct PipeBackpressure;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "pipe-backpressure",
    group: Group::Waiting,
    specificity: Specificity::Relation,
    yields_to: &[],
    claim: "One end of a pipe waits for the other: the writer for room, or the reader for data.",
    signature: "A thread on the critical path is blocked in the read, write or open of a pipe or \
                FIFO. A poll counts if a pipe ended it. The work of the other end fills the time.",
    not_reported: &["a process that waits for the output of its own child (`wait-on-child`)"],
    why: "A pipe holds 64 KiB: when it is full or empty, the faster end runs at the pace of the \
          slower one. Only the work of the slower end counts. In a shell's pipeline the slowest \
          stage always sets the pace: a wait for a stage that computes is of low severity at most.",
    fix: &[
        "Make the slow end faster: its work is listed under \"meanwhile\".",
        "Write larger blocks to save context switches.",
        "If both ends are fast but uneven, enlarge the buffer: `fcntl(F_SETPIPE_SZ)`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `pipe-backpressure` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[],
};

impl Rule for PipeBackpressure {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let waiting = evidence.depending_on(Relation::Pipe);
        let key = |s: &Segment| {
            let wait = wait_of(evidence, s);
            let own = evidence.of_segment(s);
            let by = if own == wait { own.waker.unwrap_or(own.thread) } else { own.thread };
            (!is_for_output(evidence, wait, by))
                .then(|| (wait.thread, End::of(evidence, wait.stack)))
        };
        tally::by(evidence, &waiting, key).into_iter().map(|t| told(evidence, t)).collect()
    }
}

/// The pipe's wait that a segment fills, or is.
fn wait_of<'a>(evidence: &Evidence<'a>, segment: &Segment) -> &'a culprit_model::Interval {
    let own = evidence.of_segment(segment);
    match evidence.chain.links(segment).next() {
        Some(link) if own.cause != culprit_model::Cause::Pipe => evidence.interval(link.wait),
        _ => own,
    }
}

/// Which end of a pipe a wait is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Reads,
    Writes,
    /// Without rights, the stacks of waits are not seen.
    Unknown,
}

impl End {
    fn of(evidence: &Evidence<'_>, stack: Option<StackId>) -> Self {
        let is_named = |frame| evidence.recording.frame(frame).function.as_str() != "?";
        let is_seen = evidence.stacks.entry(stack).is_some()
            || evidence.stacks.user(stack).is_some_and(is_named);
        match evidence.stacks.writes(stack) {
            true => Self::Writes,
            false if is_seen => Self::Reads,
            false => Self::Unknown,
        }
    }

    /// What a thread at this end waits for, before the name of who is at the other end.
    const fn waits_for(self) -> &'static str {
        match self {
            Self::Reads => "for data from a pipe written by",
            Self::Writes => "for room in a pipe read by",
            Self::Unknown => "at a pipe for",
        }
    }
}

fn told(evidence: &Evidence<'_>, t: Tally<(ThreadId, End)>) -> Claim {
    let (waiter, end) = t.key;
    let threads = t.segments.iter().map(|s| evidence.of_segment(evidence.chain.segment(*s)).thread);
    let others: BTreeSet<ThreadId> = threads.filter(|thread| *thread != waiter).collect();
    let others = others.into_iter().map(|thread| evidence.recording.thread_name(thread));
    let whole = evidence.chain.whole;
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) {} {}",
        evidence.recording.thread_name(waiter),
        end.waits_for(),
        tally::named(others.collect()),
    );
    let waits = evidence.waits(&t.segments);
    let meanwhile = tally::done(evidence, &t.segments, 3);
    let at_most =
        if is_pipelined(evidence, waiter, &t.segments) { Severity::Low } else { Severity::High };
    let claim = Claim::new(&DOC, title, t.segments)
        .share_of(whole)
        .at(Site::WaitThenWork)
        .sure(0.9)
        .fact("waits for the other end", waits.len() as f64, "count")
        .facts(meanwhile);
    Claim { at_most, ..claim }
}

/// True for a stage of a pipeline that waits for another stage which computes most of the time: a shell
/// above both has started them, be it through a shell of its own for `{ ...; }`.
fn is_pipelined(evidence: &Evidence<'_>, waiter: ThreadId, segments: &[SegmentId]) -> bool {
    let recording = evidence.recording;
    let stage = evidence.process(waiter);
    let started = |process: ProcessId| recording.process(process).parent.is_some();
    let computes = |id: &SegmentId| {
        let interval = evidence.of_segment(evidence.chain.segment(*id));
        let other = evidence.process(interval.thread);
        let apart = other != stage
            && !is_descendant(recording, other, stage)
            && !is_descendant(recording, stage, other);
        interval.cause.is_cpu() && apart && started(stage) && started(other)
    };
    let computed: Vec<_> = segments.iter().copied().filter(computes).collect();
    evidence.total(&computed).0 * 2 > evidence.total(segments).0
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording, Severity};

    const WRITE: &str = "main;emit;libc.so.6!write;k:__x64_sys_write;k:anon_pipe_write";

    fn pipeline(slow_reader: bool) -> Recording {
        waiting(slow_reader, WRITE)
    }

    fn waiting(slow_reader: bool, write: &str) -> Recording {
        let mut scene = Scene::default();
        let writer = scene.program("gen", None, 0);
        let reader = scene.program("pack", None, 0);
        for _ in 0..10 {
            if slow_reader {
                for step in 0..10 {
                    scene.run(reader, 10, Cause::CpuUser, &format!("main;pack{step}"));
                }
                scene.wait(writer, 99, Cause::Pipe, write, End::By(reader));
                scene.run(writer, 1, Cause::CpuUser, "main;emit");
            } else {
                scene.run(writer, 100, Cause::CpuUser, "main;emit");
                let read = "main;pack;libc.so.6!read;k:__x64_sys_read;k:anon_pipe_read";
                scene.wait(reader, 100, Cause::Pipe, read, End::By(writer));
            }
        }
        scene.done()
    }

    #[test]
    fn a_writer_held_up_by_its_reader_names_the_slow_end() {
        let found = first(&pipeline(true), "pipe-backpressure").expect("found");
        assert_eq!(found.cost.0, 990_000_000);
        let title = "gen (100) waits 990 ms of 1.00 s (99 %) for room in a pipe read by pack (101)";
        assert_eq!(found.title, title);
    }

    #[test]
    fn which_end_a_wait_is_at_is_not_guessed() {
        let found = first(&waiting(true, "gen!?"), "pipe-backpressure").expect("found");
        let title = "gen (100) waits 990 ms of 1.00 s (99 %) at a pipe for pack (101)";
        assert_eq!(found.title, title);
    }

    #[test]
    fn stages_of_a_shells_pipeline_that_wait_for_one_that_computes_weigh_little() {
        let severity = |doing: Cause, grouped: bool| {
            let mut scene = Scene::default();
            let shell = scene.program("sh", None, 0);
            let first_shell = if grouped { scene.program("sh", Some(shell), 0) } else { shell };
            let (writer, reader) =
                (scene.program("sort", Some(first_shell), 0), scene.program("sum", Some(shell), 0));
            for step in 0..10 {
                scene.run(reader, 99, doing, &format!("main;sum{step}"));
                scene.wait(writer, 99, Cause::Pipe, WRITE, End::By(reader));
                scene.run(writer, 1, Cause::CpuUser, "main;emit");
                scene.run(reader, 1, Cause::CpuUser, "main;sum");
            }
            let wait = "main;waitpid;libc.so.6!wait4;k:do_wait";
            scene.wait(shell, 1000, Cause::Child, wait, End::By(writer));
            first(&scene.done(), "pipe-backpressure").map(|f| f.severity)
        };
        assert_eq!(severity(Cause::CpuUser, false), Some(Severity::Low));
        assert_eq!(severity(Cause::CpuUser, true), Some(Severity::Low), "of a group");
        assert_eq!(severity(Cause::Disk, false), Some(Severity::High));
    }

    #[test]
    fn a_reader_nobody_waits_for_is_healthy() {
        assert!(first(&pipeline(false), "pipe-backpressure").is_none());
    }
}
