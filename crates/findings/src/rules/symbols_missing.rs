//! `symbols-missing`: functions have no name.
//!
//! Reported only when unnamed code takes enough of the time: nearly every system has a stripped
//! library that does not matter. Where a hot function may hide in unnamed code, the finding's cost
//! is that time, as far as no other finding takes it: this one is the least specific.

use culprit_model::{Cause, Interval, LossKind, ModuleId, Nanos, Severity};

use crate::evidence::{Doing, Evidence};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold, fact};
use crate::{losses, tally, unnamed_code};

/// The rule.
pub(crate) struct SymbolsMissing;

/// Share of CPU time in unnamed functions from which it is reported.
const MIN_UNNAMED: f64 = 0.02;

/// Share of the critical path's CPU time from which unnamed code takes it, as a hot function would.
const MIN_NOBODYS: f64 = 0.20;

/// Time below which that says nothing: ten clock samples at the usual rate.
const MIN_TIME: Nanos = Nanos(10_000_000);

/// Modules that are listed.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "symbols-missing",
    group: Group::Quality,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "A part of the code has no function names.",
    signature: "Stacks whose innermost frame has no symbol hold a share of the CPU time, and the \
                loss table names the modules. Or a fifth or more of the critical path's CPU time \
                is in stripped programs or generated code, where no function can be named.",
    not_reported: &["a library without symbols that takes less than 2 % of the CPU time"],
    why: "A stripped module, generated code without a map, or a kernel that hides its addresses \
          gives addresses only. Rules that recognise mechanisms by function names cannot work \
          there.",
    fix: &[
        "Install the debug symbols, or keep the unstripped file.",
        "Let the runtime write a perf map of its generated code.",
    ],
    check: "culprit record -o second.culprit -- CMD; with the symbols in place, `culprit findings \
            second.culprit` must not list `symbols-missing`",
    thresholds: &[
        Threshold {
            what: "share of CPU time in unnamed functions",
            value: MIN_UNNAMED,
            unit: "share",
            reason: "Below it no listed finding can hide there: it is twice the share from which \
                     findings are listed.",
            source: "the listing share of 1 %",
        },
        Threshold {
            what: "share of the critical path's CPU time for which no function can be named",
            value: MIN_NOBODYS,
            unit: "share",
            reason: "From this share on a hot function may hide there; this finding stands in its \
                     place.",
            source: "the threshold of `hot-function`",
        },
    ],
};

/// The kinds of loss that this finding reports.
pub(crate) const KINDS: &[LossKind] = &[
    LossKind::ModulesUnreadable,
    LossKind::SymbolsMissing,
    LossKind::KernelSymbolsMissing,
    LossKind::AddressesUnknown,
    LossKind::NamesAmbiguous,
    LossKind::InterpreterFramesGuessed,
    LossKind::InterpreterFramesMissing,
];

impl Rule for SymbolsMissing {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        nobodys(evidence).into_iter().chain(some_names(evidence)).collect()
    }
}

/// The claim of the path's CPU time that no function of the program can be named for, where it is
/// much of it.
fn nobodys(evidence: &Evidence<'_>) -> Option<Claim> {
    let total = evidence.total(&evidence.doing(|d| d.cause.is_cpu()));
    let nobodys = |d: &Doing| {
        d.cause == Cause::CpuUser && d.stack.is_some() && evidence.chores.owner(d.stack).is_none()
    };
    let segments = evidence.doing(nobodys);
    let own = evidence.total(&segments);
    let modules = tally::by(evidence, &segments, |s| module(evidence, evidence.of_segment(s)));
    let most = modules.first().filter(|_| own.share_of(total) >= MIN_NOBODYS && own >= MIN_TIME)?;
    let name = evidence.recording.module(most.key).name.as_str();
    let more = if modules.len() > 1 { " and others" } else { "" };
    let title = format!(
        "{COST} of {total} CPU time ({PERCENT}) is in {}{more}, where the program's functions have \
         no names: {}",
        code(name),
        unnamed_code::way_out(evidence, name)
    );
    let mut claim = Claim::new(&DOC, title, segments)
        .share_of(total)
        .time("CPU time on the critical path in code without a name", own)
        .fact("share of the critical path's CPU time", own.share_of(total), "share")
        .facts(modules.iter().take(LISTED).map(|m| {
            let name = &evidence.recording.module(m.key).name;
            fact(format!("in {}", code(name)), m.total.0 as f64, "ns")
        }));
    claim.fix = unnamed_code::fix(evidence, name);
    // Missing names are not the program's fault.
    claim.at_most = Severity::Info;
    Some(claim)
}

/// The module whose code runs, outside the kernel.
fn module(evidence: &Evidence<'_>, interval: &Interval) -> Option<ModuleId> {
    evidence.recording.frame(evidence.stacks.user(interval.stack)?).module
}

/// A module as a sentence says it.
fn code(module: &str) -> &str {
    if module == "[jit]" { "generated code" } else { module }
}

