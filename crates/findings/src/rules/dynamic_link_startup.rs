//! `dynamic-link-startup`: the dynamic linker's work before a program's own code begins.
//!
//! Before `main` only the linker is on a thread's stack. Two things are not counted:
//!
//! - The linker's later work, for `dlopen` or the first call of a function: the caller is below it.
//! - Constructors of libraries: they are the libraries' own work.

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::names::{Families, Family};
use culprit_model::{Interval, ModuleId, Nanos, ProcessId, Recording, Text};

use crate::evidence::{Doing, Evidence, Known, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold, fact};
use crate::tally;

/// The rule.
pub(crate) struct DynamicLinkStartup;

/// Share of the measured time.
const MIN_SHARE: f64 = 0.10;

/// Time below which nothing is said.
const MIN_TIME: Nanos = Nanos(10_000_000);

/// How many of the linker's functions a finding lists.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "dynamic-link-startup",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Programs spend their start-up on loading libraries and looking up symbols.",
    signature: "CPU time, page faults included, with only the dynamic linker on the stack before \
                `main`.",
    not_reported: &[
        "work in `dlopen`",
        "symbol lookup at the first call of a function",
        "constructors of libraries",
    ],
    why: "The linker opens and maps each library, and searches the libraries in order for each \
          symbol: the work grows with symbols times libraries. It also writes each page with a \
          relocated pointer, which copies the page. Every start repeats all of this.",
    fix: &[
        "Link statically, or join small libraries into one.",
        "Export only the interface (`-fvisibility=hidden`, a version script, `-Bsymbolic`): calls \
         within a library then need no search.",
        "Drop unused libraries (`-Wl,--as-needed`).",
        "Load rarely used libraries with `dlopen` when they are needed.",
        "Leave out `-z now` and `LD_BIND_NOW` where security allows.",
        "Keep one process alive instead of starting many.",
        "Run the program with `LD_DEBUG=statistics` to count the relocations.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; this finding's cost in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the measured time",
            value: MIN_SHARE,
            unit: "share",
            reason: "Below it, something else dominates the start. At half, every short program of \
                     a large framework would be reported.",
            source: "definition",
        },
        Threshold {
            what: "time",
            value: MIN_TIME.0 as f64,
            unit: "ns",
            reason: "A small program starts in 1 ms, which is most of its life and leaves nothing \
                     to gain. 10 ms are also ten clock samples at the usual rate, whose sum is \
                     known to a third.",
            source: "Poisson distribution",
        },
    ],
};

impl Rule for DynamicLinkStartup {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let linking = before_main(evidence);
        let is_linking = |d: &Doing| d.stack.is_some_and(|s| linking[s.index()]);
        let segments = evidence.doing(|d| d.cause.is_cpu() && is_linking(d));
        let own = evidence.total(&segments);
        if own < MIN_TIME || own.share_of(evidence.chain.whole) < MIN_SHARE {
            return Vec::new();
        }
        vec![told(evidence, &segments)]
    }
}

/// Which stacks have no user frame outside the dynamic linker, and begin at its start.
fn before_main(evidence: &Evidence<'_>) -> Vec<bool> {
    let recording = evidence.recording;
    let mut told: Vec<Option<bool>> = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        let below = node.parent.and_then(|p| told.get(p.index()).copied()).flatten();
        let Known { kernel, families, module, .. } = evidence.known.get(node.frame);
        told.push(match below {
            _ if kernel => below,
            None => Some(is_start(families, module)),
            // What musl's linker calls of the C library is in the same file.
            Some(below) => {
                let linker = module.has(Family::Linker)
                    && (module.has(Family::Musl) || families.has(Family::Link));
                Some(below && linker)
            }
        });
    }
    told.into_iter().map(|told| told == Some(true)).collect()
}

/// True for the function in which a dynamic linker begins. That of musl is the C library too, whose
/// other functions are roots where a stack is cut. Of other linkers, functions that running code enters
/// are roots as well where stacks are cut.
const fn is_start(function: Families, module: Families) -> bool {
    if module.has(Family::Musl) {
        return function.has(Family::LinkStart);
    }
    module.has(Family::Linker) && !function.has(Family::LinkLater)
}

