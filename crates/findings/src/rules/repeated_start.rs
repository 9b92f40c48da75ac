//! `repeated-start`: processes replace each other, and each loads the same program and modules again.

use std::collections::BTreeMap;

use culprit_model::{Interval, Nanos, Process, ProcessId, Text};

use super::spawn_storm::{by_function, is_running_cost, is_start};
use crate::evidence::{Evidence, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct RepeatedStart;

/// Processes that took another one's place, from which they are reported.
const MIN_REPLACED: usize = 5;

/// Time that one spends on its start from which it is more than that of a small program.
const MIN_EACH: Nanos = Nanos(50_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "repeated-start",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &["spawn-storm"],
    claim: "Processes of one program replace each other, and each loads its code and modules again.",
    signature: "Several processes of one name began after another one of them had ended. Each spent time \
                with loading modules, linking and compiling code, and that time lies on the critical path.",
    not_reported: &[
        "processes that begin beside each other: a pool of workers is started once",
        "what the processes do once they are loaded",
    ],
    why: "A worker that is ended after some requests, or a program that is run once for each item, prepares \
          itself again each time. Requests wait for it meanwhile.",
    fix: &[
        "Keep a worker for many thousands of requests: gunicorn `--max-requests`, PHP `pm.max_requests`, \
         uWSGI `max-requests`, a pool's `maxtasksperchild`.",
        "Load modules and data before the workers are forked: gunicorn `--preload`.",
        "Give all items to one run of the program.",
        "If workers end because they grow or fail, correct that first.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the number of processes in `culprit findings \
            fixed.culprit` must fall",
    thresholds: &[
        Threshold {
            what: "processes that replace another one",
            value: MIN_REPLACED as f64,
            unit: "count",
            reason: "A script runs a program two or three times between its steps. At double, a server that \
                     replaces a worker each second would be left out in a recording of some seconds.",
            source: "definition",
        },
        Threshold {
            what: "mean time of one start",
            value: MIN_EACH.0 as f64,
            unit: "ns",
            reason: "An interpreter without modules needs nearly as much. At half, scripts that run small \
                     tools would be reported, which `spawn-storm` counts from 20 on; at double, modules of \
                     the standard library alone would be left out.",
            source: "python3 -c pass 41 ms, Linux 6.18, 2 CPUs",
        },
    ],
};

impl Rule for RepeatedStart {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let groups = groups(evidence);
        if groups.is_empty() {
            return Vec::new();
        }
        let group = |id: ProcessId| evidence.recording.process(id).name.clone();
        let starts = evidence.segments(|_, i| {
            let is_one = groups.contains_key(&group(evidence.process(i.thread)));
            is_one && is_running_cost(i.cause) && is_start(evidence, i)
        });
        let name = |s: &Segment| Some(group(evidence.process(evidence.of_segment(s).thread)));
        let tallies = tally::by(evidence, &starts, name);
        tallies.iter().filter_map(|tally| told(evidence, &groups[&tally.key], tally)).collect()
    }
}

/// Processes by name, of which enough began after another one of them had ended.
fn groups(evidence: &Evidence<'_>) -> BTreeMap<Text, Vec<ProcessId>> {
    let recording = evidence.recording;
    let mut groups: BTreeMap<Text, Vec<ProcessId>> = BTreeMap::new();
    for id in (0..recording.processes.len()).map(ProcessId::from_index) {
        let process = recording.process(id);
        let is_root = recording.meta.root_process == Some(id);
        if process.recorded && process.parent.is_some() && !is_root {
            groups.entry(process.name.clone()).or_default().push(id);
        }
    }
    groups.retain(|_, group| replaced(recording.processes.as_slice(), group) >= MIN_REPLACED);
    groups
}

/// How many of some processes began after another one had ended, each of which is replaced once.
fn replaced(processes: &[Process], group: &[ProcessId]) -> usize {
    let mut starts: Vec<_> = group.iter().map(|id| processes[id.index()].start).collect();
    let mut ends: Vec<_> = group.iter().filter_map(|id| processes[id.index()].end).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let mut open = ends.iter().peekable();
    starts.iter().filter(|start| open.next_if(|end| end <= start).is_some()).count()
}

fn told(evidence: &Evidence<'_>, group: &[ProcessId], tally: &Tally<Text>) -> Option<Claim> {
    let each = Nanos(evidence.total(&tally.segments).0 / group.len() as u64);
    if each < MIN_EACH {
        return None;
    }
    let count = group.len();
    let title = format!(
        "`{}` is started {count} times, and loads its code again each time: {COST} of {} ({PERCENT})",
        tally.key, evidence.chain.whole
    );
    let rows = |ids: &[SegmentId]| -> Vec<&Interval> {
        ids.iter().map(|s| evidence.of_segment(evidence.chain.segment(*s))).collect()
    };
    let places = by_function(evidence, rows(&tally.segments).into_iter());
    let replaced = replaced(&evidence.recording.processes, group);
    let claim = Claim::new(&DOC, title, tally.segments.clone())
        .share_of(evidence.chain.whole)
        .fact("processes", count as f64, "count")
        .fact("of these began after another one had ended", replaced as f64, "count")
        .time("mean time of one start", each)
        .pointing(places);
    Some(claim)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    const LOAD: &str = "main;py::<module>:/srv/app.py;py::_find_and_load:<frozen importlib._bootstrap>;py::read:/srv/model.py";
    const WORK: &str = "main;py::<module>:/srv/app.py;py::answer:/srv/app.py";

    /// Workers of a server, one after the other or all at once.
    fn workers(count: u64, load_ms: u64, in_turn: bool) -> Recording {
        let mut scene = Scene::default();
        let server = scene.program("server", None, 0);
        let mut born = 0;
        for _ in 0..count {
            let worker = scene.program("worker", Some(server), born);
            scene.run(worker, load_ms, Cause::CpuUser, LOAD);
            scene.run(worker, 200, Cause::CpuUser, WORK);
            if in_turn {
                born += load_ms + 200;
                let wait = "main;libc.so.6!wait4;k:do_wait";
                scene.wait(server, load_ms + 200, Cause::Child, wait, End::By(worker));
            }
        }
        scene.done()
    }

    #[test]
    fn workers_that_replace_each_other_are_told_with_what_their_starts_take() {
        let found = first(&workers(8, 300, true), "repeated-start").expect("found");
        assert_eq!(found.cost.0, 8 * 300 * crate::scene::MS, "their work is told elsewhere");
        assert!(found.title.contains("started 8 times"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "py::read:/srv/model.py");
    }

    #[test]
    fn a_pool_few_starts_and_short_ones_are_not_told() {
        for (count, load_ms, in_turn) in [(8, 300, false), (4, 300, true), (8, 20, true)] {
            let recording = workers(count, load_ms, in_turn);
            assert!(first(&recording, "repeated-start").is_none(), "{count} {load_ms} {in_turn}");
        }
    }
}
