//! Encoding and decoding are inverse, and decoding survives any bytes.

use culprit_model::{Row, Text, Time};

use super::{Form, Unzstd, decode, encode};

culprit_model::labels! {
    /// A word.
    Word ("word") {
        /// One.
        One = "one",
        /// Two.
        Two = "two",
    }
}

culprit_model::table! {
    /// Every type of column, with and without missing cells.
    Every in "every" {
        /// Time.
        time: Time,
        /// Flag.
        flag: bool,
        /// Small.
        small: Option<u32>,
        /// Large.
        large: Option<u64>,
        /// Signed.
        signed: Option<i64>,
        /// Text.
        text: Option<Text>,
        /// Word.
        word: Option<Word>,
    }
}

fn rows(n: u64) -> Vec<Every> {
    (0..n)
        .map(|i| Every {
            time: Time(i * i),
            flag: i % 3 == 0,
            small: (i % 2 == 0).then_some(u32::MAX - 7),
            large: (i % 5 == 0).then_some(u64::MAX - i),
            signed: (i % 7 != 0).then_some(i64::MIN + 5),
            text: (i % 4 == 0).then(|| Text::from(format!("text \u{e9} {}", i % 50))),
            word: (i % 6 != 0).then_some(if i % 2 == 0 { Word::One } else { Word::Two }),
        })
        .collect()
}

fn encoded(n: u64) -> Vec<u8> {
    encode(&Every::TABLE, &Every::columns(&rows(n)), Form::Finished).unwrap()
}

fn decoded(bytes: &[u8]) -> Option<Vec<Every>> {
    Every::rows(decode(Every::TABLE.columns, bytes, &mut Unzstd::default()).ok()?).ok()
}

#[test]
fn every_type_comes_back() {
    for n in [0, 1, 2, 1000] {
        for form in [Form::Finished, Form::Part, Form::Unpacked, Form::Passing] {
            let bytes = encode(&Every::TABLE, &Every::columns(&rows(n)), form).unwrap();
            assert_eq!(decoded(&bytes), Some(rows(n)), "{n} rows, {form:?}");
        }
    }
}

#[test]
fn a_table_of_equal_rows_is_padded_to_what_the_reader_believes() {
    let same = vec![rows(1).remove(0); 1 << 20];
    let bytes = encode(&Every::TABLE, &Every::columns(&same), Form::Part).unwrap();
    assert_eq!(bytes.len(), (1 << 20) / 8);
    assert_eq!(decoded(&bytes), Some(same));
}

#[test]
fn no_flipped_byte_makes_decoding_panic() {
    let good = encoded(200);
    for at in 0..good.len() {
        for mask in [0x01, 0x10, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= mask;
            // Anything may come out of it, as long as it comes out.
            decoded(&bad);
        }
    }
}
