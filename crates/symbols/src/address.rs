//! The address spaces that meet in this crate, one type each, so that they cannot be mixed up.
//!
//! ```text
//! process memory      module                      file on disk
//! Avma  --(bias)-->   Svma  <--(PT_LOAD table)--  FileOffset
//! ```
//!
//! A mapping record of the kernel gives (address, length, file offset); only the file offset and the
//! program headers lead to the address that the module states for itself, and with it to symbols,
//! DWARF and unwind rows. The names Avma and Svma ("actual" and "stated virtual memory address") are
//! those of Mozilla's and samply's sources.

use std::fmt;

macro_rules! address_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address_type! {
    /// A byte position in a module's file, as in the offset column of `/proc/PID/maps`.
    FileOffset
}
address_type! {
    /// An address as the module itself states it: what `nm`, `readelf` and DWARF use.
    Svma
}
address_type! {
    /// An address in the memory of a running process, or of the kernel.
    Avma
}

/// One frame of a call stack: where it stands, and what kind of position that is.
///
/// The difference matters for every lookup. A return address points behind its call; when the call is
/// the last instruction of a function (`abort()`, `exit()`), it points into the *next* function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeAddress {
    /// The instruction about to run: the leaf frame, and the frame that a signal interrupted.
    InstructionPointer(Avma),
    /// The instruction that runs when the callee returns: every other frame.
    ReturnAddress(Avma),
}

impl CodeAddress {
    /// The address as the processor knew it.
    pub fn address(self) -> Avma {
        match self {
            Self::InstructionPointer(address) | Self::ReturnAddress(address) => address,
        }
    }

    /// The address to look up: inside the call instruction for a return address.
    pub fn lookup(self) -> Avma {
        match self {
            Self::InstructionPointer(address) => address,
            Self::ReturnAddress(address) => Avma(address.0.saturating_sub(1)),
        }
    }
}
