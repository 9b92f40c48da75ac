//! What a case needs and this machine lacks.

use std::os::unix::net::UnixStream;

use culprit_model::{Rung, chain};
use culprit_place::{EngineKind, Settings};

use super::case::{Case, Course};

/// What is missing for a case, in words; empty when it can be run. `has_program` looks a program up.
#[must_use]
pub fn missing(
    case: &Case,
    has_program: &dyn Fn(&str) -> bool,
    settings: &Settings,
) -> Vec<String> {
    let programs = case.needs.iter().filter(|program| !has_program(program));
    let engines = case.engines.iter().filter(|engine| !answers(**engine, settings));
    let engines = engines.map(|engine| format!("a running {engine} engine"));
    // Questions are asked on whatever rung there is; a probe records nothing.
    let rights = matches!(case.course, Course::Pair(_)).then(rights).flatten();
    programs.cloned().chain(engines).chain(rights).collect()
}

/// Whether an engine listens.
fn answers(engine: EngineKind, settings: &Settings) -> bool {
    let sockets = match engine {
        EngineKind::Docker => &settings.docker_sockets,
        EngineKind::Podman => &settings.podman_sockets,
    };
    sockets.iter().any(|socket| UnixStream::connect(socket).is_ok())
}

/// Waits, wakers and files are what cases are about: they take every right of the recorder.
fn rights() -> Option<String> {
    let options = culprit_record::Options::new(culprit_record::Target::Command, "");
    match culprit_record::plan(options) {
        Ok(plan) if plan.rung() == Rung::Full => None,
        Ok(plan) => {
            Some(format!("the rights for a full recording (access level here: `{}`)", plan.rung()))
        }
        Err(error) => Some(format!("the rights to record ({})", chain(&error))),
    }
}
