//! One column of a row group as Parquet pages, in the encodings that suit our tables.
//!
//! The `parquet` crate writes the file around them. Its own column writers hash every number and every
//! word for a dictionary, and set up an encoder and a compressor for each column of each file: three
//! times the time of what is done here, where types say how a column is encoded.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use culprit_model::{ColumnData, Text, Values};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::encode::Form;
use super::packing::{put_bools, put_delta, put_hybrid, width_of};

/// Rows of a page: a mebibyte of the widest numbers. Half and double measured the same within 3 %.
const PAGE_ROWS: usize = 1 << 17;
/// Bytes of texts in a page, and in a dictionary of them.
const TEXT_BYTES: usize = 1 << 20;
/// Bytes of the least or greatest text of a chunk that are worth a place in the footer.
const STATISTIC_BYTES: usize = 64;

thread_local! {
    /// Making a compressor costs more than packing a small page.
    static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    ZSTD.with_borrow_mut(|compressor| {
        let level = ZstdLevel::default().compression_level();
        let compressor = match compressor {
            Some(compressor) => compressor,
            none => none.insert(zstd::bulk::Compressor::new(level)?),
        };
        compressor.compress(bytes)
    })
}

/// Some rows of a column that are to be written.
pub(super) struct Part<'a> {
    pub(super) column: ColumnDescPtr,
    pub(super) data: &'a ColumnData,
    pub(super) nullable: bool,
    pub(super) rows: Range<usize>,
    pub(super) form: Form,
}

/// Encodes some rows of a column.
pub(super) fn write_chunk(part: &Part<'_>) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
    let rows = part.rows.clone();
    let valid =
        part.data.valid.as_ref().filter(|_| part.nullable).map(|valid| &valid[rows.clone()]);
    let valid = valid.filter(|valid| !valid.iter().all(|valid| *valid));
    let mut chunk = Chunk::new(part, valid);
    match &part.data.values {
        Values::Bool(all) => chunk.bools(&existing(&all[rows], valid))?,
        Values::U32(all) => chunk.numbers32(&existing(&all[rows], valid))?,
        Values::U64(all) => {
            let values: Vec<i64> =
                existing(&all[rows], valid).iter().map(|value| value.cast_signed()).collect();
            let order = |value: &i64| value.cast_unsigned();
            chunk.numbers64(&values, order)?;
        }
        Values::I64(all) => chunk.numbers64(&existing(&all[rows], valid), |value| *value)?,
        Values::Text(all) => chunk.texts(&existing(&all[rows], valid))?,
        Values::Label { codes, words } => chunk.words(&existing(&codes[rows], valid), words)?,
    }
    chunk.close()
}

/// The values of rows that have one.
fn existing<'a, T: Clone>(values: &'a [T], valid: Option<&[bool]>) -> Cow<'a, [T]> {
    match valid {
        None => Cow::Borrowed(values),
        Some(valid) => {
            let kept = values.iter().zip(valid).filter(|(_, valid)| **valid);
            Cow::Owned(kept.map(|(value, _)| value.clone()).collect())
        }
    }
}

/// The pages of a column, under way.
struct Chunk<'a> {
    part: &'a Part<'a>,
    /// Which rows have a value; absent when all have one.
    valid: Option<&'a [bool]>,
    out: TrackedWrite<Vec<u8>>,
    unpacked_bytes: usize,
    dictionary: bool,
    data_start: usize,
    encodings: Vec<Encoding>,
    statistics: Option<Statistics>,
}

impl<'a> Chunk<'a> {
    fn new(part: &'a Part<'a>, valid: Option<&'a [bool]>) -> Self {
        Self {
            part,
            valid,
            out: TrackedWrite::new(Vec::new()),
            unpacked_bytes: 0,
            dictionary: false,
            data_start: 0,
            encodings: vec![Encoding::RLE],
            statistics: None,
        }
    }

    fn is_passing(&self) -> bool {
        self.part.form == Form::Passing
    }

    fn nulls(&self) -> Option<u64> {
        let missing = |valid: &[bool]| valid.iter().filter(|valid| !**valid).count() as u64;
        Some(self.valid.map_or(0, missing))
    }

    fn bools(&mut self, values: &[bool]) -> Result<(), ParquetError> {
        let (least, most) = (values.iter().min().copied(), values.iter().max().copied());
        self.statistics = Some(Statistics::boolean(least, most, None, self.nulls(), false));
        self.pages(Encoding::PLAIN, values, put_bools)
    }

    fn numbers32(&mut self, values: &[u32]) -> Result<(), ParquetError> {
        let bounds = values.iter().min().copied().zip(values.iter().max().copied());
        let (least, most) = bounds.unzip();
        let [least, most] = [least, most].map(|bound| bound.map(u32::cast_signed));
        self.statistics = Some(Statistics::int32(least, most, None, self.nulls(), false));
        let dictionary = bounds.filter(|_| !self.is_passing());
        let dictionary = dictionary.and_then(|bounds| Dictionary::of_numbers(values, bounds));
        let put_plain = |out: &mut Vec<u8>, values: &[u32]| {
            out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        };
        let Some(dictionary) = dictionary else {
            return self.pages(Encoding::PLAIN, values, put_plain);
        };
        let mut plain = Vec::with_capacity(dictionary.values.len() * 4);
        put_plain(&mut plain, &dictionary.values);
        self.coded(plain, dictionary.values.len(), &dictionary.positions)
    }

