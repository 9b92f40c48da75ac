//! The shape of .NET's metadata tables: which columns each has, and how wide a row is in one file.
//!
//! An index takes two bytes while what it counts has less than 65536 rows, and four otherwise, so the
//! place of a row follows from the rows of all tables. Source: ECMA-335 II.22 and II.24.2.6; the tables
//! from `0x30` on are those of Portable PDB files (.NET's `docs/design/specs/PortablePdb-Metadata.md`).

use Column::{Blob, Coded, Guid, Number2, Number4, Row, Text};

/// Numbers of tables.
pub(super) mod id {
    pub(in super::super) const TYPE_REF: usize = 0x01;
    pub(in super::super) const TYPE_DEF: usize = 0x02;
    pub(in super::super) const METHOD_DEF: usize = 0x06;
    pub(in super::super) const MEMBER_REF: usize = 0x0a;
    pub(in super::super) const TYPE_SPEC: usize = 0x1b;
    pub(in super::super) const NESTED_CLASS: usize = 0x29;
    pub(in super::super) const DOCUMENT: usize = 0x30;
    pub(in super::super) const METHOD_DEBUG: usize = 0x31;
}

/// Tables that a file can have: its list of them has one bit each.
pub(super) const TABLES: usize = 64;

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Number2,
    Number4,
    /// Places in the heaps.
    Text,
    Guid,
    Blob,
    /// A row of a table.
    Row(usize),
    /// A row of one of several tables: its lowest bits say of which.
    Coded(&'static Choice),
}

/// The tables that one kind of column may lead to.
#[derive(Debug)]
pub(super) struct Choice {
    /// Bits that say which table.
    pub(super) bits: u32,
    tables: &'static [usize],
}

const TYPE_DEF_OR_REF: Choice = Choice { bits: 2, tables: &[0x02, 0x01, 0x1b] };
const HAS_CONSTANT: Choice = Choice { bits: 2, tables: &[0x04, 0x08, 0x17] };
const HAS_ATTRIBUTE: Choice = Choice {
    bits: 5,
    tables: &[
        0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20,
        0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b,
    ],
};
const HAS_MARSHAL: Choice = Choice { bits: 1, tables: &[0x04, 0x08] };
const HAS_SECURITY: Choice = Choice { bits: 2, tables: &[0x02, 0x06, 0x20] };
const MEMBER_PARENT: Choice = Choice { bits: 3, tables: &[0x02, 0x01, 0x1a, 0x06, 0x1b] };
const HAS_SEMANTICS: Choice = Choice { bits: 1, tables: &[0x14, 0x17] };
const METHOD_DEF_OR_REF: Choice = Choice { bits: 1, tables: &[0x06, 0x0a] };
const FORWARDED: Choice = Choice { bits: 1, tables: &[0x04, 0x06] };
const IMPLEMENTATION: Choice = Choice { bits: 2, tables: &[0x26, 0x23, 0x27] };
const ATTRIBUTE_TYPE: Choice = Choice { bits: 3, tables: &[0x06, 0x0a] };
const RESOLUTION_SCOPE: Choice = Choice { bits: 2, tables: &[0x00, 0x1a, 0x23, 0x01] };

const TYPE_OR_METHOD: Choice = Choice { bits: 1, tables: &[0x02, 0x06] };

