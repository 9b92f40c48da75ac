//! The columns of an xDB's tables.

use std::borrow::Cow;

use super::events::ReadEvents;
use super::facets::ReadFacet;

macro_rules! columns {
    ($($name:ident,)+) => {
        /// A column of any of the tables.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Column { $($name,)+ }

        const COLUMNS: &[(&str, Column)] = &[$((stringify!($name), Column::$name),)+];
        const COUNT: usize = COLUMNS.len();
    };
}
columns! {
    InteractionId, LastModified, Created, ConcurrencyToken, ContactId, StartDateTime, EndDateTime,
    Initiator, DeviceProfileId, ChannelId, VenueId, CampaignId, Events, UserAgent, EngagementValue,
    Percentile, ShardKey, FacetKey, FacetData, Source, Identifier, IdentifierHash, IdentifierType,
}

impl Column {
    /// True for a column that decides which JSON is read of a row, and how.
    pub(crate) fn decides_what_is_read(self) -> bool {
        matches!(self, Self::Events | Self::FacetKey | Self::FacetData)
    }

    /// The column of this name, in any case.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        let exact = COLUMNS.iter().find(|(known, _)| known.as_bytes() == name);
        exact
            .or_else(|| {
                COLUMNS.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name))
            })
            .map(|(_, column)| *column)
    }
}

/// A table of an xDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DumpTable {
    Interactions,
    InteractionFacets,
    Contacts,
    ContactFacets,
    ContactIdentifiers,
    /// One that a store does not need.
    Other,
}

impl DumpTable {
    /// The table that a file is named after.
    pub(crate) fn of_file(stem: &str) -> Option<Self> {
        // A schema or database may stand before it, a shard or part behind it.
        let name = stem.rsplit_once("].[").map_or(stem, |(_, name)| name);
        let name = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        let name = name.strip_prefix("xdb_collection.").unwrap_or(name).to_ascii_lowercase();
        let all = [
            ("interactionfacets", Self::InteractionFacets),
            ("interactions", Self::Interactions),
            ("contactfacets", Self::ContactFacets),
            ("contactidentifiersindex", Self::Other),
            ("contactidentifiers", Self::ContactIdentifiers),
            ("contacts", Self::Contacts),
            ("deviceprofile", Self::Other),
        ];
        all.iter().find(|(word, _)| name.starts_with(word)).map(|(_, table)| *table)
    }

    /// The columns in the order of the table's definition: what `bcp` writes without a header.
    pub(crate) fn columns(self) -> &'static [Column] {
        use Column as C;
        match self {
            Self::Interactions => &[
                C::InteractionId,
                C::LastModified,
                C::Created,
                C::ConcurrencyToken,
                C::ContactId,
                C::StartDateTime,
                C::EndDateTime,
                C::Initiator,
                C::DeviceProfileId,
                C::ChannelId,
                C::VenueId,
                C::CampaignId,
                C::Events,
                C::UserAgent,
                C::EngagementValue,
                C::Percentile,
                C::ShardKey,
            ],
            Self::InteractionFacets => &[
                C::InteractionId,
                C::FacetKey,
                C::ContactId,
                C::LastModified,
                C::ConcurrencyToken,
                C::FacetData,
                C::ShardKey,
            ],
            Self::Contacts => &[
                C::ContactId,
                C::LastModified,
                C::Created,
                C::ConcurrencyToken,
                C::Percentile,
                C::ShardKey,
            ],
            Self::ContactFacets => &[
                C::ContactId,
                C::FacetKey,
                C::LastModified,
                C::ConcurrencyToken,
                C::FacetData,
                C::ShardKey,
            ],
            Self::ContactIdentifiers => &[
                C::ContactId,
                C::Source,
                C::Identifier,
                C::IdentifierHash,
                C::IdentifierType,
                C::ShardKey,
            ],
            Self::Other => &[],
        }
    }
}

