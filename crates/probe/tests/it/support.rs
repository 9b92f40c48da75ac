//! What all tests here need.

use std::path::{Path, PathBuf};

use culprit_engine::stats::Stopping;
use culprit_place::{PlaceSpec, Settings};
use culprit_probe::{Answer, Asked, Hooks, Plan, Probe, Session, Workers, conduct};

/// The measuring program.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_probe-worker"))
}

/// What a user would ask for with these places, working in this folder.
pub(crate) fn asked(places: &[&str], dir: &Path) -> Asked {
    let places = places.iter().map(|text| text.parse::<PlaceSpec>().expect("a place")).collect();
    Asked { places, at: Vec::new(), host_dir: dir.to_path_buf(), control: true }
}

/// A session of so many rounds.
pub(crate) fn run(probe: impl Probe + 'static, asked: &Asked, rounds: u32) -> (Answer, Session) {
    let plan = Plan {
        arms: probe.arms(asked).expect("arms"),
        probe: Box::new(probe),
        warmup: 0,
        stopping: Stopping { least: rounds, ..Stopping::for_band(0.05, rounds) },
        budget_ns: 60_000_000_000,
        band: 0.05,
    };
    let mut workers = Workers::new(program(), Settings::default());
    let hooks = Hooks { interrupted: &|| false, doing: &|_| {} };
    let session = conduct(&plan, &mut workers, &hooks);
    assert!(workers.remove().is_empty(), "everything is removed");
    (Answer::new(&plan, &session), session)
}
