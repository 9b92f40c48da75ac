//! `seccomp-cost`, as the probe `syscall` tells it: the same place with the filter and without it.

use culprit_model::{Finding, Severity};

use super::Told;
use super::measured::{Measured, MeasuredArm, length};
use crate::rules::seccomp_cost::DOC;

/// Calls whose arguments filters look at, and calls that they let through at once.
const CALLS: [&str; 3] = ["personality_ns", "clone3_ns", "getppid_ns"];

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let filtered = measured.candidates().filter(|arm| arm.variant.is_none());
    filtered.filter_map(|arm| told(measured, arm)).collect()
}

fn told(measured: &Measured<'_>, arm: &MeasuredArm<'_>) -> Option<Finding> {
    let without = measured.sibling(arm, "seccomp-off")?;
    let title = format!("The system call filter of {} adds", arm.place);
    let labels = ["without filter", "with filter"];
    let told = Told { doc: &DOC, severity: Severity::Info, title, labels };
    told.finding(&measured.worse_by(arm, without, &CALLS), |metric, difference| {
        format!("{} to {}, {}", length(difference.more()), metric.name, difference.times())
    })
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn filtered(with: f64) -> Vec<String> {
        let arms = [
            Arm::host(&[("personality_ns", 200.0), ("getppid_ns", 100.0)]),
            Arm::engine(&[("personality_ns", with), ("getppid_ns", 101.0)]),
            Arm::engine(&[("personality_ns", 202.0), ("getppid_ns", 100.0)]).variant("seccomp-off"),
        ];
        measured("syscall", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn the_filter_is_told_from_the_rest_of_the_place() {
        let title = &filtered(300.0)[0];
        let expected = "The system call filter of docker:x adds 98 ns to personality_ns, x 1.48";
        assert!(title.starts_with(expected), "{title}");
        assert!(!title.contains("getppid"), "{title}");
    }

    #[test]
    fn a_filter_that_costs_nothing_is_no_finding() {
        assert!(filtered(203.0).is_empty());
    }
}
