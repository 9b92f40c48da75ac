//! `repeated-work`: the same program runs many times with the same arguments.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Nanos, ProcessId, Severity, StackId, Text, ThreadId};

use crate::evidence::relation::executed;
use crate::evidence::{Evidence, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::settle::{MEDIUM_SHARE, severity_of};

/// The rule.
pub(crate) struct RepeatedWork;

/// Runs of one command line from which they are reported.
const MIN_RUNS: usize = 5;

/// Time of one run on the critical path from which it is more than the start of a program.
const MIN_EACH: Nanos = Nanos(20_000_000);

/// Spread of the runs' CPU time (interquartile range / median) up to which they do the same work.
const MAX_SPREAD: f64 = 0.25;

/// Runs from which the repetition itself is the reason: a loop over items, and not what each run does.
const MIN_LOOP: usize = 50;

/// Characters of a command line that a title shows.
const SHOWN: usize = 60;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "repeated-work",
    group: Group::Cpu,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "The same program runs many times with the same arguments.",
    signature: "Several processes ran with the same arguments (at least one) and used about the \
                same CPU time. Their work, including their children's, lies on the critical path. \
                With dozens of runs, that time counts for this finding. With fewer, other findings \
                explain it, and this one reports that it was spent repeatedly.",
    not_reported: &[
        "runs shorter than 20 ms: see `spawn-storm`",
        "runs whose CPU time varies: their input differs",
        "commands that run only inside other repeated commands",
    ],
    why: "If nothing changes between the runs, each gives the same answer, and all but the first \
          are wasted. The recording does not show what a run reads from standard input, files and \
          the environment.",
    fix: &[
        "Run the command once and keep its answer in a shell variable, a field or a file.",
        "Pass many items to one run instead of starting a run for each.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the number of runs in `culprit findings \
            fixed.culprit` must fall",
    thresholds: &[
        Threshold {
            what: "runs of one command line",
            value: MIN_RUNS as f64,
            unit: "count",
            reason: "A script may run a command two or three times between its steps. At double, \
                     loops over a handful of items would be missed.",
            source: "definition",
        },
        Threshold {
            what: "runs of one command line from which their time counts for this finding",
            value: MIN_LOOP as f64,
            unit: "count",
            reason: "So many equal runs are a loop over items, each with a run of its own. With fewer, what a \
                     run does may be as much the reason. At half, a script that builds some dozen parts \
                     would count.",
            source: "definition",
        },
        Threshold {
            what: "time of one run on the critical path",
            value: MIN_EACH.0 as f64,
            unit: "ns",
            reason: "A shorter run costs about as much as starting a program: see `spawn-storm`.",
            source: "python3 -c pass 41 ms, perl -e 1 3 ms, Linux 6.18, 2 CPUs",
        },
        Threshold {
            what: "spread of the runs' CPU time (interquartile range / median)",
            value: MAX_SPREAD,
            unit: "share",
            reason: "Runs with different input use different CPU time. The same work repeated \
                     remains within this spread, also on busy machines.",
            source: "definition",
        },
        Threshold {
            what: "share of the measured time",
            value: MEDIUM_SHARE,
            unit: "share",
            reason: "Below the medium severity bound, running the command again may be the \
                     simplest way.",
            source: "definition",
        },
    ],
};

impl Rule for RepeatedWork {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let groups = groups(evidence);
        if groups.is_empty() {
            return Vec::new();
        }
        let runs = Runs::of(evidence, &groups);
        let mut told: Vec<_> =
            groups.iter().filter_map(|(line, group)| told(evidence, line, group, &runs)).collect();
        told.sort_by_key(|(total, _)| std::cmp::Reverse(*total));
        told.into_iter().map(|(_, claim)| claim).collect()
    }
}

/// Command lines that were executed often enough, with the processes; without those that only run
/// inside of others, because the outermost is what the program asks for.
fn groups(evidence: &Evidence<'_>) -> BTreeMap<Text, Vec<ProcessId>> {
    let recording = evidence.recording;
    let mut groups: BTreeMap<Text, Vec<ProcessId>> = BTreeMap::new();
    for id in executed(recording).into_keys() {
        let process = recording.process(id);
        let line = &process.command_line;
        let is_told = process.recorded && process.parent.is_some() && line.as_str().contains(' ');
        if is_told && recording.meta.root_process != Some(id) {
            groups.entry(line.clone()).or_default().push(id);
        }
    }
    groups.retain(|_, group| group.len() >= MIN_RUNS);
    let all: BTreeSet<ProcessId> = groups.values().flatten().copied().collect();
    groups.retain(|_, group| !group.iter().all(|id| ancestor_in(evidence, *id, &all).is_some()));
    groups
}

