//! `log-driver-backpressure`: a program waits to print because the engine reads too slowly.

use culprit_model::{Cause, Interval, LossKind, Text, ThreadId};

use crate::evidence::{Evidence, Segment};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct LogDriverBackpressure;

/// Prefixes of places where an engine starts the command and reads its output through pipes.
const ENGINES: [&str; 3] = ["docker:", "podman:", "container:"];

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "log-driver-backpressure",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program waits to print because the container engine reads its output too slowly.",
    signature: "In a container, a thread on the critical path is blocked writing to a full pipe. \
                The reader of the pipe was not recorded, so it runs outside the container. \
                `culprit bench log` compares lines printed with the engine's log driver and \
                without one, round by round.",
    not_reported: &[
        "a pipe between two processes of the container (`pipe-backpressure`)",
        "a pipe of a program outside a container (`pipe-backpressure`)",
        "recordings without wakeups: the reader of a pipe is unknown",
    ],
    why: "The standard output of a container is a pipe to the engine. The engine formats and \
          writes each line (`json-file`: one JSON object a line). When the pipe is full, the \
          program's write blocks, in most programs while it holds the logger's lock.",
    fix: &[
        "Print fewer lines, for example with a less verbose log level.",
        "Write the log to a file in a volume.",
        "Let the engine buffer lines: `--log-opt mode=non-blocking --log-opt max-buffer-size=4m` \
         (a full buffer drops lines).",
        "Choose another log driver: `--log-driver local`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; this finding's cost must be smaller than before (the driver \
            alone: culprit bench log --place docker:IMAGE,log=none --place docker:IMAGE)",
    thresholds: &[],
};

impl Rule for LogDriverBackpressure {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let recording = evidence.recording;
        let inside = ENGINES.iter().any(|engine| recording.meta.place.starts_with(engine));
        // Without wakeups the reader of a pipe is unknown.
        let blind = recording.losses.iter().any(|l| l.kind == LossKind::WakersMissing);
        if !inside || blind {
            return Vec::new();
        }
        let writes = |i: &Interval| evidence.stacks.writes(i.stack);
        let held = evidence
            .segments(|_, i| i.cause == Cause::Pipe && writes(i) && is_outside(evidence, i.waker));
        let thread = |s: &Segment| Some(evidence.of_segment(s).thread);
        tally::by(evidence, &held, thread).into_iter().map(|t| told(evidence, t)).collect()
    }
}

/// True for a waker that was not recorded.
fn is_outside(evidence: &Evidence<'_>, waker: Option<ThreadId>) -> bool {
    waker.is_none_or(|thread| !evidence.recording.process(evidence.process(thread)).recorded)
}

fn told(evidence: &Evidence<'_>, t: Tally<ThreadId>) -> Claim {
    let waits = evidence.waits(&t.segments);
    let wakers = waits.iter().filter_map(|w| evidence.interval(*w).waker);
    let readers: Vec<Text> = wakers
        .map(|thread| evidence.recording.process(evidence.process(thread)).name.clone())
        .filter(|name| !name.is_empty())
        .collect();
    let reader = match readers.first() {
        Some(name) => format!("the engine's log reader ({name})"),
        None => "the engine's log reader".to_owned(),
    };
    let whole = evidence.chain.whole;
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) in `{}` to print: its output pipe is full until \
         {reader} empties it",
        evidence.recording.thread_name(t.key),
        kernel_time::caller(evidence, &t.segments),
    );
    Claim::new(&DOC, title, t.segments).share_of(whole).at(Site::Entry).sure(0.85).fact(
        "waits for room in the pipe",
        waits.len() as f64,
        "count",
    )
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    fn printing(place: &str, reader_inside: bool) -> Recording {
        let write = "main;print;libc.so.6!write;k:__x64_sys_write;k:anon_pipe_write";
        let mut scene = Scene::default();
        let main = scene.program("spam", None, 0);
        let reader = scene.program("shim", None, 0);
        for _ in 0..20 {
            scene.run(main, 10, Cause::CpuUser, "main;print");
            scene.wait(main, 40, Cause::Pipe, write, End::By(reader));
        }
        scene.recording.processes[1].recorded = reader_inside;
        let mut recording = scene.done();
        recording.meta.place = place.to_owned();
        recording
    }

    #[test]
    fn a_pipe_that_is_emptied_from_outside_a_container_is_the_engines() {
        let found = first(&printing("docker:x", false), "log-driver-backpressure").expect("found");
        assert_eq!(found.cost.0, 800_000_000);
        assert!(
            found.title.starts_with("spam (100) waits 800 ms of 1.00 s (80 %) in `program!print`"),
            "{}",
            found.title
        );
        assert!(found.title.contains("the engine's log reader (shim)"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "print");
    }

    #[test]
    fn a_pipe_within_the_container_or_on_the_host_is_not() {
        for recording in [printing("docker:x", true), printing("host", false)] {
            assert!(first(&recording, "log-driver-backpressure").is_none());
            assert!(first(&recording, "pipe-backpressure").is_some());
        }
    }
}
