//! `culprit view [FILE|FOLDER]`: the page, on loopback, until Ctrl-C.

use culprit_report::json::SCHEMA;
use culprit_server::{Error, Server};
use serde::Serialize;

use crate::args::ViewPageArgs;
use crate::failure::{Failure, Outcome, chain};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::settings;

/// What opens an address in the desktop's browser.
const OPENER: &str = "xdg-open";

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
    match args.open.then(|| open(server.url())) {
        None => output.say("Open this address in a browser. It works once; Ctrl-C ends the page."),
        Some(Ok(())) => output.say("The browser opens the page; Ctrl-C ends it."),
        Some(Err(why)) => output.say(&format!(
            "Cannot open a browser: {why}. Open this address in one. It works once; Ctrl-C ends the page."
        )),
    }
    server.serve().map_err(|error| failure(&error))?;
    drop(interrupts);
    Ok(Outcome::Interrupted)
}

/// Hands an address to the desktop's browser.
fn open(url: &str) -> Result<(), String> {
    if !settings::has_display() {
        return Err("no display: neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned());
    }
    culprit_place::start_detached(OPENER, [url])
        .map_err(|error| format!("`{OPENER}` does not start: {error}"))
}

fn failure(error: &Error) -> Failure {
    let text = chain(error);
    let failure = if error.is_input() { Failure::bad_input(text) } else { Failure::refused(text) };
    failure.hints(error.hint())
}