/// JSON in a cell that was read with its row.
#[derive(Debug)]
pub(crate) enum ReadCell {
    Events(ReadEvents),
    Facet(ReadFacet),
}

impl ReadCell {
    /// True when its text cannot be read to its end.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Events(read) => read.text.as_ref().is_some_and(|text| text.is_broken),
            Self::Facet(read) => read.text.is_broken,
        }
    }
}

/// The cells of one row.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    values: [Option<Cow<'a, [u8]>>; COUNT],
    /// Bit of each column that the row has, also without a value.
    seen: u32,
    /// The JSON of the row, if it was read with it: then its cell has no text.
    pub(crate) read: Option<ReadCell>,
}

impl<'a> Cells<'a> {
    pub(crate) fn new() -> Self {
        Self { values: [const { None }; COUNT], seen: 0, read: None }
    }

    /// Forgets all cells.
    pub(crate) fn clear(&mut self) {
        while self.seen != 0 {
            self.values[self.seen.trailing_zeros() as usize] = None;
            self.seen &= self.seen - 1;
        }
        self.read = None;
    }

    /// Sets a cell; the last value of a column counts.
    #[inline]
    pub(crate) fn set(&mut self, column: Column, value: Option<Cow<'a, [u8]>>) {
        self.seen |= 1 << column as u32;
        self.values[column as usize] = value;
    }

    /// The text of a cell; none where it has no value.
    #[inline]
    pub(crate) fn text(&self, column: Column) -> Option<&[u8]> {
        self.values[column as usize].as_deref()
    }

    /// True when the row has the column, also without a value.
    pub(crate) fn has(&self, column: Column) -> bool {
        self.seen >> column as u32 & 1 == 1
    }

    /// The table that has these columns.
    pub(crate) fn table(&self) -> Option<DumpTable> {
        use Column as C;
        if self.has(C::FacetKey) {
            let of_interaction = self.has(C::InteractionId);
            return Some(if of_interaction {
                DumpTable::InteractionFacets
            } else {
                DumpTable::ContactFacets
            });
        }
        if self.has(C::InteractionId) {
            return Some(DumpTable::Interactions);
        }
        if self.has(C::IdentifierType) || self.has(C::Identifier) {
            return Some(DumpTable::ContactIdentifiers);
        }
        if self.has(C::ContactId) {
            return Some(DumpTable::Contacts);
        }
        self.has(C::DeviceProfileId).then_some(DumpTable::Other)
    }

    /// The shard of the row's one-byte key; 0 without a key.
    pub(crate) fn shard(&self, shards: u32) -> u32 {
        let key = self.text(Column::ShardKey).and_then(byte).unwrap_or(0);
        u32::from(key) * shards / 256
    }
}

/// A `binary(1)`: `0x5A`, `5A`, `Wg==` as JSON exports write it.
fn byte(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(digits) = text.strip_prefix("0x").or((text.len() == 2).then_some(text)) {
        return u8::from_str_radix(digits, 16).ok();
    }
    let [first, second, b'=', b'='] = text.as_bytes() else { return None };
    Some(sextet(*first)? << 2 | sextet(*second)? >> 4)
}

fn sextet(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_key_is_read_as_any_tool_writes_it() {
        for text in ["0x5A", "5A", "5a", "Wg=="] {
            assert_eq!(byte(text.as_bytes()), Some(0x5a), "{text}");
        }
        assert_eq!(byte(b"////"), None);
        assert_eq!(byte(b"gA=="), Some(0x80));
    }

    #[test]
    fn files_are_named_after_tables() {
        let table = DumpTable::of_file;
        assert_eq!(table("Interactions"), Some(DumpTable::Interactions));
        assert_eq!(table("[xdb_collection].[ContactFacets]"), Some(DumpTable::ContactFacets));
        assert_eq!(table("xdb_collection.InteractionFacets_2"), Some(DumpTable::InteractionFacets));
        assert_eq!(table("orders"), None);
    }
}
