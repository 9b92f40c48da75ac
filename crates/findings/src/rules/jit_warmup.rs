//! `jit-warmup`: much of the time goes into making code ready to run.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence, Segment};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct JitWarmup;

/// Share of the path's CPU time from which it is told.
const MIN_SHARE: f64 = 0.20;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "jit-warmup",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    claim: "Loading classes or modules, generating code and running it before it is compiled take a \
            notable share of the time on a CPU.",
    signature: "CPU time on the measured thing's path in the compilers and loaders of the JVM, V8, \
                CPython or .NET (ClassLoader, SystemDictionary, Compiler::Compile, \
                _PyPegen_run_parser, marshal), or in the JVM's bytecode interpreter. Compiler \
                threads for which nobody waits do not count.",
    why: "A managed runtime loads, checks and compiles code when it first needs it, 0.05 to 1 ms a \
          class or function. It is paid once a process: a start pays all of it, a long run hardly \
          notices. Code that the program generates itself (eval, new Function, compile, proxies) \
          pays for each piece.",
    fix: "Load and compile only what this run needs, when it needs it; keep what was compiled \
          (class data sharing, compile caches, .pyc files, ahead-of-time images); interpret small \
          expressions with functions of your own instead of generating code; keep the process for \
          many jobs.",
    check: "culprit record -o fixed.culprit -- CMD; `jit-warmup` in `culprit findings fixed.culprit`",
    thresholds: &[Threshold {
        what: "share of the path's CPU time",
        value: MIN_SHARE,
        unit: "share",
        reason: "Node.js and the JVM spend 50 to 200 ms on their own and their libraries' code \
                 before a program does much: a tenth to a fifth of a run of a second, which says \
                 nothing about the program. At half, every such run is told; at double, a start that \
                 loses a quarter is not.",
        source: "a healthy service in Node.js that ends after 1.4 s: 15 %",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Generate,
    doing: "loading classes and generating code",
    min_share: MIN_SHARE,
    min_interpreted: MIN_SHARE,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for JitWarmup {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let mut held = evidence.doing(|d| d.cause.is_cpu());
        held.retain(|s| is_warm_up(evidence, evidence.chain.segment(*s)));
        chore::find_in(evidence, &SPEC, &held).into_iter().collect()
    }
}

/// Whether a segment's time makes code ready to run, and somebody waits for it.
fn is_warm_up(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let interval = evidence.of_segment(segment);
    let own = evidence.managed.purpose(interval.thread);
    let beside = own == Some(Chore::Generate) || evidence.chores.is_worker(interval.stack);
    // Who looks for something again and again does not wait for the compiler.
    let awaited = || evidence.chain.links(segment).next().is_some_and(|link| !link.inferred);
    match evidence.chores.chore(interval.stack) {
        // The only time of a one-shot command that has no link is its first thread's.
        Some(Chore::Generate) => !beside || awaited(),
        None if own == Some(Chore::Generate) => awaited(),
        None => evidence.is_interpreting(interval),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, beside, first};
    use culprit_model::Cause;

    const COMPILE: &str = "node!main;[jit]!JS:~rules /app/rules.mjs:3:1;\
                           node!v8::internal::Compiler::GetFunctionFromEval;\
                           node!v8::internal::interpreter::BytecodeGenerator::Generate";

    #[test]
    fn code_that_a_program_generates_is_told_with_the_function_that_asks_for_it() {
        let found = first(&beside(COMPILE, 5, 10), super::DOC.id).expect("found");
        assert_eq!(&*found.at[0].function, "JS:~rules /app/rules.mjs:3:1");
        assert_eq!(found.cost.0, 100_000_000);
    }

    #[test]
    fn a_class_that_is_loaded_and_bytecode_that_is_interpreted_are() {
        let load = "clone3;libjvm.so!JavaCalls::call;[jit]!Interpreter;\
                    libjvm.so!SystemDictionary::load_instance_class;\
                    libjvm.so!ClassFileParser::parse_stream";
        assert!(first(&beside(load, 5, 10), super::DOC.id).is_some());
        let interpret = "clone3;libjvm.so!JavaCalls::call;[jit]!Interpreter";
        assert!(first(&beside(interpret, 5, 10), super::DOC.id).is_some());
    }

    #[test]
    fn what_a_class_does_when_it_is_initialised_is_the_programs() {
        let stack = "clone3;libjvm.so!InstanceKlass::initialize_impl;libjvm.so!JavaCalls::call;\
                     [jit]!void Shop.load()";
        assert!(first(&beside(stack, 5, 10), super::DOC.id).is_none());
    }

    #[test]
    fn a_warm_program_is_not() {
        assert!(first(&beside(COMPILE, 1, 20), super::DOC.id).is_none());
    }

    #[test]
    fn a_compiler_thread_that_nobody_waits_for_is_not() {
        let mut scene = Scene::default();
        let main = scene.program("java", None, 0);
        let process = scene.recording.thread(main).process;
        let compiler = scene.thread(process, "C2 CompilerThre", 0);
        for _ in 0..50 {
            scene.run(main, 10, Cause::CpuUser, "clone3;[jit]!void Shop.cart(int)");
            let stack = "clone3;libjvm.so!CompileBroker::compiler_thread_loop;\
                         libjvm.so!C2Compiler::compile_method";
            scene.run(compiler, 10, Cause::CpuUser, stack);
        }
        assert!(first(&scene.running(), super::DOC.id).is_none());
    }
}
