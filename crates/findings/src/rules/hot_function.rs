//! `hot-function`: one function dominates the CPU time.
//!
//! First by self time, which includes what libraries and the kernel do for a function. If no
//! function has enough self time, the rule reports the deepest function that with its callees holds
//! most of the CPU time: the common caller of many small functions.

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::names::{Families, library};
use culprit_model::{Basis, Cause, FrameId, LossKind, Nanos, Severity, StackId, Text};

use crate::evidence::chores::Chores;
use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};
use crate::unnamed_code;

/// The rule.
pub(crate) struct HotFunction;

/// Share of the path's CPU time from which a function's own code is hot.
const MIN_SELF: f64 = 0.20;

/// Share of the path's CPU time from which a function is hot with what it calls.
const MIN_INCLUSIVE: f64 = 0.50;

/// The same from which all of the program goes through it, and it tells nothing.
const MAX_INCLUSIVE: f64 = 0.95;

/// Share of a function's time from which a library's function in it is named.
const MOST: f64 = 0.5;

/// Clock samples below which a share of them is a guess.
const ENOUGH_SAMPLES: f64 = 100.0;

/// Clock samples below which nothing is said, unless they stand for [`MIN_TIME`].
const MIN_SAMPLES: f64 = 10.0;

/// What [`MIN_SAMPLES`] stand for at the usual rate: with as much time, a few samples of a slower
/// clock are worth telling.
const MIN_TIME: Nanos = Nanos(10_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "hot-function",
    group: Group::Cpu,
    specificity: Specificity::Work,
    yields_to: &[],
    claim: "One function, alone or with its callees, takes a large share of CPU time.",
    signature: "A large share of the critical path's CPU time passes in the function, or in what \
                libraries, runtimes and the kernel do for it. If no function has that much, the deepest function on most stacks is reported. Without a function of the \
                application on the stack it is the library's function, or the system call.",
    not_reported: &[
        "code without function names (reported as `symbols-missing`), except the loop of an \
         interpreter",
        "traps of the recorder's own probes",
    ],
    why: "The time is computing, not waiting. The run gets shorter only if the function does less, \
          does it faster, or runs in parallel.",
    fix: &[
        "Find out where its time goes with `culprit callers` and `culprit tree`.",
        "Call the function less often, or give it less to do.",
        "Use a better algorithm or data layout.",
        "Spread the work over threads.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the function's share in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time on the critical path in the function itself and in libraries \
                   for it",
            value: MIN_SELF,
            unit: "share",
            reason: "Removing the function would save a fifth of the CPU time. In flat profiles \
                     the largest function has 5 \
                     to 15 %. At half, nearly every program would be reported; at double, only \
                     loops.",
            source: "definition",
        },
        Threshold {
            what: "share of CPU time with callees, when no function has enough itself",
            value: MIN_INCLUSIVE,
            unit: "share",
            reason: "Above half, one subtree decides the CPU time.",
            source: "definition",
        },
        Threshold {
            what: "share of CPU time with callees from which the function is not reported",
            value: MAX_INCLUSIVE,
            unit: "share",
            reason: "Nearly all stacks go through the program's main loop or its start, which says \
                     nothing. At half, the caller of everything hot would be left out; at 1, a few \
                     samples of the start would make the main loop a finding.",
            source: "definition",
        },
        Threshold {
            what: "clock samples below which the confidence falls",
            value: ENOUGH_SAMPLES,
            unit: "count",
            reason: "With 100 samples a share of 20 % is known to 4 points (binomial). With fewer, \
                     the confidence falls with the root of the count.",
            source: "binomial distribution",
        },
        Threshold {
            what: "clock samples below which a function with less than 10 ms is not reported",
            value: MIN_SAMPLES,
            unit: "count",
            reason: "With 10 samples the time of a function is known to a third (the root of the \
                     count). One or two samples name any function that happened to run. At 20, \
                     programs of 20 ms of CPU time would have no hot function.",
            source: "Poisson distribution",
        },
    ],
};

