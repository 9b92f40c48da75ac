//! Everything that reaches the user: stdout is data, stderr is talk.
//!
//! [`Output`] owns both. Commands hand it finished text or one JSON document; it knows whether a
//! terminal listens, how wide it is and whether colour is wanted. A reader that goes away (`| head`)
//! is no error: what follows is dropped.

mod error_document;
mod progress;

use std::io::{self, BufWriter, IsTerminal as _, Write};

use serde::Serialize;

use crate::args::{ColorChoice, GlobalArgs};
use crate::failure::{Context as _, Failure};
use crate::settings;

pub(crate) use culprit_model::values::{bytes, percent};
pub(crate) use culprit_model::{clean, clean_lines};
pub(crate) use culprit_report::layout::{Align, Layout, Paint, Table, wrap};
use error_document::ErrorDocument;
pub(crate) use progress::Progress;

/// Output is never laid out wider: long lines are hard to read.
const WIDEST: usize = 120;
/// The width where neither a terminal nor `COLUMNS` tells one.
const UNKNOWN_WIDTH: usize = 100;
/// The narrowest layout; a narrower terminal wraps by itself.
const NARROWEST: usize = 60;

/// The door to stdout and stderr.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    layout: Layout,
    talk_paint: Paint,
    /// True when the reader of stdout has gone away.
    closed: bool,
    /// True when the one JSON document has been printed.
    documented: bool,
}

impl Output {
    /// For this process, as the global options say.
    pub(crate) fn new(args: &GlobalArgs) -> Self {
        let colour = |terminal: bool| match args.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !settings::no_color() && !settings::dumb_terminal(),
        };
        Self {
            json: args.json,
            quiet: args.quiet,
            layout: Layout {
                paint: Paint::new(colour(io::stdout().is_terminal())),
                width: width(),
                terminal: io::stdout().is_terminal(),
            },
            talk_paint: Paint::new(colour(io::stderr().is_terminal())),
            closed: false,
            documented: false,
        }
    }

    /// For a failure from before the options could be read.
    pub(crate) fn unread(json: bool) -> Self {
        let layout = Layout::plain(UNKNOWN_WIDTH);
        Self {
            json,
            quiet: false,
            layout,
            talk_paint: layout.paint(),
            closed: false,
            documented: false,
        }
    }

    /// True when one JSON document is wanted instead of text.
    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }

    /// True when nothing but what must not be missed is said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How texts for stdout are laid out.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Colours for stdout.
    pub(crate) fn paint(&self) -> Paint {
        self.layout.paint()
    }

    /// Colours for stderr.
    pub(crate) fn talk_paint(&self) -> Paint {
        self.talk_paint
    }

    /// Columns to lay text out in.
    pub(crate) fn width(&self) -> usize {
        self.layout.width()
    }

    /// Prints text on stdout.
    ///
    /// # Errors
    /// When stdout cannot take it, for another reason than that its reader went away.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.print_bytes(text.as_bytes())
    }

    /// Prints bytes on stdout as they are.
    ///
    /// # Errors
    /// As [`Output::print`].
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.print_by(|out| out.write_all(bytes))
    }

    /// Prints on stdout what is written piece by piece.
    ///
    /// # Errors
    /// As [`Output::print`], and what `write` itself fails with.
    pub(crate) fn print_by(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match write(&mut stdout).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            result => result.or_refused(|| "cannot write to stdout".to_owned()),
        }
    }

    /// Prints the one JSON document, as it is made.
    ///
    /// # Errors
    /// As [`Output::print`].
    pub(crate) fn document(&mut self, document: &impl Serialize) -> Result<(), Failure> {
        self.documented = true;
        self.print_by(|out| {
            let mut out = BufWriter::with_capacity(1 << 16, out);
            serde_json::to_writer_pretty(&mut out, document)?;
            out.write_all(b"\n")?;
            out.flush()
        })
    }

    /// Prints results: the one JSON document, or the text.
    ///
    /// # Errors
    /// As [`Output::print`].
    pub(crate) fn show<D: Serialize>(
        &mut self,
        document: impl FnOnce() -> D,
        text: impl FnOnce(&Layout) -> String,
    ) -> Result<(), Failure> {
        match self.json {
            true => self.document(&document()),
            false => self.print(&text(&self.layout)),
        }
    }

    /// Tells a failure: in words on stderr, and with `--json` as the document on stdout.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        stderr(&failure.text());
        self.document_of(failure);
    }

    /// With `--json`, the document of a failure that stderr has been told of; unless the command's
    /// own document, which names its problems, has been printed.
    pub(crate) fn document_of(&mut self, failure: &Failure) {
        if self.json && !self.documented {
            // The command fails already; that stdout cannot take the reason changes nothing.
            let _ = self.document(&ErrorDocument::new(failure));
        }
    }

    /// Says on stderr what must not be missed, also with `--quiet`.
    pub(crate) fn warn(&self, text: &str) {
        stderr(&clean_lines(text));
    }

    /// Says something on stderr, unless `--quiet`. It may quote names from outside.
    pub(crate) fn say(&self, text: &str) {
        self.say_painted(&clean_lines(text));
    }

    /// As [`Output::say`], for text that has colours and whose names are clean already.
    pub(crate) fn say_painted(&self, text: &str) {
        if !self.quiet {
            stderr(&format!("{text}\n"));
        }
    }

    /// A progress line on stderr: only on a terminal, and not with `--quiet`.
    pub(crate) fn progress(&self) -> Progress {
        let shown = !self.quiet && io::stderr().is_terminal() && !settings::dumb_terminal();
        Progress::new(shown)
    }

    /// Everything was printed.
    ///
    /// # Errors
    /// As [`Output::print`].
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.print("")
    }
}

/// Writes to stderr. That nobody reads it is nothing that could be told to anyone.
pub(crate) fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn width() -> usize {
    let terminal = rustix::termios::tcgetwinsize(io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()))
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0);
    settings::columns().or(terminal).unwrap_or(UNKNOWN_WIDTH).clamp(NARROWEST, WIDEST)
}
