//! Small programs that are slow for one known reason each, and healthy ones: the real recorder,
//! the real rules, and what they must say.
//!
//! `fixtures/guilty/expected.toml` and `fixtures/unseen/expected.toml` list them. The usual tests judge
//! kept recordings of all of them (`src/replay`), and record a few here, of which they ask only what
//! holds however busy the machine is. `make accuracy` records all of them anew. A program is then
//! measured again when the recording says itself that records or stacks were lost, or when other
//! programs took the CPUs from it. One in twenty guilty programs may be judged wrong, and no healthy
//! one: a sampling recorder on a shared machine errs now and then, and a rule that is wrong fails with
//! all of its programs. With `CULPRIT_BLESS=1`, what was measured is written down in `docs/accuracy.md`.

mod build;
mod measure;
mod smoke;
#[path = "../../src/replay/truth.rs"]
pub(crate) mod truth;

use truth::{Group, Program, allowed, programs};

use crate::accuracy;
use crate::support::{Lab, all_rights, skip};

pub(crate) use build::{Source, commands};
pub(crate) use measure::{Outcome, Said, Until, measure};

/// Measures programs one after the other, those left out that this machine cannot build.
fn measure_all(lab: &Lab, programs: &[Program]) -> Vec<Outcome> {
    let source = |program: &Program| Source::at(program.path(), program);
    let sources: Vec<_> = programs.iter().map(source).collect();
    let built = commands(&lab.path(""), &sources);
    let each = programs.iter().zip(built);
    each.filter_map(|(program, command)| {
        let Some(command) = command else {
            skip(&program.file, "its compiler or interpreter");
            return None;
        };
        Some(measure(lab, program, &command, (Until::Right, None)))
    })
    .collect()
}

/// Fails if more than `tolerated` of the programs were judged wrong.
fn assert_right(outcomes: &[Outcome], tolerated: usize) {
    let wrong: Vec<_> = outcomes.iter().filter(|outcome| !outcome.is_right()).collect();
    let line = |o: &&Outcome| format!("{}: {}", o.file, o.wrong.as_deref().unwrap_or_default());
    let lines: Vec<String> = wrong.iter().map(line).collect();
    assert!(wrong.len() <= tolerated, "{}", lines.join("\n"));
    println!("judged wrong: {} of {}", wrong.len(), outcomes.len());
}

#[test]
#[ignore = "statistical: make accuracy"]
fn guilty_programs_are_told_for_what_they_do_and_healthy_ones_for_nothing() {
    assert!(all_rights(), "kernel stacks and wakers need root");
    let (lab, listed) = (Lab::new(), programs(Group::Guilty));
    assert!(listed.len() >= 70, "{}", listed.len());
    let guilty = measure_all(&lab, &listed);
    let healthy = measure_all(&lab, &programs(Group::Healthy));
    accuracy::bless(&listed, &guilty, &healthy, &allowed());
    assert_right(&guilty, guilty.len() / 20);
    assert_right(&healthy, 0);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn programs_by_people_who_had_not_read_the_rules_are_told_right() {
    assert!(all_rights(), "kernel stacks and wakers need root");
    let (healthy, guilty): (Vec<_>, Vec<_>) =
        programs(Group::Unseen).into_iter().partition(Program::is_healthy);
    let lab = Lab::new();
    let of_guilty = measure_all(&lab, &guilty);
    let of_healthy = measure_all(&lab, &healthy);
    accuracy::bless_unseen(&guilty, &of_guilty, &of_healthy);
    assert_right(&of_guilty, of_guilty.len() / 10);
    assert_right(&of_healthy, 0);
}
