//! `culprit view [FILE|FOLDER]`: the page, on loopback, until Ctrl-C.

use culprit_report::json::SCHEMA;
use culprit_server::{Error, Server};
use serde::Serialize;

use crate::args::ViewPageArgs;
use crate::failure::{Failure, Outcome, chain};
use crate::interrupt::Interrupts;
use crate::output::Output;

/// Where the page is.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    url: &'a str,
    recordings: usize,
}

/// Runs it.
///
/// # Errors
/// When there is no recording to show, or the port cannot be had.
pub(crate) fn run(args: &ViewPageArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let server = Server::bind(&args.path, args.port).map_err(|error| failure(&error))?;
    let recordings = server.recordings().map_err(|error| failure(&error))?;
    // Whoever reads the address may end the program right away.
    let stopper = server.stopper();
    let interrupts = Interrupts::watch(move |_| stopper.stop())?;
    if output.wants_json() {
        output.document(&Document { schema: SCHEMA, url: server.url(), recordings })?;
    } else {
        output.print(&format!("{}\n", server.url()))?;
    }
    output.say("Open this address in a browser. It works once; Ctrl-C ends the page.");
    server.serve().map_err(|error| failure(&error))?;
    drop(interrupts);
    Ok(Outcome::Interrupted)
}

fn failure(error: &Error) -> Failure {
    let text = chain(error);
    let failure = if error.is_input() { Failure::bad_input(text) } else { Failure::refused(text) };
    failure.hints(error.hint())
}
