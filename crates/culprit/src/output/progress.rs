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
        style(&bar, "{spinner} {wide_msg}");
        Self { bar }
    }

    /// Counts `steps` steps from now on.
    pub(crate) fn steps(&self, steps: u64) {
        self.bar.set_length(steps);
        style(&self.bar, "{bar:24.cyan/dim} {pos}/{len} {wide_msg}");
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

    /// Does something that prints, without the line in its way.
    pub(crate) fn clear_for<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A template that indicatif cannot read leaves its own style, which works too.
fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}