/// The innermost of these processes above one.
fn ancestor_in(
    evidence: &Evidence<'_>,
    process: ProcessId,
    those: &BTreeSet<ProcessId>,
) -> Option<ProcessId> {
    let parent = |id: ProcessId| evidence.recording.process(id).parent;
    std::iter::successors(parent(process), |id| parent(*id)).find(|id| those.contains(id))
}

/// Time by where it passed.
type Places = BTreeMap<(ThreadId, StackId), Nanos>;

/// What a run took on the path.
#[derive(Default)]
struct OnPath {
    total: Nanos,
    places: Places,
    segments: Vec<SegmentId>,
}

/// What the runs took, each with its children.
struct Runs {
    /// On the path, and where.
    on_path: BTreeMap<ProcessId, OnPath>,
    /// On CPUs.
    cpu: BTreeMap<ProcessId, Nanos>,
}

impl Runs {
    fn of(evidence: &Evidence<'_>, groups: &BTreeMap<Text, Vec<ProcessId>>) -> Self {
        let all: BTreeSet<ProcessId> = groups.values().flatten().copied().collect();
        let run_of: Vec<Option<ProcessId>> = (0..evidence.recording.processes.len())
            .map(ProcessId::from_index)
            .map(|id| Some(id).filter(|id| all.contains(id)).or(ancestor_in(evidence, id, &all)))
            .collect();
        let run = |thread: ThreadId| run_of[evidence.process(thread).index()];
        let mut runs = Self { on_path: BTreeMap::new(), cpu: BTreeMap::new() };
        for (id, segment) in evidence.chain.iter() {
            let interval = evidence.of_segment(segment);
            if let Some(run) = run(interval.thread).filter(|_| is_work(interval.cause)) {
                let of_run = runs.on_path.entry(run).or_default();
                of_run.total += segment.length;
                of_run.segments.push(id);
                if let Some(stack) = interval.stack {
                    *of_run.places.entry((interval.thread, stack)).or_default() += segment.length;
                }
            }
        }
        for interval in evidence.recording.intervals.iter().filter(|i| i.cause.is_cpu()) {
            if let Some(run) = run(interval.thread) {
                *runs.cpu.entry(run).or_default() += interval.duration;
            }
        }
        runs
    }

    /// Distance of the quartiles of the CPU time of these runs by its median.
    fn spread(&self, group: &[ProcessId]) -> f64 {
        let mut cpu: Vec<u64> =
            group.iter().map(|id| self.cpu.get(id).map_or(0, |cpu| cpu.0)).collect();
        cpu.sort_unstable();
        let at = |quarter: usize| cpu[(cpu.len() - 1) * quarter / 4] as f64;
        if at(2) > 0.0 { (at(3) - at(1)) / at(2) } else { f64::INFINITY }
    }
}

/// True for what a run works and waits for by itself: what it sleeps is for another rule.
fn is_work(cause: Cause) -> bool {
    let waits = matches!(cause, Cause::Disk | Cause::Fsync | Cause::Fault | Cause::Net);
    cause.is_cpu() || cause == Cause::Runnable || waits
}

fn told(
    evidence: &Evidence<'_>,
    line: &Text,
    group: &[ProcessId],
    runs: &Runs,
) -> Option<(Nanos, Claim)> {
    let on_path = || group.iter().filter_map(|id| runs.on_path.get(id));
    let total: Nanos = on_path().map(|of_run| of_run.total).sum();
    let each = Nanos(total.0 / group.len() as u64);
    let share = total.share_of(evidence.chain.whole);
    let spread = runs.spread(group);
    if each < MIN_EACH || share < MEDIUM_SHARE || spread > MAX_SPREAD {
        return None;
    }
    let runs_and_each = format!("`{}` runs {} times: {each} each", shown(line), group.len());
    let whole = evidence.chain.whole;
    let claim = if group.len() >= MIN_LOOP {
        let title = format!("{runs_and_each}, {COST} of {whole} in total");
        let segments = on_path().flat_map(|of_run| &of_run.segments).copied().collect();
        let claim = Claim::new(&DOC, title, segments).at(Site::Work);
        Claim { at_most: Severity::Medium, specificity: Specificity::Mechanism, ..claim }
    } else {
        let mut places = Places::new();
        for (at, time) in on_path().flat_map(|of_run| &of_run.places) {
            *places.entry(*at).or_default() += *time;
        }
        let costliest = places.into_iter().max_by_key(|(_, time)| *time).map(|(at, _)| at);
        let title = format!("{runs_and_each}, {total} of {whole} in total");
        let severity = severity_of(share).min(Severity::Medium);
        Claim::statement(&DOC, title, severity).pointing(costliest.into_iter().collect())
    };
    let claim = claim
        .sure(0.8)
        .fact("runs with the same arguments", group.len() as f64, "count")
        .time("mean time of one run on the critical path", each)
        .time("time of all runs on the critical path", total)
        .fact("share of the measured time", share, "share")
        .fact("spread of their CPU time (interquartile range / median)", spread, "share");
    Some((total, claim))
}

