//! Colour for terminals; without colour the same text, bare.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};
use culprit_model::{Cause, Severity};

use crate::palette::cause_color;

/// Paints text when colour is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    colour: bool,
}

impl Paint {
    /// With or without colour.
    #[must_use]
    pub const fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// True when colour is wanted.
    #[must_use]
    pub const fn coloured(self) -> bool {
        self.colour
    }

    fn style(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// What the eye should find first.
    #[must_use]
    pub fn strong(self, text: &str) -> String {
        self.style(Style::new().bold(), text)
    }

    /// What may be skipped.
    #[must_use]
    pub fn faint(self, text: &str) -> String {
        self.style(Style::new().dimmed(), text)
    }

    /// A heading.
    #[must_use]
    pub fn heading(self, text: &str) -> String {
        self.style(Style::new().bold().underline(), text)
    }

    /// Text in a cause's colour.
    #[must_use]
    pub fn cause(self, cause: Cause, text: &str) -> String {
        let colour = Color::Ansi256(Ansi256Color(cause_color(cause).ansi));
        self.style(Style::new().fg_color(Some(colour)), text)
    }

    /// Text in a severity's colour.
    #[must_use]
    pub fn severity(self, severity: Severity, text: &str) -> String {
        let colour = match severity {
            Severity::High => AnsiColor::Red,
            Severity::Medium => AnsiColor::Yellow,
            Severity::Low => AnsiColor::Cyan,
            Severity::Info => AnsiColor::White,
        };
        self.style(Style::new().bold().fg_color(Some(Color::Ansi(colour))), text)
    }

    /// Something is fine.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.style(Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green))), text)
    }

    /// Something is not fine.
    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.style(Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))), text)
    }
}