/// The columns of the tables up to `MethodDebugInformation`, by their numbers. Nothing that is read
/// stands behind.
const COLUMNS: [&[Column]; 0x32] = [
    &[Number2, Text, Guid, Guid, Guid],
    &[Coded(&RESOLUTION_SCOPE), Text, Text],
    &[Number4, Text, Text, Coded(&TYPE_DEF_OR_REF), Row(0x04), Row(0x06)],
    &[Row(0x04)],
    &[Number2, Text, Blob],
    &[Row(0x06)],
    &[Number4, Number2, Number2, Text, Blob, Row(0x08)],
    &[Row(0x08)],
    &[Number2, Number2, Text],
    &[Row(0x02), Coded(&TYPE_DEF_OR_REF)],
    &[Coded(&MEMBER_PARENT), Text, Blob],
    &[Number2, Coded(&HAS_CONSTANT), Blob],
    &[Coded(&HAS_ATTRIBUTE), Coded(&ATTRIBUTE_TYPE), Blob],
    &[Coded(&HAS_MARSHAL), Blob],
    &[Number2, Coded(&HAS_SECURITY), Blob],
    &[Number2, Number4, Row(0x02)],
    &[Number4, Row(0x04)],
    &[Blob],
    &[Row(0x02), Row(0x14)],
    &[Row(0x14)],
    &[Number2, Text, Coded(&TYPE_DEF_OR_REF)],
    &[Row(0x02), Row(0x17)],
    &[Row(0x17)],
    &[Number2, Text, Blob],
    &[Number2, Row(0x06), Coded(&HAS_SEMANTICS)],
    &[Row(0x02), Coded(&METHOD_DEF_OR_REF), Coded(&METHOD_DEF_OR_REF)],
    &[Text],
    &[Blob],
    &[Number2, Coded(&FORWARDED), Text, Row(0x1a)],
    &[Number4, Row(0x04)],
    &[Number4, Number4],
    &[Number4],
    &[Number4, Number2, Number2, Number2, Number2, Number4, Blob, Text, Text],
    &[Number4],
    &[Number4, Number4, Number4],
    &[Number2, Number2, Number2, Number2, Number4, Blob, Text, Text, Blob],
    &[Number4, Row(0x23)],
    &[Number4, Number4, Number4, Row(0x23)],
    &[Number4, Text, Blob],
    &[Number4, Number4, Text, Text, Coded(&IMPLEMENTATION)],
    &[Number4, Number4, Text, Coded(&IMPLEMENTATION)],
    &[Row(0x02), Row(0x02)],
    &[Number2, Number2, Coded(&TYPE_OR_METHOD), Text],
    &[Coded(&METHOD_DEF_OR_REF), Blob],
    &[Row(0x2a), Coded(&TYPE_DEF_OR_REF)],
    &[],
    &[],
    &[],
    &[Blob, Guid, Blob, Guid],
    &[Row(0x30), Blob],
];

/// What decides how wide the columns of one file are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    /// Rows of each table.
    pub(super) rows: [u32; TABLES],
    /// Whether places in the heaps of texts, GUIDs and blobs take four bytes.
    pub(super) wide_heaps: [bool; 3],
}

impl Widths {
    /// The columns of a table; none for one that is not known.
    pub(super) fn columns(table: usize) -> Option<&'static [Column]> {
        COLUMNS.get(table).copied()
    }

    /// Bytes of a column.
    pub(super) fn of(&self, column: Column) -> usize {
        let wide = |wide: bool| if wide { 4 } else { 2 };
        let [text, guid, blob] = self.wide_heaps;
        match column {
            Number2 => 2,
            Number4 => 4,
            Text => wide(text),
            Guid => wide(guid),
            Blob => wide(blob),
            Row(table) => wide(self.rows(table) > 0xffff),
            Coded(choice) => {
                let most = choice.tables.iter().map(|table| self.rows(*table)).max().unwrap_or(0);
                wide(most >= 1 << (16 - choice.bits))
            }
        }
    }

    fn rows(&self, table: usize) -> u32 {
        self.rows.get(table).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_wide_when_its_tables_are_long() {
        let mut widths = Widths { rows: [0; TABLES], wide_heaps: [false, false, true] };
        let of = |widths: &Widths, table| -> usize {
            let columns = Widths::columns(table).unwrap_or_default();
            columns.iter().map(|column| widths.of(*column)).sum()
        };
        assert_eq!(of(&widths, id::TYPE_DEF), 14);
        assert_eq!(of(&widths, id::METHOD_DEF), 16);
        assert_eq!(of(&widths, id::TYPE_REF), 6);
        widths.rows[0x08] = 0x1_0000;
        assert_eq!(of(&widths, id::METHOD_DEF), 18, "a list of parameters");
        widths.rows[0x23] = 0x3fff;
        assert_eq!(of(&widths, id::TYPE_REF), 6);
        widths.rows[0x23] = 0x4000;
        assert_eq!(of(&widths, id::TYPE_REF), 8, "two bits say which table");
    }
}
