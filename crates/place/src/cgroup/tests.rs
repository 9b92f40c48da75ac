//! Real cgroups, where we may make them.

use super::{Cgroup, Position};
use crate::owner::Owner;
use culprit_model::Pid;
use std::path::{Path, PathBuf};

fn skipped(name: &str, why: &crate::Error) {
    println!("skipped: {name}: {why}");
}

#[test]
fn what_we_make_is_gone_with_the_value() {
    for position in [Position::BelowOurs, Position::Top] {
        let group = match Cgroup::create_counting(position) {
            Ok(group) => group,
            Err(e) => return skipped("what_we_make_is_gone_with_the_value", &e),
        };
        let folders = group.folders.clone();
        assert!(folders.iter().all(|f| f.is_dir()), "{folders:?}");
        assert_eq!(group.members().unwrap(), []);
        assert!(group.counters().unwrap().read().cpu.usage_ns.is_some());
        let name = folders[0].file_name().unwrap().to_str().unwrap();
        if position == Position::Top {
            assert_eq!(group.engine_parent(false).unwrap(), format!("/{name}"));
            assert_eq!(group.engine_parent(true).unwrap(), name);
        }
        drop(group);
        assert!(folders.iter().all(|f| !f.exists()), "{folders:?}");
    }
}

#[test]
fn an_existing_cgroup_is_opened_and_left_alone() {
    let ours = match Cgroup::of_process(Pid(std::process::id())) {
        Ok(group) => group,
        Err(e) => return skipped("an_existing_cgroup_is_opened_and_left_alone", &e),
    };
    assert!(ours.members().unwrap().contains(&Pid(std::process::id())));
    let again = Cgroup::open(ours.folder()).unwrap();
    assert_eq!(again.folder(), ours.folder());
    again.remove().unwrap();
    assert!(ours.folder().is_dir());
    assert!(Cgroup::open(Path::new("/no/such/group")).is_err());
}

#[test]
fn only_the_dead_are_swept() {
    let alive = match Cgroup::create(Position::BelowOurs) {
        Ok(group) => group,
        Err(e) => return skipped("only_the_dead_are_swept", &e),
    };
    let name = alive.folder().file_name().unwrap().to_string_lossy().into_owned();
    // The same maker, but for a start time in which no process of this number started.
    let ours = Owner::ours().unwrap().to_string();
    let (maker, _start) = ours.rsplit_once('_').unwrap();
    let dead: PathBuf = alive.folder().with_file_name(format!("{maker}_1_0.slice"));
    std::fs::create_dir(&dead).unwrap();
    // Another process may sweep in between.
    let _below = std::fs::create_dir(dead.join("below"));
    super::sweep();
    assert!(alive.folder().is_dir(), "{name}");
    // Another process may sweep at the same time, and be in the middle.
    culprit_testkit::wait_until("the dead one is gone", || !dead.exists());
}
