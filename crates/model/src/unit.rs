//! What numbers count.

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Things a second.
    PerSecond,
    /// Things.
    Count,
    /// A part of a whole, 0 to 1.
    Share,
}

impl Unit {
    /// As documents have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::PerSecond => "1/s",
            Self::Count => "count",
            Self::Share => "share",
        }
    }
}