    fn numbers64<T: Ord>(
        &mut self,
        values: &[i64],
        order: impl Fn(&i64) -> T,
    ) -> Result<(), ParquetError> {
        let least = values.iter().min_by_key(|value| order(value)).copied();
        let most = values.iter().max_by_key(|value| order(value)).copied();
        self.statistics = Some(Statistics::int64(least, most, None, self.nulls(), false));
        self.pages(Encoding::DELTA_BINARY_PACKED, values, put_delta)
    }

    fn texts(&mut self, values: &[Text]) -> Result<(), ParquetError> {
        let bounds = values.iter().min().zip(values.iter().max());
        self.bounds(bounds.map(|(least, most)| (least.as_str(), most.as_str())));
        if let Some(Dictionary { values, positions }) = Dictionary::of_texts(values) {
            let mut plain = Vec::new();
            values.iter().for_each(|text| put_text(&mut plain, text));
            return self.coded(plain, values.len(), &positions);
        }
        let fitting = |texts: &[Text]| {
            let mut bytes = 0;
            let beyond = texts.iter().position(|text| {
                bytes += text.len() + 4;
                bytes > TEXT_BYTES
            });
            beyond.map_or(texts.len(), |at| at.max(1))
        };
        self.pages_of(Encoding::PLAIN, values, fitting, |out, values| {
            values.iter().for_each(|text| put_text(out, text));
        })
    }

    fn words(&mut self, codes: &[u8], words: &'static [&'static str]) -> Result<(), ParquetError> {
        let mut seen = [false; 256];
        codes.iter().for_each(|code| seen[usize::from(*code)] = true);
        let (mut places, mut plain, mut used) = ([0_u8; 256], Vec::new(), Vec::new());
        for (code, word) in words.iter().enumerate().filter(|(code, _)| seen[*code]) {
            places[code] = used.len().to_le_bytes()[0];
            put_text(&mut plain, word);
            used.push(*word);
        }
        self.bounds(used.iter().min().copied().zip(used.iter().max().copied()));
        let positions: Vec<u8> = codes.iter().map(|code| places[usize::from(*code)]).collect();
        self.coded(plain, used.len(), &positions)
    }

    fn bounds(&mut self, bounds: Option<(&str, &str)>) {
        let short = bounds.filter(|(a, b)| a.len().max(b.len()) <= STATISTIC_BYTES);
        let (least, most) = short.unzip();
        let [least, most] = [least, most].map(|text| text.map(ByteArray::from));
        self.statistics = Some(Statistics::byte_array(least, most, None, self.nulls(), false));
    }

    /// Writes a dictionary and the positions in it.
    fn coded<T: Copy + PartialEq + Into<u32>>(
        &mut self,
        plain: Vec<u8>,
        count: usize,
        positions: &[T],
    ) -> Result<(), ParquetError> {
        self.dictionary = true;
        self.encodings.push(Encoding::PLAIN);
        let num_values = u32::try_from(count).unwrap_or(u32::MAX);
        let page = |buf| Page::DictionaryPage {
            buf,
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.page(plain, page)?;
        self.data_start = self.out.bytes_written();
        let width = width_of(count.saturating_sub(1) as u64);
        self.pages(Encoding::RLE_DICTIONARY, positions, |out, positions| {
            out.push(width.to_le_bytes()[0]);
            put_hybrid(out, width, positions);
        })
    }

    /// Writes values that exist as pages of an encoding.
    fn pages<T>(
        &mut self,
        encoding: Encoding,
        values: &[T],
        put: impl Fn(&mut Vec<u8>, &[T]),
    ) -> Result<(), ParquetError> {
        self.pages_of(encoding, values, <[T]>::len, put)
    }

    /// Writes values that exist as pages of an encoding; `fitting` says how many of some go into one.
    fn pages_of<T>(
        &mut self,
        encoding: Encoding,
        mut values: &[T],
        fitting: impl Fn(&[T]) -> usize,
        put: impl Fn(&mut Vec<u8>, &[T]),
    ) -> Result<(), ParquetError> {
        self.encodings.push(encoding);
        let (rows, mut from) = (self.part.rows.len(), 0);
        while from < rows {
            let to = rows.min(from + PAGE_ROWS);
            let fit = fitting(&values[..self.present(from..to)]);
            let to = self.end_of(from..to, fit);
            let (some, rest) = values.split_at(fit);
            let mut body = Vec::new();
            self.put_levels(&mut body, from..to);
            put(&mut body, some);
            let num_values = u32::try_from(to - from).unwrap_or(u32::MAX);
            self.page(body, |buf| Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            })?;
            (from, values) = (to, rest);
        }
        Ok(())
    }

    /// How many of some rows have a value.
    fn present(&self, rows: Range<usize>) -> usize {
        let count = |valid: &[bool]| valid.iter().filter(|valid| **valid).count();
        self.valid.map_or(rows.len(), |valid| count(&valid[rows]))
    }

    /// The end of the first of some rows that have so many values.
    fn end_of(&self, rows: Range<usize>, values: usize) -> usize {
        let Some(valid) = self.valid else { return rows.start + values };
        let mut left = values;
        let is_one_more = |valid: &bool| {
            let beyond = *valid && left == 0;
            left -= usize::from(*valid && left > 0);
            beyond
        };
        let next = valid[rows.clone()].iter().position(is_one_more);
        next.map_or(rows.end, |next| rows.start + next)
    }

    /// Appends which rows have a value, where any may have none.
    fn put_levels(&self, body: &mut Vec<u8>, rows: Range<usize>) {
        if !self.part.nullable {
            return;
        }
        body.extend_from_slice(&[0; 4]);
        match self.valid {
            Some(valid) => put_hybrid(body, 1, &valid[rows]),
            None => put_hybrid(body, 1, &vec![true; rows.len()]),
        }
        let length = u32::try_from(body.len() - 4).unwrap_or(u32::MAX);
        body[..4].copy_from_slice(&length.to_le_bytes());
    }

    fn page(
        &mut self,
        body: Vec<u8>,
        page: impl FnOnce(Bytes) -> Page,
    ) -> Result<(), ParquetError> {
        let unpacked = body.len();
        let body = if self.part.form.is_packed() { packed(&body)? } else { body };
        let page = CompressedPage::new(page(body.into()), unpacked);
        let written = SerializedPageWriter::new(&mut self.out).write_page(page)?;
        self.unpacked_bytes += written.uncompressed_size;
        Ok(())
    }

    fn close(self) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let Self {
            part, out, unpacked_bytes, dictionary, data_start, encodings, statistics, ..
        } = self;
        let bytes = Bytes::from(out.into_inner()?);
        let size = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        let compression = match part.form.is_packed() {
            true => Compression::ZSTD(ZstdLevel::default()),
            false => Compression::UNCOMPRESSED,
        };
        let mut metadata = ColumnChunkMetaData::builder(part.column.clone())
            .set_compression(compression)
            .set_encodings(encodings)
            .set_num_values(size(part.rows.len()))
            .set_total_compressed_size(size(bytes.len()))
            .set_total_uncompressed_size(size(unpacked_bytes))
            .set_data_page_offset(size(data_start))
            .set_dictionary_page_offset(dictionary.then_some(0));
        if let Some(statistics) = statistics.filter(|_| part.form != Form::Passing) {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: part.rows.len() as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, close))
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Distinct values, and where in them each value of a column is.
struct Dictionary<T> {
    values: Vec<T>,
    positions: Vec<u32>,
}

fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Dictionary<u32> {
    /// The dictionary of numbers between two others, in their order; none when the column would be
    /// smaller without one.
    fn of_numbers(values: &[u32], (least, most): (u32, u32)) -> Option<Self> {
        let range = (most - least) as usize + 1;
        let mut distinct = Vec::new();
        let mut places = Vec::new();
        let is_dense = range <= values.len().saturating_mul(8);
        if is_dense {
            places = vec![0_u32; range];
            values.iter().for_each(|value| places[(value - least) as usize] = 1);
            for (value, place) in (least..=most).zip(&mut places).filter(|(_, place)| **place == 1)
            {
                *place = position(distinct.len());
                distinct.push(value);
            }
        } else {
            distinct.extend_from_slice(values);
            distinct.sort_unstable();
            distinct.dedup();
        }
        let bits = width_of(distinct.len().saturating_sub(1) as u64) as usize;
        if distinct.len() * 32 + values.len() * bits >= values.len() * 32 {
            return None;
        }
        let place = |value: &u32| match is_dense {
            true => places[(value - least) as usize],
            false => position(distinct.binary_search(value).unwrap_or(0)),
        };
        let positions = values.iter().map(place).collect();
        Some(Self { values: distinct, positions })
    }
}

impl<'a> Dictionary<&'a str> {
    /// The dictionary of texts in the order of first sight; none when it would be large.
    fn of_texts(texts: &'a [Text]) -> Option<Self> {
        let (mut values, mut positions) = (Vec::new(), Vec::with_capacity(texts.len()));
        let (mut places, mut bytes) = (HashMap::new(), 0);
        for text in texts {
            let place = *places.entry(text.as_str()).or_insert_with(|| {
                values.push(text.as_str());
                bytes += text.len() + 4;
                position(values.len() - 1)
            });
            if bytes > TEXT_BYTES {
                return None;
            }
            positions.push(place);
        }
        Some(Self { values, positions })
    }
}
