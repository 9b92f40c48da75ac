//! `log-driver-backpressure`: printing waits for the engine's log driver.

use culprit_model::{Cause, Interval, LossKind, Text, ThreadId};

use crate::evidence::{Evidence, Segment};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct LogDriverBackpressure;

/// How the places begin whose commands an engine starts, with pipes of its own for what they print.
const ENGINES: [&str; 3] = ["docker:", "podman:", "container:"];

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "log-driver-backpressure",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    claim: "What the program prints is taken away more slowly than it is printed, so printing waits.",
    signature: "In a container, blocked in a write to a full pipe that somebody outside the recording \
                empties, on the measured thing's path: every pipe within the container has both of its \
                ends in the recording. `culprit bench log`: lines to standard output with the engine's \
                log driver against the same container without one, round by round.",
    why: "Standard output of a container is a pipe to the engine, which formats and writes each line \
          (json-file: one JSON object a line). When the pipe is full, the program's write blocks, and in \
          most programs a lock of the logger with it.",
    fix: "Print less, or to a file in a volume; let the engine buffer (`--log-opt mode=non-blocking \
          --log-opt max-buffer-size=4m`, which drops lines when it is full), or choose another driver \
          (`--log-driver local`).",
    check: "culprit record -o fixed.culprit -- CMD; this finding's cost must shrink. culprit bench log \
            --place docker:IMAGE,log=none --place docker:IMAGE measures what the driver adds to a line",
    thresholds: &[],
};

impl Rule for LogDriverBackpressure {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let recording = evidence.recording;
        let inside = ENGINES.iter().any(|engine| recording.meta.place.starts_with(engine));
        // Without wakeups nobody knows who empties a pipe.
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
    let title = format!(
        "{} waits {COST} to print: the pipe is full, and {reader} empties it from outside the container",
        evidence.recording.thread_name(t.key)
    );
    Claim::new(&DOC, title, t.segments).at(Site::Entry).sure(0.85).fact(
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
