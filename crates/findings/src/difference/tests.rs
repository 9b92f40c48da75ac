use culprit_model::Cause;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::change::{Change, find_changes};
use crate::scene::{End, Scene};

const READ: &str = "main;next_row;libc.so.6!read;k:anon_pipe_read";

/// A driver and its follower, which is woken by the driver or looks once a second.
fn followed(place: &str, polls: bool, think_ms: u64) -> RunSummary {
    let mut scene = Scene::default();
    let driver = scene.program("driver", None, 0);
    let follower = scene.program("follower", Some(driver), 0);
    for _ in 0..8 {
        scene.run(driver, think_ms, Cause::CpuUser, "main;think");
        if polls {
            scene.wait(driver, 1000 - think_ms, Cause::Pipe, READ, End::By(follower));
            scene.wait(follower, 999, Cause::Sleep, "main;follow;k:do_nanosleep", End::Timer);
        } else {
            scene.wait(driver, 1, Cause::Pipe, READ, End::By(follower));
            scene.wait(
                follower,
                think_ms,
                Cause::Poll,
                "main;follow;k:do_sys_poll",
                End::By(driver),
            );
        }
        scene.run(follower, 1, Cause::CpuUser, "main;print");
    }
    let mut recording = scene.done();
    recording.meta.place = place.to_owned();
    RunSummary::of(&recording)
}

fn five(place: &str, polls: bool) -> Vec<RunSummary> {
    [50, 52, 48, 51, 49].map(|think| followed(place, polls, think)).to_vec()
}

#[test]
fn a_slower_place_is_told_with_what_costs_more_there() {
    let found = find_difference(&five("host", false), &five("sandbox", true), &Options::default())
        .expect("runs");
    let ids: Vec<_> = found.findings.iter().map(|f| f.id).collect();
    assert_eq!(ids, ["slower-in-place", "poll-sleep-loop"]);
    let title = &found.findings[0].title;
    assert!(title.starts_with("sandbox takes 19.61 times as long as host (18."), "{title}");
    assert!(found.explained_share > 0.99, "{}", found.explained_share);
    let polling = &found.findings[1];
    assert_eq!(polling.cost.0 / 1_000_000, 8 * 949);
    assert_eq!(found.tied.first(), Some(&Some("poll-sleep-loop")));
    assert_eq!(found.tied.len(), found.comparison.rows.len());
    let instead =
        "waits of follower in host that another thread ended: blocked.poll in program!follow";
    assert!(polling.evidence.iter().any(|e| e.what.starts_with(instead)), "{:?}", polling.evidence);
}

#[test]
fn what_hardly_any_run_has_is_no_finding() {
    let found = |with: usize| {
        let run = |at: usize| followed("sandbox", at < with, 50);
        let candidate: Vec<_> = (0..11).map(run).collect();
        let baseline = vec![followed("host", false, 50); 11];
        let options = Options::default();
        let report = find_difference(&baseline, &candidate, &options).expect("runs");
        report.findings.iter().any(|f| f.id == "poll-sleep-loop")
    };
    assert!(!found(1) && found(2));
}

#[test]
fn a_range_on_one_side_is_told_as_such_and_not_as_no_difference() {
    let slow = [60, 62].map(|think| followed("sandbox", true, think));
    let fast = [50, 52].map(|think| followed("host", false, think));
    let found = find_difference(&fast, &slow, &Options::default()).expect("runs");
    let title = &found.findings[0].title;
    assert_eq!(found.findings[0].id, "unclear");
    assert!(title.starts_with("sandbox seems slower than host ("), "{title}");
    assert!(title.contains("but 2 rounds are too few for a 95 % interval"), "{title}");
}

#[test]
fn a_finding_that_a_run_has_twice_makes_nothing_surer() {
    let run = |place: &str, extra: u64| {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        // Two library functions that enter the kernel for one function of the program.
        for call in ["getppid", "geteuid"] {
            let gate = format!("main;note;libc.so.6!{call};k:do_syscall_64");
            for _ in 0..50 {
                scene.run(main, 4 + extra, Cause::CpuKernel, &gate);
            }
        }
        let mut recording = scene.done();
        recording.meta.place = place.to_owned();
        RunSummary::of(&recording)
    };
    let runs = |place, extra| vec![run(place, extra); 5];
    let options = Options::default();
    let found = find_difference(&runs("host", 0), &runs("sandbox", 4), &options).expect("runs");
    let storm = found.findings.iter().find(|f| f.id == "syscall-storm").expect("told");
    assert!(storm.confidence <= 1.0, "{}", storm.confidence);
}

