//! The page on loopback: its files, the list of recordings and their bytes.
//!
//! ```text
//! GET /?t=TOKEN               once: a cookie, then /
//! GET /, /assets/NAME         the built page, out of the program itself
//! GET /api/recordings         their names, sizes and times
//! GET /api/recordings/NAME    the bytes of one, or a range of them
//! ```
//!
//! Everything that asks is hostile: other users of the machine, and pages of other sites in the user's own
//! browser. So each request must have our own address in `Host`, no other one in `Origin`, and but for the
//! first the cookie that the token was exchanged for. No path of a request leads to a file: names are
//! looked up in a table, or in the listing of one folder.

mod access;
mod error;
mod library;
mod range;
mod routes;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

pub use error::Error;

use access::Access;
use library::Library;
use tokio::sync::Notify;

/// A page that is bound to its address and not served yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    state: Arc<State>,
    url: String,
    stopper: Stopper,
}

/// Ends a page from another thread.
#[derive(Debug, Clone, Default)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Ends it, also when it is not served yet.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// What all requests share.
#[derive(Debug)]
struct State {
    access: Access,
    library: Library,
}

impl Server {
    /// Binds loopback for the page of a recording, or of a folder of them. Port 0 is any free one.
    ///
    /// # Errors
    /// When the path has no recording, the port cannot be had, or there is no randomness for a token.
    pub fn bind(path: &Path, port: u16) -> Result<Self, Error> {
        let library = Library::open(path)?;
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bound = |source| Error::Bind { address: asked, source };
        let listener = TcpListener::bind(asked).map_err(bound)?;
        listener.set_nonblocking(true).map_err(bound)?;
        let address = listener.local_addr().map_err(bound)?;
        let (access, token) = Access::new(address.port())?;
        let url = format!("http://{address}/?t={token}");
        let state = Arc::new(State { access, library });
        Ok(Self { listener, state, url, stopper: Stopper::default() })
    }

    /// The address with the token, which opens the page once.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What ends the page.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// How many recordings there are now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn recordings(&self) -> Result<usize, Error> {
        Ok(self.state.library.list()?.len())
    }

    /// Serves the page until it is stopped. Answers that are under way then are cut.
    ///
    /// # Errors
    /// When the system refuses to listen on.
    pub fn serve(self) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::Serve)?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let serve = axum::serve(listener, routes::router(self.state));
            tokio::select! {
                served = serve => served,
                () = self.stopper.0.notified() => Ok(()),
            }
        });
        runtime.shutdown_background();
        served.map_err(Error::Serve)
    }
}