/// A command line as titles have it: cut, and without what looks like a secret and follows it.
fn shown(line: &str) -> String {
    const SECRETS: [&str; 6] = ["pass", "secret", "token", "authorization", "apikey", "api_key"];
    let is_secret = |word: &&str| {
        let word = word.to_ascii_lowercase();
        SECRETS.iter().any(|secret| word.contains(secret))
    };
    let words: Vec<&str> = line.split(' ').collect();
    let plain: Vec<&str> = words.iter().copied().take_while(|word| !is_secret(word)).collect();
    let text = plain.join(" ").replace('`', "'");
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() || plain.len() < words.len() { format!("{cut} ...") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{End, Scene, first};
    use culprit_model::Recording;

    const WAIT: &str = "main;render;libc.so.6!wait4;k:do_wait";

    /// A parent that runs a tool once for each of these arguments and lengths.
    fn with(runs: &[(&str, u64)]) -> Recording {
        let mut scene = Scene::default();
        let parent = scene.program("site", None, 0);
        let mut born = 0;
        for (argument, ms) in runs {
            let child = scene.program("tool", Some(parent), born);
            scene.run(child, *ms, Cause::CpuUser, "main;load;parse");
            scene.wait(parent, *ms, Cause::Child, WAIT, End::By(child));
            born += ms;
            let process = scene.recording.thread(child).process;
            scene.recording.processes[process.index()].command_line =
                format!("tool --load {argument}").into();
            scene.executes(child);
        }
        scene.done()
    }

    #[test]
    fn the_same_run_again_and_again_is_told_beside_what_explains_its_time() {
        let recording = with(&[("site.conf", 100); 8]);
        let found = first(&recording, "repeated-work").expect("found");
        assert_eq!(
            found.title,
            "`tool --load site.conf` runs 8 times: 100 ms each, 800 ms of 800 ms in total"
        );
        assert_eq!((found.cost, found.severity), (Nanos::ZERO, Severity::Medium));
        assert_eq!(&*found.at[0].function, "parse");
    }

    #[test]
    fn a_run_for_each_item_is_the_reason_and_not_what_a_run_does() {
        let recording = with(&[("-r .country", 27); 160]);
        let found = first(&recording, "repeated-work").expect("found");
        assert_eq!(
            found.title,
            "`tool --load -r .country` runs 160 times: 27.0 ms each, 4.32 s of 4.32 s in total"
        );
        assert_eq!((found.cost.0, found.severity), (4_320_000_000, Severity::Medium));
        assert_eq!(
            crate::scene::told(&recording).first().map(String::as_str),
            Some("repeated-work 4320")
        );
    }

    #[test]
    fn other_arguments_other_work_and_few_runs_are_not() {
        let told = |runs: &[(&str, u64)]| first(&with(runs), "repeated-work").is_some();
        let names = ["a", "b", "c", "d", "e", "f"].map(|name| (name, 100));
        assert!(!told(&names));
        let lengths = [30, 60, 90, 120, 150, 180].map(|ms| ("same", ms));
        assert!(!told(&lengths));
        assert!(!told(&[("same", 100); 4]));
        assert!(!told(&[("same", 10); 8]));
    }

    #[test]
    fn titles_show_no_secrets() {
        assert_eq!(shown("curl -s http://x/"), "curl -s http://x/");
        assert_eq!(shown("client --password hunter2 host"), "client ...");
        assert_eq!(shown(&"x".repeat(99)), format!("{} ...", "x".repeat(60)));
    }
}
