//! What an engine knows about a container and an image without running anything: the variables that they
//! were made with, labels, times.

use std::collections::BTreeMap;

use bollard::models::{ContainerInspectResponse, ImageInspect};
use culprit_model::Pid;

use super::client::{Client, is_missing, runtime};
use super::place::image_missing;
use crate::error::{Error, Result};
use crate::place::Settings;
use crate::spec::EngineKind;

/// A container as its engine describes it, running or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InspectedContainer {
    /// The engine's number for it, 64 hexadecimal digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The image that it was made from, as the user of the engine named it.
    pub image: String,
    /// The number of that image, `sha256:...`; the name may stand for another one by now.
    pub image_id: String,
    /// The variables that it was created with, `NAME=value`, in the engine's order: those that were given,
    /// then those of the image that were not replaced.
    pub environment: Vec<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When it was created, as the engine writes it (RFC 3339).
    pub created: String,
    /// Its first process in our pid namespace; none if it does not run.
    pub init: Option<Pid>,
    /// Its state in the engine's word.
    pub state: String,
    /// Where its commands work.
    pub work_dir: String,
}

/// An image as its engine describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InspectedImage {
    /// Its number, `sha256:...`.
    pub id: String,
    /// Its names.
    pub names: Vec<String>,
    /// The variables that its containers begin with, `NAME=value`.
    pub environment: Vec<String>,
    /// Where commands of its containers work.
    pub work_dir: String,
}

/// Asks every engine that answers for a container.
///
/// # Errors
/// [`Error::ContainerMissing`] when no engine knows it; [`Error::EngineUnavailable`] when none answers.
pub fn inspect_container(
    name: &str,
    settings: &Settings,
) -> Result<(EngineKind, InspectedContainer)> {
    let mut why = Vec::new();
    let mut unavailable = Vec::new();
    for engine in [EngineKind::Docker, EngineKind::Podman] {
        let client = match Client::connect(engine, settings) {
            Ok(client) => client,
            Err(error) => {
                why.push(error.to_string());
                unavailable.push(error);
                continue;
            }
        };
        match runtime()?.block_on(client.docker().inspect_container(name, None)) {
            Ok(found) => return Ok((engine, container(found))),
            Err(reply) if is_missing(&reply) => {
                why.push(format!("{engine} has no container with this name"));
            }
            Err(reply) => return Err(client.error("inspect a container", &reply)),
        }
    }
    if unavailable.len() == 2 {
        return Err(unavailable.swap_remove(0));
    }
    Err(Error::ContainerMissing { name: name.to_owned(), why: why.join("; ") })
}

/// Asks an engine for an image.
///
/// # Errors
/// [`Error::ImageMissing`] when it has no such image; [`Error::EngineUnavailable`] when it does not answer.
pub fn inspect_image(
    engine: EngineKind,
    name: &str,
    settings: &Settings,
) -> Result<InspectedImage> {
    let client = Client::connect(engine, settings)?;
    match runtime()?.block_on(client.docker().inspect_image(name)) {
        Ok(found) => Ok(image(found)),
        Err(reply) if is_missing(&reply) => Err(image_missing(&client, name)),
        Err(reply) => Err(client.error("inspect an image", &reply)),
    }
}

fn container(found: ContainerInspectResponse) -> InspectedContainer {
    let state = found.state.unwrap_or_default();
    let config = found.config.unwrap_or_default();
    let init = state.pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
    InspectedContainer {
        id: found.id.unwrap_or_default(),
        name: found.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        image: config.image.unwrap_or_default(),
        image_id: found.image.unwrap_or_default(),
        environment: config.env.unwrap_or_default(),
        labels: config.labels.unwrap_or_default().into_iter().collect(),
        created: found.created.map(|time| time.to_string()).unwrap_or_default(),
        init: init.filter(|_| state.running == Some(true)).map(Pid),
        state: state.status.map(|status| status.to_string()).unwrap_or_default(),
        work_dir: config.working_dir.unwrap_or_default(),
    }
}

fn image(found: ImageInspect) -> InspectedImage {
    let config = found.config.unwrap_or_default();
    InspectedImage {
        id: found.id.unwrap_or_default(),
        names: found.repo_tags.unwrap_or_default(),
        environment: config.env.unwrap_or_default(),
        work_dir: config.working_dir.unwrap_or_default(),
    }
}
