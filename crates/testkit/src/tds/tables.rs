//! Tables with types, and their values as bytes of rows.

use super::wire::Message;

/// Days from 0001-01-01 to 1970-01-01.
const TO_1970: i64 = 719_162;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TdsType {
    /// `uniqueidentifier`
    Guid,
    /// `datetime2(7)`
    DateTime2,
    /// `datetimeoffset(7)`
    DateTimeOffset,
    /// `nvarchar(max)`
    Long,
    /// `nvarchar` with so many characters at most
    Text(u16),
    /// `smallint`
    SmallInt,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `bit`
    Bit,
    /// `binary` with so many bytes
    Binary(u16),
    /// `time(7)`
    Time,
}

/// A column.
#[derive(Debug, Clone)]
pub struct TdsColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TdsType,
}

/// A table with its rows. A cell is the text that CSV has of the value; none is NULL.
#[derive(Debug, Clone)]
pub struct TdsTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<TdsColumn>,
    /// Its rows, one cell a column.
    pub rows: Vec<Vec<Option<String>>>,
}

impl TdsTable {
    /// A table of texts.
    pub(super) fn of_texts(name: &str, columns: &[&str], rows: &[&[Option<&str>]]) -> Self {
        let column = |name: &&str| TdsColumn { name: (*name).to_owned(), ty: TdsType::Text(4000) };
        let row = |row: &&[Option<&str>]| row.iter().map(|cell| cell.map(str::to_owned)).collect();
        Self {
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    /// A table of an xDB from its CSV with a header; types follow from names.
    #[must_use]
    pub fn of_xdb_csv(name: &str, text: &str) -> Self {
        let mut rows = records(text).into_iter();
        let header = rows.next().unwrap_or_default();
        let column = |name: Option<String>| {
            let name = name.unwrap_or_default();
            let ty = xdb_type(&name);
            TdsColumn { name, ty }
        };
        Self {
            name: name.to_owned(),
            columns: header.into_iter().map(column).collect(),
            rows: rows.collect(),
        }
    }
}

fn xdb_type(name: &str) -> TdsType {
    match name {
        "InteractionId" | "ConcurrencyToken" | "ContactId" | "DeviceProfileId" | "ChannelId"
        | "VenueId" | "CampaignId" => TdsType::Guid,
        "LastModified" | "Created" | "StartDateTime" | "EndDateTime" => TdsType::DateTime2,
        "Events" | "FacetData" => TdsType::Long,
        "Initiator" | "IdentifierType" => TdsType::SmallInt,
        "EngagementValue" => TdsType::Int,
        "Percentile" => TdsType::Float,
        "ShardKey" => TdsType::Binary(1),
        "IdentifierHash" => TdsType::Binary(32),
        _ => TdsType::Text(4000),
    }
}

/// The records of a CSV text. An empty cell is none, `""` an empty text.
fn records(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut all, mut record, mut cell) = (Vec::new(), Vec::new(), None::<String>);
    let (mut quoted, mut letters) = (false, text.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                cell.get_or_insert_default();
            }
            ',' if !quoted => record.push(cell.take()),
            '\n' if !quoted => {
                record.push(cell.take());
                all.push(std::mem::take(&mut record));
            }
            letter => cell.get_or_insert_default().push(letter),
        }
    }
    all
}