#[test]
fn a_busy_machine_that_both_places_have_is_no_reason() {
    let run = |place: &str, at: &str, work: u64| {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..10 {
            scene.run(main, work, Cause::CpuUser, "main;work");
            let queued = format!("main;{at};k:irqentry_exit_to_user_mode");
            scene.run(main, 50, Cause::Runnable, &queued);
        }
        let mut recording = scene.done();
        recording.meta.place = place.to_owned();
        RunSummary::of(&recording)
    };
    let runs = |place, at, work| vec![run(place, at, work); 5];
    let (before, after) = (runs("host", "work", 50), runs("sandbox", "other", 150));
    let found = find_difference(&before, &after, &Options::default()).expect("runs");
    assert!(found.findings.iter().all(|f| f.id != "run-queue"), "{:?}", found.findings);
}

#[test]
fn earlier_runs_need_no_partners() {
    let (before, after) = (five("host", false), five("host", true));
    let options = Options::default();
    let found = find_difference_of_sets(&before[..1], &after, &options).expect("runs");
    assert_eq!(found.findings[0].id, "slower-in-place");
    assert_eq!(found.tied.first(), Some(&Some("poll-sleep-loop")));
    assert!(find_difference_of_sets(&[], &after, &options).is_none());
}

#[test]
fn the_same_runs_are_told_to_be_the_same_and_few_runs_to_be_unclear() {
    let found = find_difference(&five("host", true), &five("sandbox", true), &Options::default())
        .expect("runs");
    assert_eq!(found.findings[0].id, "no-difference");
    assert!(found.explained_share.abs() < 1e-9);
    let (a, b) = (five("host", true), five("sandbox", true));
    let found = find_difference(&a[..2], &b[..2], &Options::default()).expect("runs");
    assert_eq!(found.findings[0].id, "unclear");
    assert!(find_difference(&[], &b, &Options::default()).is_none());
}

/// What a thread does next, and for how long (ms).
type Step = (u8, u64);

fn random_run(place: &str, steps: &[Step]) -> RunSummary {
    let mut scene = Scene::default();
    let driver = scene.program("driver", None, 0);
    let helper = scene.program("helper", Some(driver), 0);
    for (kind, length) in steps.iter().copied() {
        match kind {
            0 => scene.run(driver, length, Cause::CpuUser, "main;parse"),
            1 => scene.run(driver, length, Cause::CpuUser, "main;encode"),
            2 => scene.run(driver, length, Cause::Runnable, "main;parse"),
            3 => scene.wait(driver, length, Cause::Sleep, "main;nap;k:do_nanosleep", End::Timer),
            4 => scene.wait(driver, length, Cause::Disk, "main;load;k:io_schedule", End::Disk),
            _ => scene.wait(driver, length, Cause::Pipe, READ, End::By(helper)),
        };
        scene.run(helper, length, Cause::CpuUser, "main;serve");
    }
    let mut recording = scene.done();
    recording.meta.place = place.to_owned();
    RunSummary::of(&recording)
}

fn random_runs() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let run = vec((0_u8..6, 1_u64..400), 1..12);
    vec(run, 5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_part_exceeds_its_whole(before in random_runs(), after in random_runs()) {
        let runs = |place, all: &[Vec<Step>]| -> Vec<RunSummary> {
            all.iter().map(|steps| random_run(place, steps)).collect()
        };
        let (before, after) = (runs("host", &before), runs("sandbox", &after));
        let options = Options { all: true, ..Options::default() };
        let found = find_difference(&before, &after, &options).expect("runs");
        let comparison = &found.comparison;
        let slower = comparison.ratio.as_ref().is_some_and(|r| r.verdict == Verdict::Slower);
        let whole = match slower {
            true => {
                let medians = median_wall(&after).saturating_sub(median_wall(&before));
                medians.max(comparison.candidate.saturating_sub(comparison.baseline))
            }
            false => comparison.candidate,
        };
        let costs: Nanos = found.findings.iter().map(|finding| finding.cost).sum();
        // Means are rounded to nanoseconds.
        let rounding = Nanos(found.findings.len() as u64);
        prop_assert!(costs <= whole + rounding, "{costs} of {whole}: {:?}", found.findings);
        prop_assert!((0.0..=1.0).contains(&found.explained_share));
        for finding in &found.findings {
            prop_assert!((0.0..=1.0).contains(&finding.share), "{finding:?}");
        }
        for row in &comparison.rows {
            prop_assert!(row.candidate <= comparison.candidate + rounding, "{row:?}");
            prop_assert!(row.baseline <= comparison.baseline + rounding, "{row:?}");
        }
        for change in find_changes(&before, &after) {
            let apart = Nanos(change.before.0.abs_diff(change.after.0));
            let less = change.after < change.before;
            match change.change {
                Change::Gone | Change::Shrank => prop_assert!(less, "{change:?}"),
                Change::Came | Change::Grew => {
                    prop_assert!(!less && apart > Nanos::ZERO, "{change:?}");
                }
                Change::Stayed => {}
            }
        }
    }
}
