//! Laws that phases keep on random recordings.

use culprit_model::notation::parse;
use culprit_model::{Nanos, Recording, Time};
use proptest::prelude::*;

use super::{Kind, Phases};
use crate::wakers::Scope;

/// A command, or processes that outlive the recording, with threads that compute, wait and sleep in
/// turns of some windows each.
fn recordings() -> impl Strategy<Value = Recording> {
    let strip = proptest::collection::vec(("[abdUlsrn]", 1..40_usize), 1..12);
    let threads = proptest::collection::vec(strip, 1..4);
    (threads, any::<bool>(), 1..6_u32).prop_map(|(threads, ends, tick)| {
        const STACKS: &str = "
            stack a cpu.user main;f;g
            stack b cpu.user main;h
            stack d blocked.disk main;load;[kernel]!io_schedule\n";
        let line = |(at, strips): (usize, &Vec<(String, usize)>)| {
            let strip: String = strips.iter().map(|(state, count)| state.repeat(*count)).collect();
            let end = if ends { "|" } else { "" };
            format!("app(1)/t{at}({at}) {strip}{end}\n")
        };
        let threads: String = threads.iter().enumerate().map(line).collect();
        let root = if ends { "root app(1)\n" } else { "" };
        parse(&format!("tick {tick}ms\n{STACKS}{threads}{root}")).expect("a drawing")
    })
}

fn range(recording: &Recording) -> (Time, Time) {
    match Scope::of(recording) {
        Scope::Command { from, to, .. } => (from, to),
        Scope::Service => (Time::START, Time(recording.meta.wall.0)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn phases_cover_the_run_without_gaps(recording in recordings()) {
        let (from, to) = range(&recording);
        let found = Phases::of(&recording);
        prop_assert!((1..=6).contains(&found.phases.len()));
        prop_assert_eq!(found.phases.first().map(|phase| phase.from), Some(from));
        prop_assert_eq!(found.phases.last().map(|phase| phase.to), Some(to));
        for pair in found.phases.windows(2) {
            prop_assert_eq!(pair[0].to, pair[1].from);
            prop_assert!(pair[0].length() > Nanos::ZERO);
        }
        let sum: Nanos = found.phases.iter().map(|phase| phase.length()).sum();
        prop_assert_eq!(sum, to.since(from));
    }

    #[test]
    fn the_time_of_a_commands_phase_is_its_length(recording in recordings()) {
        if let Scope::Command { .. } = Scope::of(&recording) {
            for phase in Phases::of(&recording).phases {
                prop_assert_eq!(phase.counted(), phase.length());
            }
        }
    }

    #[test]
    fn names_hold(recording in recordings()) {
        let command = matches!(Scope::of(&recording), Scope::Command { .. });
        let found = Phases::of(&recording).phases;
        for phase in found.iter().filter(|_| command) {
            let idle = phase.idle().share_of(phase.length());
            prop_assert!((phase.kind == Kind::Idle) == (idle >= 0.5) || (0.499..0.501).contains(&idle));
            prop_assert!(!phase.does.is_empty());
        }
        let of = |kind: Kind| found.iter().filter(move |phase| phase.kind == kind);
        let length = |kind: Kind| of(kind).map(|phase| phase.length()).sum::<Nanos>();
        if of(Kind::Steady).next().is_some() {
            let busy = found.iter().filter(|phase| phase.kind != Kind::Idle);
            let busy: Nanos = busy.map(|phase| phase.length()).sum();
            // The last window may be longer than the others.
            prop_assert!(length(Kind::Steady).share_of(busy) > 0.4);
            prop_assert_eq!(of(Kind::Step).count(), 0);
        } else {
            prop_assert!(found.iter().all(|phase| matches!(phase.kind, Kind::Idle | Kind::Step)));
        }
    }

    #[test]
    fn a_part_of_the_time_has_phases_of_that_part(recording in recordings(), a in 0..100_u64, b in 0..100_u64) {
        let (from, to) = range(&recording);
        let at = |percent: u64| Time(from.0 + to.since(from).0 * percent / 100);
        let part = (at(a.min(b)), at(a.max(b)));
        let found = Phases::of_range(&recording, part).phases;
        let sum: Nanos = found.iter().map(|phase| phase.length()).sum();
        prop_assert_eq!(sum, part.1.since(part.0));
    }
}
