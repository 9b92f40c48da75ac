//! Clean-ups of a store that are stopped after each step, as a kill stops them.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use culprit_model::Label as _;
use culprit_query::Limits;

use super::Outcome;
use super::error::CleanError;
use super::guard::Guard;
use super::journal::JOURNAL;
use super::make::{PlanOptions, make_plan, store_digest};
use super::plan::CleanLevel;
use super::rebuild::{apply_rebuild, undo_rebuild};
use super::select::{Selection, agents_with};
use super::status::{PlanState, Status, status};
use crate::import::{ImportOptions, SourceFormat, import};
use crate::sample::{SampleFormat, SampleOptions, write_sample};
use crate::store::{MANIFEST, Store};

const NOW: i64 = 1_800_000_000_000;
const LIMITS: Limits = Limits { memory_bytes: 256 << 20, threads: 1 };
const NEVER: u32 = u32::MAX;

thread_local! {
    /// Steps until the run of this thread is stopped.
    static LEFT: Cell<u32> = const { Cell::new(NEVER) };
}

/// What a run calls after each step: an error where the test stops it.
pub(super) fn after_step() -> Result<(), CleanError> {
    let left = LEFT.get();
    if left == NEVER {
        return Ok(());
    }
    LEFT.set(left.saturating_sub(1));
    if left > 1 { Ok(()) } else { Err(CleanError::Options("stopped by a test".to_owned())) }
}

/// Stops a run after this many steps. False if it ended before.
fn stopped(steps: u32, run: impl FnOnce() -> Result<Outcome, CleanError>) -> bool {
    LEFT.set(steps);
    let result = run();
    let stopped = LEFT.replace(NEVER) == 0;
    assert_eq!(result.is_err(), stopped, "{result:?}");
    stopped
}

/// A store and a plan for it.
struct Lab {
    folder: tempfile::TempDir,
    store: PathBuf,
    plan: PathBuf,
    /// Digest of the old store.
    old: String,
    /// The first part of the plan's digest.
    short: String,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let options = SampleOptions {
            interactions: 200,
            robots: 0.3,
            seed: 7,
            days: 3,
            formats: vec![SampleFormat::XdbJson],
            malformed: 0,
        };
        let never = AtomicBool::new(false);
        write_sample(&at("sample"), &options, &never).unwrap();
        let sources = vec![at("sample").join("xdb-json")];
        let options = ImportOptions::new(at("store"), SourceFormat::XdbJson, sources);
        import(&options, &never, &mut |_| {}).unwrap();
        let (store, plan) = (at("store"), at("plan"));
        let selection = Selection {
            text: "user-agent=bot".to_owned(),
            agents: agents_with(&Store::open(&store).unwrap(), "bot").unwrap(),
            ..Selection::default()
        };
        let made = make_plan(&PlanOptions {
            store: &store,
            output: &plan,
            level: CleanLevel::Store,
            selection: &selection,
            target: None,
            retention_days: 0,
            batch_rows: 100,
            now_ms: NOW,
        });
        let made = made.unwrap();
        let short = made.digest[..8].to_owned();
        Self { folder, store, plan, old: made.store.digest, short }
    }

    fn apply(&self) -> Result<Outcome, CleanError> {
        apply_rebuild(&self.plan, Guard::ALL, NOW, LIMITS)
    }

    fn undo(&self) -> Result<Outcome, CleanError> {
        undo_rebuild(&self.plan, NOW, LIMITS)
    }

    fn beside(&self, what: &str) -> PathBuf {
        self.folder.path().join(format!("store.{what}-{}", self.short))
    }

    /// Names beside the store.
    fn names(&self) -> Vec<&'static str> {
        let there = |what: &&str| self.beside(what).exists();
        ["new", "swap", "before", "deleted"].into_iter().filter(there).collect()
    }

    /// As if nothing had been done with the plan.
    fn forget(&self) {
        assert_eq!((store_digest(&self.store).unwrap(), self.names()), (self.old.clone(), vec![]));
        std::fs::remove_file(self.plan.join(JOURNAL)).ok();
    }

    /// What must hold wherever a run was stopped.
    fn check(&self) -> Status {
        expect_whole(&self.store);
        let found = status(&self.plan).unwrap();
        if store_digest(&self.store).unwrap() == self.old {
            assert!(matches!(found.state, PlanState::Planned | PlanState::Undone), "{found:?}");
            assert_eq!(found.kept, None);
        } else {
            assert_eq!(found.state, PlanState::Applied);
            let kept = found.kept.as_deref().unwrap();
            expect_whole(kept);
            assert_eq!(store_digest(kept).unwrap(), self.old);
            assert_ne!(found.left_over, found.kept);
        }
        found
    }

    /// Deletes a part of the folder that was being deleted.
    fn delete_partly(&self) {
        std::fs::remove_file(self.beside("deleted").join(MANIFEST)).ok();
    }

    /// The old store is at its place, and nothing is beside it.
    fn expect_undone(&self) {
        assert_eq!(self.check().state, PlanState::Undone);
        self.expect_only_old();
    }

    fn expect_only_old(&self) {
        assert_eq!(store_digest(&self.store).unwrap(), self.old);
        assert_eq!(self.names(), Vec::<&str>::new());
    }

    fn expect_applied(&self) {
        assert_eq!(self.check().state, PlanState::Applied);
        assert_eq!(self.names(), ["before"]);
    }
}

