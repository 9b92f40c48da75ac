//! Folders whose sums are known, because every recording in them is a copy of one.

use std::path::Path;

use culprit_engine::calls::{CallTree, NodeId};
use culprit_engine::fleet::{FleetFrame, FleetSample};
use culprit_model::{Filter, Metric, Nanos, Recording};
use culprit_record::HOST_FACT;
use culprit_report::views::FleetFacts;
use culprit_report::{Shown, filters, shown};

use super::*;
use crate::args;
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::Settings;
use crate::{load, testing};

fn output() -> Output {
    Output::unread(true)
}

/// A copy as another machine and run would have made it: other numbers and addresses, same code.
fn copy(number: u32, host: &str) -> Recording {
    let mut recording = testing::recording();
    recording.meta.place_facts.push((HOST_FACT.to_owned(), host.to_owned()));
    for process in &mut recording.processes {
        process.pid.0 += number * 100;
    }
    for thread in &mut recording.threads {
        thread.tid.0 += number * 100;
    }
    for frame in &mut recording.frames {
        frame.address = Some(u64::from(number) << 12);
    }
    recording
}

/// Seven recordings of three hosts.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (number, host) in (1..).zip(["a", "b", "b", "c", "c", "c", "c"]) {
        let path = folder.path().join(format!("run-{number}.culprit"));
        culprit_recording::write(&path, &copy(number, host)).unwrap();
    }
    folder
}

fn run_filter() -> Filter {
    filters::run_filter()
}

fn sum(folder: &Path, by: Option<&FleetKey>, filter: &Filter) -> (Recording, FleetFacts) {
    add_up(folder, by, filter, &output()).unwrap()
}

fn tree(recording: &Recording, filter: &Filter) -> CallTree {
    load::tree(recording, &without_selection(filter.clone())).unwrap()
}

#[test]
fn a_folder_weighs_what_its_recordings_weigh() {
    let folder = folder();
    for metric in [Metric::Run, Metric::Wall, Metric::Cpu, Metric::Lock] {
        let filter = Filter { metric, ..Filter::default() };
        let one = Shown::new(&testing::recording(), &filter, None).unwrap().tree;
        let (recording, facts) = sum(folder.path(), None, &filter);
        let all = tree(&recording, &filter);
        assert_eq!(facts.recordings, 7);
        assert_eq!(all.total(), one.total() * 7, "{metric}");
        assert!(all.total() > 0, "{metric}");
        let causes = |tree: &CallTree| tree.causes(NodeId::ROOT);
        let seven: Vec<_> = causes(&one).into_iter().map(|(c, value)| (c, value * 7)).collect();
        assert_eq!(causes(&all), seven, "{metric}");
    }
    // One stack, whatever the numbers and addresses of seven machines.
    let (one, _) = sum(folder.path(), None, &run_filter());
    let distinct = shown::run_time(&testing::recording(), &run_filter()).unwrap().unwrap();
    assert!(one.stacks.len() <= distinct.recording.stacks.len() + 10);
}

#[test]
fn groups_add_up_and_stand_at_the_root() {
    let folder = folder();
    let key = FleetKey::Host;
    let (recording, facts) = sum(folder.path(), Some(&key), &run_filter());
    let one = Shown::new(&testing::recording(), &run_filter(), None).unwrap().tree.total();
    let groups: Vec<_> = facts
        .groups
        .iter()
        .map(|group| (group.name.as_str(), group.recordings, group.total))
        .collect();
    assert_eq!(groups, [("c", 4, one * 4), ("b", 2, one * 2), ("a", 1, one)]);
    let all = tree(&recording, &run_filter());
    let mut roots: Vec<String> = all
        .ids()
        .filter(|id| all.node(*id).depth == 1)
        .map(|id| all.name(id).to_string())
        .collect();
    roots.sort();
    assert_eq!(roots, ["Host a", "Host b", "Host c"]);
}

#[test]
fn threads_and_times_are_chosen_in_each_recording() {
    let folder = folder();
    for filter in [
        Filter { thread: "worker".to_owned(), metric: Metric::Wall, ..Filter::default() },
        Filter { process: "(310)".to_owned(), metric: Metric::Wall, ..Filter::default() },
        Filter {
            from: Some(culprit_model::Time(50_000_000)),
            metric: Metric::Wall,
            ..Filter::default()
        },
    ] {
        let expected: u64 = (1..=7)
            .map(|number| Shown::new(&copy(number, ""), &filter, None).unwrap().tree.total())
            .sum();
        let (recording, _) = sum(folder.path(), None, &filter);
        assert!(expected > 0);
        assert_eq!(tree(&recording, &filter).total(), expected, "{filter:?}");
    }
}

