//! `jit-warmup`: loading and compiling code takes much of the CPU time.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence, Segment};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct JitWarmup;

/// Share of the CPU time on the critical path from which it is reported.
const MIN_SHARE: f64 = 0.20;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "jit-warmup",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Loading classes or modules, compiling code and running uncompiled code take much of \
            the CPU time.",
    signature: "CPU time on the critical path in the compilers and loaders of the JVM, V8, CPython \
                or .NET. Examples: `ClassLoader`, `SystemDictionary`, `Compiler::Compile`, \
                `_PyPegen_run_parser`, `marshal`. Time in the JVM's bytecode interpreter counts \
                too.",
    not_reported: &["compiler threads of a runtime that no other thread waits for"],
    why: "A managed runtime loads, checks and compiles each class or function on first use: 0.05 \
          to 1 ms each. Each process pays this once, so it dominates short runs and hardly matters \
          in long ones. Code that the program generates itself (`eval`, `new Function`, `compile`, \
          proxies) pays again for each piece.",
    fix: &[
        "Load and compile only what this run needs, and only when it needs it.",
        "Keep compiled code between runs: class data sharing (`-XX:SharedArchiveFile`), a compile \
         cache (`NODE_COMPILE_CACHE`), `.pyc` files or an ahead-of-time image.",
        "Evaluate small expressions with your own functions instead of generating code.",
        "Keep one process running for many jobs.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `jit-warmup` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of CPU time on the critical path",
        value: MIN_SHARE,
        unit: "share",
        reason: "At start, Node.js and the JVM spend 50 to 200 ms on their own and their \
                 libraries' code. In a run of one second that is 5 to 20 %, and it says nothing \
                 about the program. At half, every such run is reported; at double, a start that \
                 loses a quarter of its time is missed.",
        source: "a healthy service in Node.js that ends after 1.4 s: 15 %",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Generate,
    doing: "loading and compiling code",
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

/// True for time that loads, compiles or interprets code and that the program waits for.
fn is_warm_up(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let interval = evidence.of_segment(segment);
    let own = evidence.managed.purpose(interval.thread);
    let beside = own == Some(Chore::Generate) || evidence.chores.is_worker(interval.stack);
    // A link that is only inferred is a polling loop's: it does not wait for the compiler.
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
        assert_eq!((&*found.at[0].function, found.at[0].line), ("rules", Some(3)));
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
