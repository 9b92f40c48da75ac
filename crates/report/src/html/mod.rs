//! Pages of HTML that load nothing and work from `file://`.
//!
//! ```text
//! page       places: their recordings' verdict, threads, flame graph, functions, evidence
//! sections   the sections of such a page
//! data       what its scripts draw, as JSON in columns
//! markup     text cannot become markup
//! document   head, policy and style; the frame of a page without scripts
//! findings   findings as cards
//! table      tables of numbers, tables of text
//! axis       values to pixels, and ticks
//! shapes     lines, boxes and points of SVG
//! ```

mod axis;
mod data;
mod document;
mod findings;
mod markup;
mod page;
mod sections;
mod shapes;
mod table;
#[cfg(test)]
mod tests;

pub use axis::{Axis, Tick};
pub use document::{Frame, Scripts, document, integrity};
pub use findings::{findings_section, function_of, most_expensive};
pub use markup::{Attribute, Markup, escape, script_json};
pub use page::{Page, render};
pub use sections::{RecordingViews, each_view};
pub use shapes::{area, below, beside, legend, line, path, picture, point, words};
pub use table::{table, text_table};

/// The style of every page.
pub const PAGE_STYLE: &str = include_str!("page.css");
/// The style of plots, beside that of the page.
pub const PLOT_STYLE: &str = include_str!("plot.css");