impl Rule for HotFunction {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let cpu = evidence.doing(|d| d.cause.is_cpu() && d.stack.is_some());
        let total = evidence.total(&cpu);
        let probed = evidence.recording.losses.iter().any(|l| l.kind == LossKind::ProbesCost);
        let own = tally::by_name(evidence, &cpu, |d| {
            let recorders = probed && evidence.function(*d).is_some_and(|f| is_trap(evidence, f));
            owner(evidence, d).filter(|_| !recorders)
        });
        let hot: Vec<_> = own
            .into_iter()
            .filter(|t| t.total.share_of(total) >= MIN_SELF)
            .filter_map(|t| {
                let inside = inside(evidence, &t);
                let (unnamed, messages) = (is_unnamed(evidence, &t), is_messages(evidence, &t));
                let mut claim = told(evidence, &t.key, t.segments, total, ("", &inside))?;
                if unnamed {
                    // Only the caller of what is hot is known: no more than who waited for whom.
                    claim.specificity = Specificity::Relation;
                }
                if messages {
                    // Whoever serves others spends its time on answers.
                    claim.at_most = Severity::Low;
                }
                Some(claim)
            })
            .collect();
        let mut found = if hot.is_empty() {
            common_caller(evidence, &cpu, total).into_iter().collect()
        } else {
            hot
        };
        found.extend(interpreted(evidence, &cpu, total));
        found
    }
}

/// The function whose work an interval is; without one, the system call, which says at least what is
/// asked of the kernel.
fn owner(evidence: &Evidence<'_>, doing: &Doing) -> Option<FrameId> {
    let entry = || {
        let calls = !evidence.stacks.in_family(doing.stack, Family::Boundary);
        let entry = evidence.stacks.entry(doing.stack);
        entry.filter(|_| calls && doing.cause == Cause::CpuKernel)
    };
    evidence.chores.owner(doing.stack).or_else(entry).filter(|f| is_named(evidence, *f))
}

/// The claim of an interpreter's time in the program's own code, where nothing gives its functions names:
/// that the program computes is known, and where is not, so that all findings but other statements go before it.
fn interpreted(evidence: &Evidence<'_>, cpu: &[SegmentId], total: Nanos) -> Option<Claim> {
    let own = tally::by_name(evidence, cpu, |d| interpreter(evidence, d));
    let most = own.into_iter().find(|t| t.total.share_of(total) >= MIN_SELF)?;
    let module = most.key.split('!').next().unwrap_or_default().to_owned();
    let claim = told(evidence, &most.key, most.segments, total, (" with its callees", ""))?;
    let why = "This is the loop of an interpreter: the time passes in the program's own code. The \
               recording does not name the functions of that code.";
    let fix = unnamed_code::fix(evidence, &module);
    Some(Claim { specificity: Specificity::Statement, ..claim.saying(why.to_owned(), fix) })
}

/// The loop of the interpreter that runs the program's code, where no function of the program is named.
fn interpreter(evidence: &Evidence<'_>, doing: &Doing) -> Option<FrameId> {
    let computes = doing.cause == Cause::CpuUser && evidence.chores.owner(doing.stack).is_none();
    evidence.stacks.interpreter(doing.stack.filter(|_| computes))
}

/// All code without a name in one module is no function; `symbols-missing` tells about it.
fn is_named(evidence: &Evidence<'_>, function: FrameId) -> bool {
    evidence.recording.frame(function).function.as_str() != "?"
}

