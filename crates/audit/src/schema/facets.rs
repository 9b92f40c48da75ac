//! Stored values: facets of contacts and interactions, and what in them is large.

use culprit_model::{labels, table};

use super::keys::{Bytes, SourceKey, TermKey, Utc};

labels! {
    /// What a facet belongs to.
    OwnerKind ("owner") {
        /// A contact.
        Contact = "contact",
        /// An interaction.
        Interaction = "interaction",
    }
}

labels! {
    /// What the text of a facet is.
    JsonState ("JSON state") {
        /// Valid JSON.
        Valid = "valid",
        /// It ends in the middle of a value.
        Truncated = "truncated",
        /// It is no JSON.
        Malformed = "malformed",
        /// Valid but for half of a surrogate pair in a string.
        LoneSurrogate = "lone-surrogate",
        /// Valid, but an object has a key twice; the last value counts.
        DuplicateKey = "duplicate-key",
        /// Nested too deeply to be read.
        TooDeep = "too-deep",
        /// No text.
        Empty = "empty",
    }
}

labels! {
    /// A kind of JSON value.
    ValueKind ("kind of value") {
        /// Text.
        Text = "text",
        /// A number.
        Number = "number",
        /// True or false.
        Bool = "bool",
        /// Null.
        Null = "null",
        /// An object.
        Object = "object",
        /// An array.
        Array = "array",
    }
}

table! {
    /// The text of one facet: a named part of a contact or an interaction. Files are ordered by
    /// `owner_kind`, `owner_id`, `facet_key`.
    Facet in "facets" {
        /// What it belongs to.
        owner_kind: OwnerKind,
        /// Key of `contacts` or of `interactions`, by `owner_kind`. An interaction that no row was
        /// read for has a key, too, but no row.
        owner_id: u64,
        /// Number of the shard.
        shard: u32,
        /// Name of the facet.
        facet_key: TermKey,
        /// When the source changed it last; of two facets of one owner the later one counts.
        last_modified: Option<Utc>,
        /// Characters (Unicode scalar values) of its text.
        chars: u64,
        /// Bytes of its text in UTF-8.
        bytes_utf8: Bytes,
        /// Bytes of its text in UTF-16, as `nvarchar` stores it.
        bytes_utf16: Bytes,
        /// What the text is.
        json_state: JsonState,
        /// Where it was read.
        source_id: SourceKey,
        /// Number of the row in its source, counted from 1.
        source_row: u64,
    }
}

table! {
    /// One text of 64 bytes or more inside a facet or the events of an interaction: what a limit
    /// would cut. Files are ordered as `facets`.
    LongValue in "long_values" {
        /// What it belongs to.
        owner_kind: OwnerKind,
        /// Key of `contacts` or of `interactions`, by `owner_kind`.
        owner_id: u64,
        /// Number of the shard.
        shard: u32,
        /// Name of the facet; `Events` for the events of an interaction.
        facet_key: TermKey,
        /// Path inside of the facet, as `json_paths.path_id`.
        path_id: TermKey,
        /// Bytes of the value in UTF-8.
        bytes_utf8: Bytes,
        /// Bytes of the value in UTF-16.
        bytes_utf16: Bytes,
        /// Hash of the value with the store's key: equal values have equal hashes.
        hash: u64,
        /// Scheme and host where the value is an address; none else.
        host: Option<TermKey>,
        /// What looks wrong with the value: `script`, `base64`, `session-token`,
        /// `repeated-parameter`, joined by `+`; none when nothing does.
        junk: Option<TermKey>,
    }
}

table! {
    /// One path inside of the facets of one name: how many values, how large. Sums of all versions
    /// that one import read, also of versions that a later one replaced.
    JsonPath in "json_paths" {
        /// Name of the facet; `Events` for the events of interactions.
        facet_key: TermKey,
        /// Path inside of the facet, such as `InteractionCaches[].Referrers[]`.
        path_id: TermKey,
        /// Kind of these values; a path with values of two kinds has two rows.
        kind: ValueKind,
        /// Values.
        values: u64,
        /// Bytes of the values in UTF-8: of a text what it says, of all others their JSON text.
        bytes_utf8: Bytes,
        /// The same in UTF-16.
        bytes_utf16: Bytes,
        /// Bytes of the largest value in UTF-8.
        max_utf8: Bytes,
        /// Elements of all arrays, or fields of all objects; 0 for other kinds.
        elements: u64,
        /// Elements of the longest array, or fields of the largest object; 0 for other kinds.
        max_elements: u64,
    }
}
