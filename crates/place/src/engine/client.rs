//! The connection to an engine: found, spoken to, and its errors put into our words.

use std::path::{Path, PathBuf};

use bollard::errors::Error as Reply;
use bollard::{API_DEFAULT_VERSION, Docker};
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};
use crate::place::Settings;
use crate::spec::EngineKind;

/// Seconds that an answer may take. Making a container takes about one on an idle machine.
const PATIENCE_S: u64 = 120;

/// An engine that has answered.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) kind: EngineKind,
    docker: Docker,
}

/// A runtime for the calls of one thread. It runs only while it is waited on.
pub(super) fn runtime() -> Result<Runtime> {
    let error = |e| Error::file("make", "an event loop", e);
    Builder::new_current_thread().enable_all().build().map_err(error)
}

impl Client {
    /// The first of the engine's sockets that answers.
    pub(super) fn connect(kind: EngineKind, settings: &Settings) -> Result<Self> {
        let mut said = Vec::new();
        for socket in sockets(kind, settings) {
            match Self::try_socket(kind, socket)? {
                Ok(client) => return Ok(client),
                Err(why) => said.push(format!("`{}`: {why}", socket.display())),
            }
        }
        Err(Error::EngineUnavailable { engine: kind, why: said.join("; ") })
    }

    fn try_socket(kind: EngineKind, socket: &Path) -> Result<std::result::Result<Self, String>> {
        if let Err(why) = std::os::unix::net::UnixStream::connect(socket) {
            return Ok(Err(why.to_string()));
        }
        let path = socket.to_string_lossy();
        let docker = match Docker::connect_with_unix(&path, PATIENCE_S, API_DEFAULT_VERSION) {
            Ok(docker) => docker,
            Err(why) => return Ok(Err(why.to_string())),
        };
        // An older engine refuses a newer version of its interface; ask which one it speaks.
        let agreed = runtime()?.block_on(docker.negotiate_version());
        Ok(agreed.map(|docker| Self { kind, docker }).map_err(|why| why.to_string()))
    }

    pub(super) fn docker(&self) -> &Docker {
        &self.docker
    }

    /// One call, waited for.
    pub(super) fn call<'a, T, F>(
        &'a self,
        doing: &str,
        call: impl FnOnce(&'a Docker) -> F,
    ) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, Reply>>,
    {
        let runtime = runtime()?;
        runtime.block_on(call(&self.docker)).map_err(|reply| self.error(doing, &reply))
    }

    pub(super) fn error(&self, doing: &str, reply: &Reply) -> Error {
        Error::Engine { engine: self.kind, doing: doing.to_owned(), why: words(reply) }
    }
}

/// The engine's own words, without those of its client.
pub(super) fn words(reply: &Reply) -> String {
    match reply {
        Reply::DockerResponseServerError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// Whether the engine says that there is no such thing.
pub(super) fn is_missing(reply: &Reply) -> bool {
    matches!(reply, Reply::DockerResponseServerError { status_code: 404, .. })
}

/// Whether the engine says that the thing is in use or being worked on.
pub(super) fn is_conflict(reply: &Reply) -> bool {
    matches!(reply, Reply::DockerResponseServerError { status_code: 409, .. })
}

fn sockets(kind: EngineKind, settings: &Settings) -> &[PathBuf] {
    match kind {
        EngineKind::Docker => &settings.docker_sockets,
        EngineKind::Podman => &settings.podman_sockets,
    }
}
