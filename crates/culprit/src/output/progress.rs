//! One line on stderr that says what is going on; nothing where no terminal would show it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress line.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shown or not.
    pub(crate) fn new(shown: bool) -> Self {
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        Self { bar }
    }

    /// Counts `steps` steps from now on.
    pub(crate) fn steps(&self, steps: u64) {
        self.bar.set_length(steps);
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len} {wide_msg}")
        {
            self.bar.set_style(style);
        }
    }

    /// Says what is going on.
    pub(crate) fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
        self.bar.tick();
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