/// The function that a function spends most of its time in, where that is a library's or the kernel's, else
/// the deepest one of a package with its callees, as the title says it. Page faults have a rule of their own.
fn inside(evidence: &Evidence<'_>, own: &Tally<Text>) -> String {
    let leaf = |d: &Doing| {
        let fault = evidence.stacks.in_family(d.stack, Family::PageFault);
        evidence.function(*d).filter(|f| !fault && is_named(evidence, *f))
    };
    let most = tally::by_name(evidence, &own.segments, leaf).into_iter().next();
    if let Some(most) = most.filter(|m| m.total.share_of(own.total) > MOST) {
        let told = format!(", most of it in `{}`", most.key);
        return if most.key == own.key { String::new() } else { told };
    }
    let below = WithCallees::of(evidence, &own.segments, Chores::is_package);
    let below = below.deepest(own.total).map(|(name, _)| format!(", most of it below `{name}`"));
    below.unwrap_or_default()
}

/// True where most of a function's time is in code without a name that it calls.
fn is_unnamed(evidence: &Evidence<'_>, own: &Tally<Text>) -> bool {
    most_of(evidence, own, |d| evidence.function(*d).is_some_and(|f| !is_named(evidence, f)))
}

/// True where most of a function's time is the kernel's, to deliver messages.
fn is_messages(evidence: &Evidence<'_>, own: &Tally<Text>) -> bool {
    most_of(evidence, own, |d| evidence.stacks.in_family(d.stack, Family::Message))
}

fn most_of(evidence: &Evidence<'_>, own: &Tally<Text>, wanted: impl Fn(&Doing) -> bool) -> bool {
    let held = evidence.doings.among(&own.segments, wanted);
    evidence.total(&held).share_of(own.total) > MOST
}

/// True for what the recorder's own probes make a program do; what they cost is told elsewhere.
fn is_trap(evidence: &Evidence<'_>, function: FrameId) -> bool {
    evidence.known.is(function, Family::Trap)
}

/// A function's time with what it calls.
#[derive(Default)]
struct Inclusive {
    total: Nanos,
    stacks: BTreeSet<StackId>,
    /// The fewest frames that were below it towards the root, to prefer the deeper of equals.
    depth: usize,
    /// The time in stacks of which it is the root-most user function.
    as_root: Nanos,
    frame: Option<FrameId>,
}

/// The deepest function that most of the CPU time goes through: of the application, else of a package that
/// it uses. None when that is where the program or a thread begins, or what all of it goes through.
fn common_caller(evidence: &Evidence<'_>, cpu: &[SegmentId], total: Nanos) -> Option<Claim> {
    caller_among(evidence, cpu, total, Chores::is_application)
        .or_else(|| caller_among(evidence, cpu, total, Chores::is_package))
}

/// As for [`common_caller`], among the functions that count.
fn caller_among(
    evidence: &Evidence<'_>,
    cpu: &[SegmentId],
    total: Nanos,
    counts: fn(&Chores, FrameId) -> bool,
) -> Option<Claim> {
    let (name, function) = WithCallees::of(evidence, cpu, counts).deepest(total)?;
    // That a program's work goes through one function says no more than who waited for whom.
    let specificity = Specificity::Relation;
    let within =
        |d: &Doing| d.cause.is_cpu() && d.stack.is_some_and(|s| function.stacks.contains(&s));
    let claim = told(evidence, &name, evidence.doing(within), total, (" with its callees", ""))?;
    let site = function.frame.map_or(Site::Owner, Site::Function);
    Some(Claim { specificity, site, ..claim })
}

/// Functions with what they call.
struct WithCallees(BTreeMap<Text, Inclusive>);

impl WithCallees {
    /// Sums some segments by the functions that count on their stacks.
    fn of(
        evidence: &Evidence<'_>,
        segments: &[SegmentId],
        counts: fn(&Chores, FrameId) -> bool,
    ) -> Self {
        // By stacks first: segments are many, and names are long to compare.
        let mut stacks: BTreeMap<StackId, Nanos> = BTreeMap::new();
        for segment in segments.iter().map(|id| evidence.chain.segment(*id)) {
            if let Some(stack) = evidence.of_segment(segment).stack {
                *stacks.entry(stack).or_default() += segment.length;
            }
        }
        let mut functions: BTreeMap<Text, Inclusive> = BTreeMap::new();
        for (stack, time) in stacks {
            let frames = user_frames(evidence, stack);
            let count = frames.len();
            for (depth, frame) in frames.into_iter().enumerate() {
                if !counts(&evidence.chores, frame) {
                    continue;
                }
                let function = functions.entry(evidence.name(Some(frame))).or_default();
                // A function that calls itself is on the stack once.
                if function.stacks.insert(stack) {
                    function.total += time;
                }
                function.depth = function.depth.max(count - depth);
                if depth + 1 == count {
                    function.as_root += time;
                }
                function.frame = Some(frame);
            }
        }
        Self(functions)
    }