fn told(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Claim {
    let processes: BTreeSet<ProcessId> = segments
        .iter()
        .map(|s| evidence.process(evidence.of_segment(evidence.chain.segment(*s)).thread))
        .collect();
    let most = most_libraries(evidence.recording, &processes);
    let who = match processes.first() {
        Some(one) if processes.len() == 1 => evidence.recording.process_name(*one),
        _ => format!("{} processes", processes.len()),
    };
    let verb = if processes.len() == 1 { "spends" } else { "spend" };
    let files = if most == 0 { "libraries".to_owned() } else { format!("{most} files") };
    let whole = evidence.chain.whole;
    let title =
        format!("{who} {verb} {COST} of {whole} ({PERCENT}) linking {files} before `main` begins");
    let functions = tally::by(evidence, segments, |s| Some(leaf(evidence, evidence.of_segment(s))));
    let functions = functions.into_iter().take(LISTED);
    let mut claim = Claim::new(&DOC, title, segments.to_vec())
        .share_of(whole)
        .time("time in the dynamic linker before `main`", evidence.total(segments))
        .fact("files of code mapped (most in one process)", most as f64, "count")
        .fact("processes", processes.len() as f64, "count")
        .facts(functions.map(|t| fact(format!("in {}", t.key), t.total.0 as f64, "ns")));
    if most == 0 {
        claim.confidence.lower("the recording does not say which files were mapped", 0.8);
    }
    claim
}

/// The innermost function of any kind.
fn leaf(evidence: &Evidence<'_>, interval: &Interval) -> Text {
    let node = interval.stack.and_then(|s| evidence.recording.stacks.get(s.index()));
    evidence.name(node.map(|node| node.frame))
}

/// How many files of code one of the processes mapped at most.
fn most_libraries(recording: &Recording, processes: &BTreeSet<ProcessId>) -> usize {
    let mut files: BTreeMap<ProcessId, BTreeSet<ModuleId>> = BTreeMap::new();
    for mapping in recording.mappings.iter().filter(|m| processes.contains(&m.process)) {
        if recording.module(mapping.module).path.starts_with('/') {
            files.entry(mapping.process).or_default().insert(mapping.module);
        }
    }
    files.values().map(BTreeSet::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    const LINKER: &str = "ld-linux-x86-64.so.2";

    fn start(linking: &str, ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("viewer", None, 0);
        for _ in 0..ms {
            scene.run(main, 1, Cause::CpuUser, linking);
        }
        scene.run(main, 100, Cause::CpuUser, "_start;main;show");
        scene.done()
    }

    #[test]
    fn a_start_in_the_linker_is_told() {
        for stack in [
            format!("{LINKER}!_start;{LINKER}!_dl_start;{LINKER}!_dl_relocate_object"),
            format!("{LINKER}!?;{LINKER}!?"),
            format!("{LINKER}!_dl_relocate_object;{LINKER}!do_lookup_x"),
            format!(
                "{LINKER}!_start;{LINKER}!_dl_relocate_object;k:asm_exc_page_fault;k:do_wp_page"
            ),
            "ld-musl-x86_64.so.1!_dlstart;ld-musl-x86_64.so.1!__dls3".to_owned(),
            "ld-musl-x86_64.so.1!_dlstart;ld-musl-x86_64.so.1!__dls3;ld-musl-x86_64.so.1!memset"
                .to_owned(),
        ] {
            let found = first(&start(&stack, 60), "dynamic-link-startup").expect(&stack);
            assert_eq!(found.cost.0 / 1_000_000, 60, "{stack}");
        }
    }

    #[test]
    fn what_the_linker_does_later_is_not_its_start() {
        for stack in [
            format!("_start;main;libc.so.6!dlopen;{LINKER}!_dl_open;{LINKER}!_dl_relocate_object"),
            format!("_start;main;{LINKER}!_dl_runtime_resolve;{LINKER}!_dl_fixup"),
            format!("{LINKER}!_start;{LINKER}!call_init;libx.so!register_all"),
            "ld-musl-x86_64.so.1!memcpy".to_owned(),
        ] {
            let found = first(&start(&stack, 60), "dynamic-link-startup");
            assert!(found.is_none(), "{stack}");
        }
    }

    #[test]
    fn an_ordinary_start_is_not_told() {
        let stack = format!("{LINKER}!_start;{LINKER}!_dl_relocate_object");
        assert!(first(&start(&stack, 3), "dynamic-link-startup").is_none());
    }
}
