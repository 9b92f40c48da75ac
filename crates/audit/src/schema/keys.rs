//! Keys of the store's tables, points in time and lengths of time.
//!
//! A key is the number of a row in the order of first sight during the imports. It never changes,
//! also when the row is replaced by a newer one.

use culprit_model::{Cell, ColumnData, ColumnType, ShapeError};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty), $unit:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);

        impl Cell for $name {
            const TYPE: ColumnType = <$inner as Cell>::TYPE;
            const UNIT: &'static str = $unit;

            fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData {
                <$inner as Cell>::gather(cells.map(|cell| &cell.0))
            }

            fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError> {
                Ok(<$inner as Cell>::scatter(column)?.into_iter().map(Self).collect())
            }
        }
    };
}

// 64 bits where values hardly repeat within a file: these columns are stored as differences. 32
// bits where they repeat: these columns are stored with a dictionary.
number!(/// A row of `interactions`.
    InteractionKey(u64), "key of interactions");
number!(/// A row of `contacts`.
    ContactKey(u64), "key of contacts");
number!(/// A row of `addresses`.
    AddressKey(u64), "key of addresses");
number!(/// A row of `user_agents`.
    UserAgentKey(u32), "key of user_agents");
number!(/// A row of `places`.
    PlaceKey(u32), "key of places");
number!(/// A row of `paths`.
    PathKey(u32), "key of paths");
number!(/// A row of `terms`.
    TermKey(u32), "key of terms");
number!(/// A row of `sources`.
    SourceKey(u32), "key of sources");
number!(/// A point in time.
    Utc(i64), "ms since 1970-01-01 UTC");
number!(/// A length of time.
    Millis(u64), "ms");
number!(/// A size.
    Bytes(u64), "bytes");
