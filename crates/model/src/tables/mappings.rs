//! Executable mappings over time.

use crate::column::table;
use crate::ids::{ModuleId, ProcessId};
use crate::time::Time;

table! {
    /// An executable mapping of a process. Ordered by time.
    Mapping in "mappings" {
        /// When it was made, or the recording's start.
        time: Time,
        /// In which process.
        process: ProcessId,
        /// First address.
        address: u64,
        /// Length in bytes.
        length: u64,
        /// Offset of the first byte in the file.
        offset: u64,
        /// What is mapped.
        module: ModuleId,
    }
}
