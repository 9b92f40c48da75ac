//! Row handles and the kernel's numbers, each its own type.
//!
//! A handle (`ThreadId`, `StackId`, ...) is the index of a row in its table of one recording. The
//! kernel's numbers (`Pid`, `Tid`) are what it printed; they are reused, so they never identify a
//! row. Numbers are those of the recorder's pid namespace.

use crate::column::{Cell, ColumnData, ColumnType, ShapeError};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// The value as an index into a slice.
            #[must_use]
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The handle of the row at `index`.
            ///
            /// # Panics
            /// Past 2^32 rows; every table's writer refuses to grow that far.
            #[must_use]
            #[inline]
            pub fn from_index(index: usize) -> Self {
                match u32::try_from(index) {
                    Ok(value) => Self(value),
                    Err(_) => unreachable!("a table holds at most 2^32 rows"),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Cell for $name {
            const TYPE: ColumnType = ColumnType::U32;
            const UNIT: &'static str = $unit;

            fn gather<'a>(cells: impl Iterator<Item = &'a Self>) -> ColumnData {
                ColumnData::u32(cells.map(|c| c.0).collect())
            }

            fn scatter(column: ColumnData) -> Result<Vec<Self>, ShapeError> {
                Ok(column.into_u32()?.into_iter().map(Self).collect())
            }
        }
    };
}

number!(/// A row of the `processes` table.
    ProcessId, "row of processes");
number!(/// A row of the `threads` table.
    ThreadId, "row of threads");
number!(/// A row of the `modules` table.
    ModuleId, "row of modules");
number!(/// A row of the `frames` table.
    FrameId, "row of frames");
number!(/// A row of the `stacks` table: the node of a prefix tree, so it names a whole stack.
    StackId, "row of stacks");
number!(/// A row of the `activities` table.
    ActivityId, "row of activities");
number!(/// A step of a selection: the node of a prefix tree, so it names a whole stack.
    StepId, "step");
number!(/// A process number as the kernel printed it to the recorder.
    Pid, "kernel pid");
number!(/// A thread number as the kernel printed it to the recorder.
    Tid, "kernel tid");
