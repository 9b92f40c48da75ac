//! Small files and copy-up, on the host and on a sandbox's layer.

use culprit_probe::probes::copy_up::{CopyUp, Size};
use culprit_probe::probes::files::Files;
use culprit_probe::{Answer, Asked, Comparison};

use crate::support::{asked, run};

/// A folder on a disk: `/tmp` may be memory.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn without_control(asked: Asked) -> Asked {
    Asked { control: false, ..asked }
}

fn row<'a>(answer: &'a Answer, arm: usize, metric: &str) -> &'a Comparison {
    let at = answer.metrics.iter().position(|known| known.id == metric).unwrap();
    answer.comparison(arm, at).unwrap_or_else(|| panic!("no comparison by {metric}"))
}

/// Whether making a file costs what it costs: where many were removed in the last minutes, ext4
/// without a journal searches past all of them, which hides everything else.
fn creates_at_once(answer: &Answer) -> bool {
    let value = |id: &str| {
        let metric = answer.metrics.iter().find(|metric| metric.id == id).unwrap();
        answer.arms[0].summary(metric).unwrap().median
    };
    value("create_cpu_ns") < 12.0 * value("open_cpu_ns")
}

#[test]
fn a_layer_makes_small_files_dearer_and_the_host_itself_does_not() {
    let dir = on_disk();
    let (answer, session) = run(Files::default(), &asked(&["host", "sandbox"], dir.path()), 9);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    for metric in ["create_cpu_ns", "open_cpu_ns", "stat_cpu_ns"] {
        let layer = row(&answer, 3, metric);
        if metric == "create_cpu_ns" && !creates_at_once(&answer) {
            continue;
        }
        assert!(layer.value > 1.1, "{metric}: {layer:?}");
    }
    // The second pass has given every round its removal.
    let unlink = answer.metrics.iter().find(|metric| metric.id == "unlink_cpu_ns").unwrap();
    assert!(answer.arms.iter().all(|arm| arm.values(unlink).len() == 9));
    // A name is looked for in every layer; where the kernel lets nobody mount, nothing is told.
    let layers = |id: &str| {
        let metric = answer.metrics.iter().find(|metric| metric.id == id).unwrap();
        answer.arms[0].values(metric)
    };
    let (one, hundred) = (layers("layers_miss_cpu_ns.1"), layers("layers_miss_cpu_ns.100"));
    assert_eq!(one.len(), hundred.len());
    assert!(one.iter().zip(&hundred).all(|(one, hundred)| hundred > one), "{one:?} {hundred:?}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "everything is removed");
}

#[test]
fn copying_up_is_charged_to_open_and_to_chmod() {
    let dir = on_disk();
    let probe = CopyUp { sizes: vec![Size::M64], tree: 100 };
    let (answer, session) =
        run(probe, &without_control(asked(&["host", "sandbox"], dir.path())), 3);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    for metric in ["open_ns.64m", "chmod_ns.64m", "chmod_tree_ns"] {
        let layer = row(&answer, 1, metric);
        assert!(layer.value > if metric == "chmod_tree_ns" { 5.0 } else { 50.0 }, "{layer:?}");
    }
    let copied = answer.metrics.iter().find(|metric| metric.id == "open_copied_bytes.64m").unwrap();
    assert!(answer.arms[1].values(copied).iter().all(|bytes| *bytes >= (64 << 20) as f64));
    assert!(answer.arms[0].values(copied).iter().all(|bytes| *bytes < (1 << 20) as f64));
    // Whoever came before the copy: a descriptor follows, a mapping does not.
    for (metric, expected) in [("fresh.fd", [1.0, 1.0]), ("fresh.mapping", [1.0, 0.0])] {
        let metric = answer.metrics.iter().find(|known| known.id == metric).unwrap();
        for (arm, expected) in answer.arms.iter().zip(expected) {
            assert_eq!(arm.values(metric), [expected; 3], "{} of {}", metric.id, arm.arm.label);
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "everything is removed");
}
