//! Shared, immutable text: a cell that is cheap to clone.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::column::{Cell, ColumnData, ColumnType, ShapeError, Values};

/// Text that many rows share; cloning copies a pointer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

impl Text {
    /// The text as a string slice.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl Deref for Text {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        &self.0
    }
}

/// Equal texts hash alike, so tables keyed by texts are searched with slices.
impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Cell for Text {
    const TYPE: ColumnType = ColumnType::Text;
    const UNIT: &'static str = "";

    fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData {
        ColumnData::from(Values::Text(cells.cloned().collect()))
    }

    fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError> {
        match column.values {
            Values::Text(values) => Ok(values),
            other => Err(ShapeError::mismatch(ColumnType::Text, &other)),
        }
    }
}
