//! Tables as columns: the bridge between typed rows in memory and any columnar store.
//!
//! A table is declared once with the `table!` macro (see `tables/`): a row type, and for each
//! column its name, unit and meaning. [`Row::columns`] takes rows apart, [`Row::rows`] puts them
//! together again; the two are inverse. A missing value is a `false` in the validity mask, never a
//! sentinel.

use thiserror::Error;

use crate::text::Text;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// 32-bit unsigned integers.
    U32,
    /// 64-bit unsigned integers.
    U64,
    /// 64-bit signed integers.
    I64,
    /// UTF-8 text.
    Text,
    /// One word of a closed list; stored as text.
    Label(&'static [&'static str]),
}

/// One column's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name, as in files and SQL.
    pub name: &'static str,
    /// What it holds.
    pub ty: ColumnType,
    /// True when a row may have no value.
    pub nullable: bool,
    /// Unit, or the table that the value is a row of; empty for words and text.
    pub unit: &'static str,
    /// Meaning, range, what "none" means, where the number comes from.
    pub doc: &'static str,
}

/// One table's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Name, as in files and SQL.
    pub name: &'static str,
    /// What one row is, and the order of rows.
    pub doc: &'static str,
    /// The columns in order.
    pub columns: &'static [Column],
}

/// The values of one column, and which of them exist.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnData {
    /// One value a row; a row without a value holds the type's default.
    pub values: Values,
    /// One entry a row: false where there is no value. Absent when every row has one.
    pub valid: Option<Vec<bool>>,
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// True or false.
    Bool(Vec<bool>),
    /// 32-bit unsigned integers.
    U32(Vec<u32>),
    /// 64-bit unsigned integers.
    U64(Vec<u64>),
    /// 64-bit signed integers.
    I64(Vec<i64>),
    /// Text.
    Text(Vec<Text>),
    /// Positions in a closed list of words.
    Label {
        /// One position a row.
        codes: Vec<u8>,
        /// The list.
        words: &'static [&'static str],
    },
}

/// A column that does not have the shape that its declaration promises.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The type differs.
    #[error("expected a column of {expected}, found {found}")]
    Type {
        /// Declared.
        expected: String,
        /// Found.
        found: String,
    },
    /// A code past the end of its word list.
    #[error("unknown code {code} of {kind}")]
    Code {
        /// The list's name.
        kind: &'static str,
        /// The code found.
        code: u8,
    },
    /// A row has no value where one is required.
    #[error("row {row} has no value, but the column requires one")]
    Missing {
        /// The first such row.
        row: usize,
    },
    /// The number of columns, or the length of one, differs from its neighbours'.
    #[error("expected {expected} values, found {found}")]
    Length {
        /// Expected.
        expected: usize,
        /// Found.
        found: usize,
    },
}

impl ShapeError {
    pub(crate) fn mismatch(expected: ColumnType, found: &Values) -> Self {
        Self::Type { expected: format!("{expected:?}"), found: found.type_name().to_owned() }
    }
}

impl Values {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::Text(v) => v.len(),
            Self::Label { codes, .. } => codes.len(),
        }
    }

    /// True when there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "Bool",
            Self::U32(_) => "U32",
            Self::U64(_) => "U64",
            Self::I64(_) => "I64",
            Self::Text(_) => "Text",
            Self::Label { .. } => "Label",
        }
    }
}

impl From<Values> for ColumnData {
    fn from(values: Values) -> Self {
        Self { values, valid: None }
    }
}

impl ColumnData {
    /// A column in which every row has a value.
    #[must_use]
    pub fn u32(values: Vec<u32>) -> Self {
        Values::U32(values).into()
    }

    /// A column in which every row has a value.
    #[must_use]
    pub fn u64(values: Vec<u64>) -> Self {
        Values::U64(values).into()
    }

    /// A column of words in which every row has one.
    #[must_use]
    pub fn label(codes: Vec<u8>, words: &'static [&'static str]) -> Self {
        Values::Label { codes, words }.into()
    }

    pub(crate) fn into_u32(self) -> Result<Vec<u32>, ShapeError> {
        match self.values {
            Values::U32(values) => Ok(values),
            other => Err(ShapeError::mismatch(ColumnType::U32, &other)),
        }
    }

    pub(crate) fn into_u64(self) -> Result<Vec<u64>, ShapeError> {
        match self.values {
            Values::U64(values) => Ok(values),
            other => Err(ShapeError::mismatch(ColumnType::U64, &other)),
        }
    }

    /// The positions of a column of words.
    ///
    /// # Errors
    /// When it holds something else.
    pub fn into_codes(self, words: &'static [&'static str]) -> Result<Vec<u8>, ShapeError> {
        match self.values {
            Values::Label { codes, .. } => Ok(codes),
            other => Err(ShapeError::mismatch(ColumnType::Label(words), &other)),
        }
    }

    fn require_all(&self) -> Result<(), ShapeError> {
        match self.valid.as_ref().and_then(|v| v.iter().position(|ok| !ok)) {
            Some(row) => Err(ShapeError::Missing { row }),
            None => Ok(()),
        }
    }
}