impl TdsType {
    /// Appends the description of the type.
    pub(super) fn describe(self, out: &mut Message) {
        // A collation: LCID and flags, then the number of a sort order.
        const COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];
        match self {
            Self::Guid => out.bytes(&[0x24, 16]),
            Self::DateTime2 => out.bytes(&[0x2a, 7]),
            Self::DateTimeOffset => out.bytes(&[0x2b, 7]),
            Self::Time => out.bytes(&[0x29, 7]),
            Self::SmallInt => out.bytes(&[0x26, 2]),
            Self::Int => out.bytes(&[0x26, 4]),
            Self::Float => out.bytes(&[0x6d, 8]),
            Self::Bit => out.bytes(&[0x68, 1]),
            Self::Binary(length) => {
                out.bytes(&[0xad]);
                out.bytes(&length.to_le_bytes());
            }
            Self::Long => {
                out.bytes(&[0xe7, 0xff, 0xff]);
                out.bytes(&COLLATION);
            }
            Self::Text(length) => {
                out.bytes(&[0xe7]);
                out.bytes(&(length * 2).to_le_bytes());
                out.bytes(&COLLATION);
            }
        }
    }

    /// Appends a value.
    pub(super) fn value(self, out: &mut Message, cell: Option<&str>) {
        let Some(cell) = cell else {
            return match self {
                Self::Long => out.bytes(&u64::MAX.to_le_bytes()),
                Self::Text(_) | Self::Binary(_) => out.bytes(&u16::MAX.to_le_bytes()),
                _ => out.bytes(&[0]),
            };
        };
        match self {
            Self::Guid => {
                out.bytes(&[16]);
                out.bytes(&guid(cell));
            }
            Self::DateTime2 => {
                out.bytes(&[8]);
                out.bytes(&time(cell));
                out.bytes(&date(cell));
            }
            Self::DateTimeOffset => {
                out.bytes(&[10]);
                out.bytes(&time(cell));
                out.bytes(&date(cell));
                out.bytes(&120_i16.to_le_bytes());
            }
            Self::Time => {
                out.bytes(&[5]);
                out.bytes(&time(cell));
            }
            Self::SmallInt => {
                out.bytes(&[2]);
                out.bytes(&number::<i16>(cell).to_le_bytes());
            }
            Self::Int => {
                out.bytes(&[4]);
                out.bytes(&number::<i32>(cell).to_le_bytes());
            }
            Self::Float => {
                out.bytes(&[8]);
                out.bytes(&number::<f64>(cell).to_le_bytes());
            }
            Self::Bit => out.bytes(&[1, number::<u8>(cell)]),
            Self::Binary(_) => {
                let bytes = binary(cell);
                out.bytes(&u16::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
                out.bytes(&bytes);
            }
            Self::Text(_) => {
                let text = utf16(cell);
                out.bytes(&u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
                out.bytes(&text);
            }
            Self::Long => long(out, &utf16(cell)),
        }
    }
}

/// A long value: its length or that it is not known, then chunks.
fn long(out: &mut Message, text: &[u8]) {
    let known = text.len().is_multiple_of(4);
    let length = if known { text.len() as u64 } else { u64::MAX - 1 };
    out.bytes(&length.to_le_bytes());
    for chunk in text.chunks(3000) {
        out.bytes(&u32::try_from(chunk.len()).unwrap_or(0).to_le_bytes());
        out.bytes(chunk);
    }
    out.bytes(&[0; 4]);
}

pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn number<T: std::str::FromStr + Default>(text: &str) -> T {
    text.parse().unwrap_or_default()
}

fn binary(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let pairs = (0..digits.len() / 2).filter_map(|at| digits.get(at * 2..at * 2 + 2));
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// The first three groups of digits are numbers, with the last byte first.
fn guid(text: &str) -> [u8; 16] {
    let bytes = binary(&text.replace('-', ""));
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    order.map(|at: usize| bytes.get(at).copied().unwrap_or(0))
}

/// Tenths of microseconds of the day, of `2026-11-28 23:12:14.5340000`.
fn time(text: &str) -> [u8; 5] {
    let clock = text.split([' ', 'T']).next_back().unwrap_or_default();
    let (whole, part) = clock.split_once('.').unwrap_or((clock, "0"));
    let seconds = whole.split(':').fold(0, |sum, digits| sum * 60 + number::<u64>(digits));
    let ticks = seconds * 10_000_000 + number::<u64>(&format!("{part:0<7}"));
    let [first, second, third, fourth, fifth, ..] = ticks.to_le_bytes();
    [first, second, third, fourth, fifth]
}

/// Days since 0001-01-01.
fn date(text: &str) -> [u8; 3] {
    let mut parts = text.split(['-', ' ', 'T']).map(number::<i64>);
    let mut next = || parts.next().unwrap_or(1);
    let (year, month, day) = (next(), next(), next());
    // Howard Hinnant, "chrono-compatible low-level date algorithms".
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let [first, second, third, ..] = (days + TO_1970).to_le_bytes();
    [first, second, third]
}
