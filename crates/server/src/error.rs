//! Why a page cannot be served, and the way out.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why a page cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is no recording, or cannot be read.
    #[error(transparent)]
    Recording(#[from] culprit_recording::Error),
    /// A folder cannot be read.
    #[error("cannot read the folder `{}`", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder has nothing to show.
    #[error("cannot show `{}`: no file in it ends in `.culprit`", .0.display())]
    NoRecording(PathBuf),
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no randomness.
    #[error("cannot make a token")]
    Token(#[source] io::Error),
    /// The system refuses to listen on.
    #[error("cannot serve the page")]
    Serve(#[source] io::Error),
}

impl Error {
    /// True where the input is to blame, false where the machine is.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Recording(_) | Self::Folder { .. } | Self::NoRecording(_))
    }

    /// The way out; none where the message has it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoRecording(_) => Some("make a recording with `culprit record -- CMD`"),
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("leave out `--port`: any free port is used then")
            }
            _ => None,
        }
    }
}
