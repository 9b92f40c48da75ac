//! A clean-up that is killed at random points goes on where it was, in both directions.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Site;
use super::server::digests;
use super::source::Lab;

/// Numbers from a seed (Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// Runs a command and kills it at a random point of this time. True if it ended before.
fn killed(mut command: Command, whole: Duration, random: &mut Random) -> bool {
    let mut child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let whole = u64::try_from(whole.as_micros()).unwrap();
    std::thread::sleep(Duration::from_micros(random.below(whole)));
    let ended = child.try_wait().unwrap().is_some_and(|status| status.success());
    child.kill().unwrap();
    child.wait().unwrap();
    ended
}

/// Kills `apply` and `undo` in turn until each was killed this often; every undo must give the rows
/// that were there before.
#[expect(clippy::disallowed_methods, reason = "a test takes the time of a command")]
fn kill(test: &str, kills: u32) {
    let Some(mut lab) = Lab::new(test, 2000) else { return };
    let before = digests(&mut lab.client);
    let fresh = lab.site.path("plan");
    let copy = lab.site.path("plan-copy");
    super::copy_folder(&fresh, &copy);
    let (mut random, mut count) = (Random(11), [0, 0]);
    // How long a run takes by itself.
    let began = Instant::now();
    lab.site.ok(&lab.arguments("apply", &[]));
    let times = [began.elapsed(), {
        let began = Instant::now();
        lab.site.ok(&lab.arguments("undo", &[]));
        began.elapsed()
    }];
    let gone = lab.site.json(&["clean", "status", "plan"]);
    while count.iter().any(|done| *done < kills) {
        std::fs::remove_dir_all(&fresh).unwrap();
        super::copy_folder(&copy, &fresh);
        for (at, action) in ["apply", "undo"].iter().enumerate() {
            // A few kills of one run: each goes on from the last.
            for _ in 0..3 {
                let command = lab.site.command(&lab.arguments(action, &[]));
                if killed(command, times[at], &mut random) {
                    break;
                }
                count[at] += 1;
            }
            let done = lab.site.json(&lab.arguments(action, &[]));
            if *action == "apply" {
                assert_eq!(done["expected_gone"], done["seen_gone"]);
                let status = lab.site.json(&["clean", "status", "plan"]);
                assert_eq!(status["batches"]["deleted"], gone["batches"]["all"], "{status}");
                assert_eq!(status["skipped"].as_array().unwrap().len(), 0, "{status}");
            } else {
                assert_eq!(done["left"], 0);
                assert_eq!(digests(&mut lab.client), before, "after {count:?} kills");
            }
        }
    }
    println!("killed {} times while deleting, {} times while putting back", count[0], count[1]);
}

#[test]
fn a_killed_clean_up_goes_on_in_both_directions() {
    kill("clean kills", 8);
}

#[test]
#[ignore = "50 kills in each direction: `make accuracy`"]
fn fifty_kills_in_each_direction_lose_nothing() {
    kill("clean kills", 50);
}

/// The store and the old one beside it are whole, and `status` says which is where. The state.
fn whole(site: &Site, old: &[u8]) -> String {
    let list = |folder: &PathBuf| std::fs::read(folder.join("store.json")).unwrap();
    site.ok(&["impact", "store"]);
    let status = site.json(&["clean", "status", "plan"]);
    let state = status["state"].as_str().unwrap();
    if list(&site.path("store")) == old {
        assert!(["planned", "undone"].contains(&state) && status["kept"].is_null(), "{status}");
    } else {
        assert_eq!(state, "applied", "{status}");
        assert_eq!(list(&PathBuf::from(status["kept"].as_str().unwrap())), old, "{status}");
    }
    state.to_owned()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test takes the time of a command")]
fn a_rebuild_that_is_killed_leaves_whole_stores_and_goes_on() {
    let site = Site::new(2000);
    let confirm = site.plan("plan", &["--level", "store"]);
    let old = std::fs::read(site.path("store/store.json")).unwrap();
    let arguments = |action: &'static str| {
        let head = ["clean", action, "plan", "--execute", "--confirm", confirm.as_str()];
        [&head[..], &["--allow", "share-of-day"]].concat()
    };
    // How long a run takes by itself.
    let times = ["apply", "undo"].map(|action| {
        let began = Instant::now();
        site.ok(&arguments(action));
        began.elapsed()
    });
    let mut random = Random(13);
    for _ in 0..8 {
        for (at, (action, state)) in
            [("apply", "applied"), ("undo", "undone")].into_iter().enumerate()
        {
            for _ in 0..2 {
                killed(site.command(&arguments(action)), times[at], &mut random);
                whole(&site, &old);
            }
            site.json(&arguments(action));
            assert_eq!(whole(&site, &old), state);
        }
        let beside =
            ["new", "swap", "before", "deleted"].map(|what| format!("store.{what}-{confirm}"));
        assert!(beside.iter().all(|name| !site.path(name).exists()), "{beside:?}");
    }
}