/// A type that a column can hold.
pub trait Cell: Sized {
    /// What the column holds.
    const TYPE: ColumnType;
    /// True when a row may have no value.
    const NULLABLE: bool = false;
    /// The unit, see [`Column::unit`].
    const UNIT: &'static str;

    /// Collects one column from rows.
    fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData
    where
        Self: 'a;

    /// One value a row.
    ///
    /// # Errors
    /// When the column holds something else, or misses a value.
    fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError>;
}

impl<T: Cell + Default + Clone + 'static> Cell for Option<T> {
    const TYPE: ColumnType = T::TYPE;
    const NULLABLE: bool = true;
    const UNIT: &'static str = T::UNIT;

    fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData {
        let (mut valid, none) = (Vec::with_capacity(cells.size_hint().0), T::default());
        let column = T::gather(cells.map(|cell| {
            valid.push(cell.is_some());
            cell.as_ref().unwrap_or(&none)
        }));
        ColumnData { values: column.values, valid: Some(valid) }
    }

    fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError> {
        let ColumnData { values, valid } = column;
        let values = T::scatter(values.into())?;
        Ok(match valid {
            None => values.into_iter().map(Some).collect(),
            Some(valid) => {
                values.into_iter().zip(valid).map(|(value, ok)| ok.then_some(value)).collect()
            }
        })
    }
}

macro_rules! plain {
    ($type:ty, $variant:ident) => {
        impl Cell for $type {
            const TYPE: ColumnType = ColumnType::$variant;
            const UNIT: &'static str = "";

            fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData {
                Values::$variant(cells.copied().collect()).into()
            }

            fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError> {
                match column.values {
                    Values::$variant(values) => Ok(values),
                    other => Err(ShapeError::mismatch(ColumnType::$variant, &other)),
                }
            }
        }
    };
}
plain!(bool, Bool);
plain!(u32, U32);
plain!(u64, U64);
plain!(i64, I64);

/// A row of a declared table.
pub trait Row: Sized {
    /// The table that this is a row of.
    const TABLE: Table;

    /// Takes rows apart into the table's columns, in the declared order.
    fn columns(rows: &[Self]) -> Vec<ColumnData>;

    /// Puts rows together from the table's columns, in the declared order.
    ///
    /// # Errors
    /// When a column has another shape than declared.
    fn rows(columns: Vec<ColumnData>) -> Result<Vec<Self>, ShapeError>;
}

/// Takes the next column and checks that it has `length` values (all of them, unless nullable).
///
/// # Errors
/// When there is no further column, or it has another shape.
pub fn take<T: Cell>(
    columns: &mut std::vec::IntoIter<ColumnData>,
    length: usize,
) -> Result<std::vec::IntoIter<T>, ShapeError> {
    let Some(column) = columns.next() else {
        return Err(ShapeError::Length { expected: 1, found: 0 });
    };
    if column.values.len() != length {
        return Err(ShapeError::Length { expected: length, found: column.values.len() });
    }
    if !T::NULLABLE {
        column.require_all()?;
    }
    Ok(T::scatter(column)?.into_iter())
}

/// Declares a table: the row type, its columns and their meaning, in one place.
///
/// Every column's type is a [`Cell`](crate::Cell). The recording's own tables are declared with it
/// in this crate; other crates may declare tables of their own, such as a recorder's scratch data.
///
/// ```
/// culprit_model::table! {
///     /// One block of a disk. Ordered by number.
///     Block in "blocks" {
///         /// Its number.
///         number: u64,
///         /// Bytes in use; none when unknown.
///         used: Option<u32>,
///     }
/// }
/// use culprit_model::Row as _;
/// let rows = vec![Block { number: 7, used: None }];
/// assert_eq!(Block::rows(Block::columns(&rows)), Ok(rows));
/// ```
#[macro_export]
macro_rules! table {
    ($(#[doc = $doc:literal])+ $row:ident in $table:literal {
        $($(#[doc = $cdoc:literal])+ $column:ident: $type:ty,)+
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $row { $($(#[doc = $cdoc])+ pub $column: $type,)+ }

        impl $crate::Row for $row {
            const TABLE: $crate::Table = $crate::Table {
                name: $table,
                doc: concat!($($doc, "\n"),+),
                columns: &[$($crate::Column {
                    name: stringify!($column),
                    ty: <$type as $crate::Cell>::TYPE,
                    nullable: <$type as $crate::Cell>::NULLABLE,
                    unit: <$type as $crate::Cell>::UNIT,
                    doc: concat!($($cdoc, "\n"),+),
                },)+],
            };

            fn columns(rows: &[Self]) -> Vec<$crate::ColumnData> {
                vec![$(<$type as $crate::Cell>::gather(rows.iter().map(|r| &r.$column)),)+]
            }

            fn rows(
                columns: Vec<$crate::ColumnData>,
            ) -> Result<Vec<Self>, $crate::ShapeError> {
                let length = columns.first().map_or(0, |c| c.values.len());
                let mut columns = columns.into_iter();
                $(let mut $column = $crate::take_column::<$type>(&mut columns, length)?;)+
                let mut rows = Vec::with_capacity(length);
                while let ($(Some($column),)+) = ($($column.next(),)+) {
                    rows.push(Self { $($column,)+ });
                }
                Ok(rows)
            }
        }
    };
}
pub(crate) use table;