fn expect_whole(store: &Path) {
    assert_eq!(Store::open(store).unwrap().missing_file(), None);
}

impl Lab {
    /// Ends with the old store at its place and a plan that was never carried out.
    fn undo_and_forget(&self) {
        self.undo().unwrap();
        self.expect_undone();
        self.forget();
    }

    /// Calls `then` after each step at which an undo can be stopped; how many there are, and the end.
    fn stop_each_undo(&self, then: impl Fn()) -> u32 {
        for steps in 1.. {
            self.apply().unwrap();
            if !stopped(steps, || self.undo()) {
                return steps;
            }
            then();
        }
        NEVER
    }
}

#[test]
fn an_apply_that_is_stopped_after_any_step_goes_on() {
    let lab = Lab::new();
    let mut steps = 1;
    while stopped(steps, || lab.apply()) {
        lab.check();
        lab.apply().unwrap();
        lab.expect_applied();
        lab.undo_and_forget();
        steps += 1;
    }
    lab.expect_applied();
    assert_eq!(steps, 8, "the steps of `apply`");
}

#[test]
fn an_apply_that_is_stopped_after_any_step_is_undone() {
    let lab = Lab::new();
    let mut steps = 1;
    while stopped(steps, || lab.apply()) {
        lab.check();
        match lab.undo() {
            // It was stopped before it wrote anything.
            Err(error) => assert!(steps == 1 && error.to_string().contains("never"), "{error}"),
            Ok(_) => assert!(steps > 1),
        }
        lab.check();
        lab.forget();
        steps += 1;
    }
}

#[test]
fn an_undo_that_is_stopped_after_any_step_goes_on() {
    let lab = Lab::new();
    let steps = lab.stop_each_undo(|| {
        // The next run is stopped, too.
        for again in 1.. {
            lab.check();
            lab.delete_partly();
            lab.check();
            if !stopped(again, || lab.undo()) {
                break;
            }
        }
        lab.expect_undone();
        lab.forget();
    });
    lab.expect_undone();
    assert_eq!(steps, 6, "the steps of `undo`");
}

#[test]
fn an_undo_that_is_stopped_after_any_step_is_applied_again() {
    let lab = Lab::new();
    lab.stop_each_undo(|| {
        lab.delete_partly();
        lab.check();
        lab.apply().unwrap();
        lab.expect_applied();
        lab.undo_and_forget();
    });
}

/// The version before gave the old store the name `.new` for a moment, and deleted the rebuilt one as
/// `.before`.
#[test]
fn folders_that_an_earlier_version_left_are_taken_for_what_they_are() {
    let lab = Lab::new();
    lab.apply().unwrap();
    std::fs::rename(lab.beside("before"), lab.beside("new")).unwrap();
    std::fs::create_dir_all(lab.beside("before").join("facets")).unwrap();
    let found = lab.check();
    assert_eq!(
        (found.kept, found.left_over),
        (Some(lab.beside("new")), Some(lab.beside("before")))
    );
    lab.apply().unwrap();
    lab.expect_applied();
    lab.undo().unwrap();
    lab.expect_undone();
    // A rebuilt store that an undo began to delete.
    std::fs::create_dir_all(lab.beside("before").join("facets")).unwrap();
    assert_eq!(lab.check().state, PlanState::Undone);
    lab.undo().unwrap();
    lab.expect_undone();
}

#[test]
fn a_store_that_changed_after_the_undo_is_left_alone() {
    let lab = Lab::new();
    lab.apply().unwrap();
    lab.undo().unwrap();
    let list = lab.store.join(MANIFEST);
    let text = std::fs::read_to_string(&list).unwrap();
    std::fs::write(&list, format!("{text}\n")).unwrap();
    let error = lab.undo().unwrap_err();
    assert!(error.to_string().contains("it was undone"), "{error}");
    assert_eq!(lab.names(), Vec::<&str>::new());
}

/// Somebody lost the list of files of the old store: the rest of it is all that there is.
#[test]
fn a_damaged_old_store_is_not_deleted() {
    let lab = Lab::new();
    lab.apply().unwrap();
    std::fs::remove_file(lab.beside("before").join(MANIFEST)).unwrap();
    let error = lab.undo().unwrap_err();
    assert!(error.to_string().contains("is gone"), "{error}");
    lab.apply().unwrap();
    assert_eq!(lab.names(), ["before"]);
}

#[test]
fn a_store_of_somebody_else_beside_it_is_not_deleted() {
    let lab = Lab::new();
    let other = lab.beside("before");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join(MANIFEST), "{}").unwrap();
    let error = lab.apply().unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert!(other.join(MANIFEST).exists());
}