    /// The deepest function that most of a time goes through; none where that is where the program or a thread
    /// begins, or what all of it goes through.
    fn deepest(self, total: Nanos) -> Option<(Text, Inclusive)> {
        let tells = |f: &Inclusive| {
            // Stacks that were cut begin with any function.
            let begins = f.as_root.share_of(f.total) > MOST;
            (MIN_INCLUSIVE..MAX_INCLUSIVE).contains(&f.total.share_of(total)) && !begins
        };
        let told = self.0.into_iter().filter(|(name, f)| tells(f) && !is_entry(name));
        told.min_by(|(_, a), (_, b)| a.total.cmp(&b.total).then(b.depth.cmp(&a.depth)))
    }
}

/// A stack's user frames, leaf first, without those that say that its beginning is not known.
fn user_frames(evidence: &Evidence<'_>, stack: StackId) -> Vec<FrameId> {
    let frames = evidence.recording.stack(stack);
    let mut frames: Vec<_> = frames.filter(|frame| !evidence.chores.is_kernel(*frame)).collect();
    let is_nothing = |frame: &FrameId| {
        let frame = evidence.recording.frame(*frame);
        frame.module.is_none() && frame.function.as_str() == "?"
    };
    while frames.last().is_some_and(is_nothing) {
        frames.pop();
    }
    frames
}

/// True for functions in which programs and threads begin: all time goes through them.
fn is_entry(name: &str) -> bool {
    let function = name.split_once('!').map_or(name, |(_, f)| f);
    library(function, Families::NONE).has(Family::Entry)
}