/// The statement that a part of the time has no names, with what the recording lacks.
fn some_names(evidence: &Evidence<'_>) -> Option<Claim> {
    let cpu = |i: &&Interval| i.cause.is_cpu();
    let all: Nanos = evidence.recording.intervals.iter().filter(cpu).map(|i| i.duration).sum();
    let unnamed = evidence.recording.intervals.iter().filter(cpu);
    let unnamed: Nanos = unnamed.filter(|i| is_unnamed(evidence, i)).map(|i| i.duration).sum();
    let share = unnamed.share_of(all);
    if share < MIN_UNNAMED {
        return None;
    }
    let title = format!("{unnamed} of {all} CPU time is in functions without a name");
    let missing = losses::of_kinds(evidence, KINDS);
    losses::statement(&DOC, &title, &missing)
        .map(|c| c.fact("share of CPU time in unnamed functions", share, "share"))
}

fn is_unnamed(evidence: &Evidence<'_>, interval: &Interval) -> bool {
    let recording = evidence.recording;
    let leaf = interval.stack.and_then(|s| recording.stacks.get(s.index()));
    leaf.is_some_and(|s| recording.frame(s.frame).function.as_str() == "?")
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Loss, LossKind, Recording, Severity};

    use crate::scene::{Scene, first, told};

    fn program(stacks: &[(&str, u64)]) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..50 {
            for (stack, ms) in stacks {
                scene.run(main, *ms, Cause::CpuUser, stack);
            }
        }
        scene.done()
    }

    #[test]
    fn a_program_without_symbols_is_said_first_with_what_would_name_its_functions() {
        let found = first(&program(&[("app!?;app!?", 9), ("main;work", 1)]), super::DOC.id);
        let found = found.expect("told");
        assert_eq!((found.cost.0, found.severity), (450_000_000, Severity::Info));
        assert!(
            found.title.starts_with("450 ms of 500 ms CPU time (90 %) is in app, where the"),
            "{}",
            found.title
        );
        assert!(found.fix[0].contains("debug symbols of app"), "{:?}", found.fix);
        assert!(first(&program(&[("app!?;app!?", 9)]), "hot-function").is_none());
    }

    #[test]
    fn an_interpreters_loop_is_a_hot_function_with_what_would_name_the_programs() {
        let eval = "python3.11!_start;python3.11!Py_BytesMain;python3.11!_PyRun_SimpleFileObject;\
                    python3.11!_PyEval_EvalFrameDefault";
        let deeper = format!("{eval};libpython3.11.so.1.0!?");
        let mut recording = program(&[(eval, 5), (&deeper, 4), ("main;work", 1)]);
        assert_eq!(told(&recording), ["hot-function 450"]);
        let found = first(&recording, "hot-function").expect("told");
        assert!(found.title.starts_with("`python3.11!_PyEval_EvalFrameDefault` with"), "{found:?}");
        assert!(found.fix[0].contains("record it again"), "{:?}", found.fix);
        let mut fix = |detail: &str| {
            let kind = LossKind::InterpreterFramesMissing;
            let loss = Loss { kind, count: 1, from: None, to: None, detail: detail.into() };
            recording.losses = vec![loss];
            first(&recording, "hot-function").expect("told").fix[0].clone()
        };
        for (why, help) in [
            ("", "record for longer"),
            (
                "process 7: /opt/python2.7: Python 2.7 is not supported: only 3.8 to 3.14 are",
                "run it with CPython 3.8",
            ),
            ("process 7: cannot open `/proc/7/mem`: Permission denied", "run Culprit as root"),
            (
                "process 7: /opt/python3.12: cannot use a type at 0x10: its name is none",
                "release build",
            ),
        ] {
            let fix = fix(why);
            assert!(fix.contains(help) && fix.contains(why) && !fix.contains("-X perf"), "{fix}");
        }
    }

    #[test]
    fn a_function_that_its_runtime_names_is_told_and_not_the_loop() {
        let named = "python3.12!_PyEval_EvalFrameDefault;[jit]!py::look_up:/app/table.py;\
                     python3.12!_PyEval_EvalFrameDefault;python3.12!PyObject_Vectorcall";
        let recording = program(&[(named, 9), ("main;work", 1)]);
        assert_eq!(told(&recording), ["hot-function 450"]);
        let found = first(&recording, "hot-function").expect("told");
        assert!(found.title.starts_with("`look_up table.py` takes"), "{found:?}");
    }

    #[test]
    fn the_java_option_that_needs_another_one_is_named_with_it() {
        let stack = "java!main;libjvm.so!JavaCalls::call_helper;[jit]!call_stub;[jit]!?";
        let found = first(&program(&[(stack, 9)]), super::DOC.id).expect("told");
        assert!(found.title.contains("is in generated code"), "{}", found.title);
        assert!(found.fix[0].contains("UnlockDiagnosticVMOptions"), "{:?}", found.fix);
    }

    #[test]
    fn the_variable_that_names_generated_code_of_dotnet_is_named() {
        let stack = "dotnet!main;libcoreclr.so!RunMain;[jit]!?";
        let found = first(&program(&[(stack, 9)]), super::DOC.id).expect("told");
        assert!(found.title.contains("is in generated code"), "{}", found.title);
        assert!(found.fix[0].contains("DOTNET_PerfMapEnabled=1"), "{:?}", found.fix);
    }

    #[test]
    fn a_librarys_inside_is_what_its_caller_asked_for() {
        let told = told(&program(&[("main;pack;libz.so.1!deflate;libz.so.1!?", 9), ("main;x", 1)]));
        assert_eq!(told, ["hot-function 450"]);
    }
}
