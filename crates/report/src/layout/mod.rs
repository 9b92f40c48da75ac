//! Texts for people in lines of a width: tables, bars, wrapped prose, colours.
//!
//! Whoever prints a text says how wide it may be and whether colour is wanted: [`Layout`].

mod bars;
mod paint;
mod table;
mod wrap;

pub use culprit_model::elide;

pub use bars::{Part, bar, shares};
pub use paint::Paint;
pub use table::{Align, Table};
pub use wrap::wrap;

/// How a text is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Colour, or none.
    pub paint: Paint,
    /// Columns that prose and tables may take.
    pub width: usize,
    /// True when a terminal shows the text: it is cut to the width. Elsewhere names are left whole.
    pub terminal: bool,
}

impl Layout {
    /// For a reader who is no terminal: without colour, with names left whole.
    #[must_use]
    pub const fn plain(width: usize) -> Self {
        Self { paint: Paint::new(false), width, terminal: false }
    }

    /// Colours of the text.
    #[must_use]
    pub const fn paint(&self) -> Paint {
        self.paint
    }

    /// Columns to lay text out in.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Columns for tables of values and names: what is no terminal gets them whole.
    #[must_use]
    pub const fn width_of_values(&self) -> usize {
        if self.terminal { self.width } else { usize::MAX }
    }
}