/// A claim of a function's time; `words` are said behind its name and at the end.
fn told(
    evidence: &Evidence<'_>,
    name: &str,
    segments: Vec<SegmentId>,
    total: Nanos,
    (with, inside): (&str, &str),
) -> Option<Claim> {
    let own = evidence.total(&segments);
    let samples = segments
        .iter()
        .map(|s| evidence.of_segment(evidence.chain.segment(*s)))
        .filter(|i| i.basis == Basis::Sample)
        .count() as f64;
    if samples < MIN_SAMPLES && own < MIN_TIME {
        return None;
    }
    let share = own.share_of(total);
    let title = format!("`{name}`{with} takes {COST} of {total} CPU time ({PERCENT}){inside}");
    let mut claim = Claim::new(&DOC, title, segments)
        .share_of(total)
        .time("time in the function on the critical path", own)
        .fact("share of CPU time on the critical path", share, "share")
        .fact("clock samples in the function", samples, "count");
    claim.site = Site::Owner;
    if samples < ENOUGH_SAMPLES {
        let factor = (samples / ENOUGH_SAMPLES).sqrt().max(0.3);
        claim.confidence.lower(format!("only {samples:.0} clock samples"), factor);
    }
    Some(claim)
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Loss, LossKind, Recording};

    fn profile(stacks: &[(&str, u64)]) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..100 {
            for (stack, ms) in stacks {
                scene.run(main, *ms, Cause::CpuUser, stack);
            }
        }
        scene.done()
    }

    #[test]
    fn a_function_with_much_self_time_is_told() {
        let found = first(
            &profile(&[("main;a;hash", 3), ("main;b;hash", 4), ("main;c", 1)]),
            "hot-function",
        )
        .expect("found");
        assert!(
            found.title.starts_with("`program!hash` takes 700 ms of 800 ms CPU time (87 %)"),
            "{}",
            found.title
        );
    }

    #[test]
    fn the_common_caller_of_many_small_functions_is_told() {
        let parts: Vec<String> = (0..8).map(|n| format!("main;serve;render;part{n}")).collect();
        let mut stacks: Vec<_> = parts.iter().map(|s| (s.as_str(), 1)).collect();
        stacks.extend([("main;load;x", 1), ("main;load;y", 1), ("main;store", 1)]);
        let found = first(&profile(&stacks), "hot-function").expect("found");
        assert!(
            found.title.starts_with("`program!render` with its callees takes 800 ms of 1.10 s"),
            "{}",
            found.title
        );
    }

    #[test]
    fn how_a_program_starts_is_no_hot_function() {
        const START: &str = "_start;__libc_start_main;__libc_start_call_main;std::rt::lang_start;\
                             std::rt::lang_start_internal;app::main";
        let parts: Vec<String> = (0..8).map(|n| format!("{START};load;part{n}")).collect();
        let others: Vec<String> = (0..4).map(|n| format!("clone3;start_thread;other{n}")).collect();
        let mut stacks: Vec<_> = parts.iter().chain(&others).map(|s| (s.as_str(), 1)).collect();
        let title =
            |stacks: &[(&str, u64)]| first(&profile(stacks), "hot-function").map(|f| f.title);
        let found = title(&stacks).expect("a common caller");
        assert!(found.starts_with("`program!load` with its callees takes 800 ms"), "{found}");
        // Some stacks that were cut begin with the function.
        stacks.extend([("load;part0", 1), ("load;part1", 1)]);
        let found = title(&stacks).expect("a common caller");
        assert!(found.starts_with("`program!load` with its callees takes 1.00 s"), "{found}");
        let flat: Vec<String> = (0..8).map(|n| format!("{START};part{n}")).collect();
        let mut stacks: Vec<_> = flat.iter().chain(&others).map(|s| (s.as_str(), 1)).collect();
        stacks.retain(|(stack, _)| !stack.ends_with("part0"));
        assert_eq!(title(&stacks), None);
    }

    #[test]
    fn a_flat_profile_has_no_hot_function() {
        let parts: Vec<String> = (0..8).map(|n| format!("main;part{n}")).collect();
        let stacks: Vec<_> = parts.iter().map(|s| (s.as_str(), 1)).collect();
        assert!(first(&profile(&stacks), "hot-function").is_none());
    }

    #[test]
    fn few_samples_lower_the_confidence() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..12 {
            scene.run(main, 1, Cause::CpuUser, "main;hash");
        }
        let found = first(&scene.done(), "hot-function").expect("found");
        assert!(found.confidence < 0.4, "{}", found.confidence);
        assert!(found.evidence.iter().any(|e| e.what.contains("only 12 clock samples")));
    }

    #[test]
    fn a_handful_of_samples_names_nobody() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..3 {
            scene.run(main, 1, Cause::CpuUser, "main;hash");
        }
        assert!(first(&scene.done(), "hot-function").is_none());
    }

    #[test]
    fn the_recorders_own_trap_is_not_the_programs_function() {
        let trapped = |probed: bool| {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            for _ in 0..30 {
                scene.run(main, 2, Cause::CpuKernel, "main;malloc;k:asm_exc_int3;k:exc_int3");
                scene.run(main, 1, Cause::CpuUser, "main;hash");
            }
            let mut recording = scene.done();
            if probed {
                recording.losses.push(Loss {
                    kind: LossKind::ProbesCost,
                    count: 30,
                    from: None,
                    to: None,
                    detail: "probes".into(),
                });
            }
            first(&recording, "hot-function").map(|found| found.title).unwrap_or_default()
        };
        assert!(trapped(false).contains("asm_exc_int3"), "{}", trapped(false));
        assert!(trapped(true).starts_with("`program!hash` takes"), "{}", trapped(true));
    }
}
