//! Rounds as a whole.

use culprit_probe::probes::syscall::Syscall;
use culprit_probe::{Role, Stopped};

use crate::support::{asked, run};

#[test]
fn a_session_has_all_rounds_of_all_arms() {
    let dir = tempfile::tempdir().unwrap();
    let probe = Syscall { calls: 2_000, batches: 3 };
    let (answer, session) = run(probe, &asked(&["host", "sandbox"], dir.path()), 5);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    let roles: Vec<Role> = answer.arms.iter().map(|arm| arm.arm.role).collect();
    assert_eq!(roles, [Role::Baseline, Role::Again, Role::HostInCgroup, Role::Candidate]);
    assert_eq!((answer.rounds, answer.stopped.id()), (5, "rounds"));
    for arm in &answer.arms {
        assert_eq!(arm.values(&answer.metrics[0]).len(), 5, "{}", arm.arm.label);
    }
    assert!(answer.comparison(3, 0).is_some_and(|row| row.value > 0.0 && row.rounds == 5));
    assert!(answer.comparison(1, 0).is_none() && answer.floor(0).is_some());
    assert!(matches!(answer.stopped, Stopped::By(_)));
}
