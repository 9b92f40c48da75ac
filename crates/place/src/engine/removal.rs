//! Containers and images that go.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bollard::errors::Error as Reply;
use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveImageOptions};

use super::client::{Client, is_conflict, is_missing};
use crate::error::Result;

/// How often a container may refuse to be removed, and how long it is left alone in between: 10 s in all.
const PAUSES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// Removes a container of a list. One that cannot be removed stays on the list, for the place's own end.
pub(super) fn discard(client: &Client, containers: &Mutex<Vec<String>>, name: &str) {
    let mut names = containers.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(i) = names.iter().position(|known| known == name)
        && remove_container(client, name).is_ok_and(|removed| removed)
    {
        names.swap_remove(i);
    }
}

/// Removes a container with its anonymous volumes, running or not. `false` when the engine is busy
/// with it, because it is being removed already.
pub(super) fn remove_container(client: &Client, name: &str) -> Result<bool> {
    removed(client, REMOVE, ask_to_remove(client, name)?)
}

/// Removes a container that an engine may still be starting or removing: it refuses meanwhile.
///
/// # Errors
/// What the engine says after the last pause, or that it does not answer.
pub(super) fn remove_patiently(client: &Client, name: &str) -> Result<()> {
    let mut pauses = 0..PAUSES;
    loop {
        match ask_to_remove(client, name)? {
            Err(reply) if is_missing(&reply) => return Ok(()),
            Err(Reply::DockerResponseServerError { .. }) if pauses.next().is_some() => {
                std::thread::sleep(PAUSE);
            }
            Err(reply) => return Err(client.error(REMOVE, &reply)),
            Ok(()) => return Ok(()),
        }
    }
}

/// What errors call it.
const REMOVE: &str = "remove a container";

/// Asks an engine once to remove a container with its anonymous volumes; its answer.
fn ask_to_remove(client: &Client, name: &str) -> Result<std::result::Result<(), Reply>> {
    let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
    let removing = client.docker().remove_container(name, Some(options));
    Ok(super::client::runtime()?.block_on(removing))
}

/// Removes an image. `false` when it is in use.
pub(super) fn remove_image(client: &Client, name: &str) -> Result<bool> {
    let removing = client.docker().remove_image(name, None::<RemoveImageOptions>, None);
    removed(client, "remove an image", super::client::runtime()?.block_on(removing).map(drop))
}

/// What is not there is removed.
fn removed(client: &Client, doing: &str, reply: std::result::Result<(), Reply>) -> Result<bool> {
    match reply {
        Ok(()) => Ok(true),
        Err(reply) if is_missing(&reply) => Ok(true),
        Err(reply) if is_conflict(&reply) => Ok(false),
        Err(reply) => Err(client.error(doing, &reply)),
    }
}