#[test]
fn what_is_not_in_the_sum_is_counted_and_named() {
    let folder = folder();
    std::fs::write(folder.path().join("broken.culprit"), b"PK nothing").unwrap();
    let mut samples = testing::recording();
    samples.intervals.clear();
    samples.costs.push(culprit_model::Cost {
        thread: None,
        time: culprit_model::Time(0),
        duration: Nanos(0),
        stack: None,
        metric: Metric::Samples,
        cause: None,
        value: 5,
        count: 5,
        variance: None,
    });
    culprit_recording::write(folder.path().join("samples.culprit"), &samples).unwrap();
    let (_, facts) = sum(folder.path(), None, &run_filter());
    assert_eq!(facts.recordings, 7);
    let left_out: Vec<_> = facts
        .left_out
        .iter()
        .map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left_out, ["broken.culprit", "samples.culprit"]);
    assert!(facts.left_out[1].why.contains("`samples`"), "{}", facts.left_out[1].why);
    // A metric that only one of them has shows that one.
    let filter = Filter { metric: Metric::Samples, ..Filter::default() };
    let (recording, facts) = sum(folder.path(), None, &filter);
    assert_eq!((facts.recordings, tree(&recording, &filter).total()), (8, 5));
    // Damage inside of a file is a loss of the folder.
    let mut lossy = testing::recording();
    lossy.losses.push(culprit_model::Loss {
        kind: culprit_model::LossKind::SwitchesLost,
        count: 3,
        from: None,
        to: None,
        detail: "cpu 0".into(),
    });
    culprit_recording::write(folder.path().join("lossy.culprit"), &lossy).unwrap();
    let (recording, _) = sum(folder.path(), None, &run_filter());
    let told: Vec<_> = recording.losses.iter().map(|loss| loss.detail.as_str()).collect();
    assert_eq!(told, ["lossy.culprit: cpu 0"]);
}

#[test]
fn a_folder_without_recordings_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(add_up(folder.path(), None, &run_filter(), &output()).is_err());
    std::fs::write(folder.path().join("a.culprit"), b"nothing").unwrap();
    let error = add_up(folder.path(), None, &run_filter(), &output()).unwrap_err();
    assert!(error.to_string().contains("none of its 1 files"), "{error}");
}

#[test]
fn findings_of_a_rule_and_a_place_add_up() {
    let folder = folder();
    let one = load::findings(&testing::recording(), &run_filter(), true).unwrap();
    let costly = one.findings.iter().find(|finding| finding.cost > Nanos::ZERO).unwrap();
    let key = FleetKey::Host;
    let all = find(folder.path(), Some(&key), (&run_filter(), true), &output()).unwrap();
    assert_eq!((all.recordings, all.whole.0), (7, one.whole.0 * 7));
    let found = all.findings.iter().find(|found| found.worst.id == costly.id).unwrap();
    let cost: u64 =
        one.findings.iter().filter(|other| other.id == costly.id).map(|other| other.cost.0).sum();
    assert_eq!(found.recordings, 7);
    assert_eq!(found.groups.iter().map(|(_, cost, _)| cost.0).sum::<u64>(), found.cost.0);
    assert!(found.cost.0 <= cost * 7 && found.cost.0 >= costly.cost.0 * 7);
    assert_eq!(found.groups[0].2, 4);
    // Of equal recordings, the first is named, on any number of CPUs.
    assert!(found.worst_file.ends_with("run-1.culprit"));
}

#[test]
fn tables_have_the_same_sums_and_one_number_for_a_stack_of_all_machines() {
    let folder = folder();
    let store = folder.path().join("store");
    let counts = write_store(folder.path(), &run_filter(), &store, &output()).unwrap();
    let one = Shown::new(&testing::recording(), &run_filter(), None).unwrap().tree;
    assert_eq!(counts.recordings, 7);
    let (rows, stacks) = store::distinct::<FleetSample, _>(&store, |row| row.stack);
    assert_eq!((rows, stacks.len()), (counts.samples, counts.stacks));
    assert_eq!(rows, stacks.len() * 7);
    let (_, values) = store::distinct::<FleetSample, _>(&store, |row| {
        (row.recording.clone(), row.stack, row.value)
    });
    assert_eq!(values.iter().map(|row| row.2).sum::<u64>(), one.total() * 7);
    let (_, owners) = store::distinct::<FleetFrame, _>(&store, |row| (row.stack, row.own));
    assert_eq!(owners.iter().filter(|(_, own)| *own).count(), stacks.len());
    assert!(write_store(folder.path(), &run_filter(), &store, &output()).is_err());
}

/// Runs a command line; its outcome.
fn run(line: &str) -> Result<crate::failure::Outcome, Failure> {
    let cli = args::parse(&Settings::none(), line.split_whitespace()).unwrap();
    crate::commands::run(cli.command, &Settings::none(), &mut output())
}

#[test]
fn groups_of_one_recording_make_no_sense() {
    let folder = folder();
    let file = folder.path().join("run-1.culprit");
    let line = format!("culprit top {} --by host", file.display());
    assert!(run(&line).is_err());
    let line = format!("culprit critical-path {}", folder.path().display());
    let hint = run(&line).unwrap_err().way_out().unwrap_or_default();
    assert!(hint.contains("takes one recording"), "{hint}");
}
