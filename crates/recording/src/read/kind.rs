//! Says what a file is that is no recording, from its first bytes.

use crate::error::Kind;

/// First bytes of formats, as their documents give them.
const MAGICS: [(&[u8], Kind); 6] = [
    (b"PERFILE2", Kind::PerfData),
    (b"2ELIFREP", Kind::PerfData),
    (b"\x7fELF", Kind::Elf),
    (b"PAR1", Kind::Parquet),
    (b"\x1f\x8b", Kind::Gzip),
    (b"PK", Kind::OtherZip),
];

/// What a file with these first bytes (a few hundred are enough) looks like.
pub(crate) fn recognise(head: &[u8]) -> Kind {
    if head.is_empty() {
        return Kind::Empty;
    }
    let known = MAGICS.iter().find(|(magic, _)| head.starts_with(magic));
    known.map_or_else(|| if is_text(head) { Kind::Text } else { Kind::Unknown }, |(_, kind)| *kind)
}

fn is_text(head: &[u8]) -> bool {
    let readable = |text: &str| text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace());
    match std::str::from_utf8(head) {
        Ok(text) => readable(text),
        // A character cut by the end of `head` is no sign against text.
        Err(e) => {
            e.error_len().is_none()
                && std::str::from_utf8(&head[..e.valid_up_to()]).is_ok_and(readable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_first_bytes() {
        for (head, kind) in [
            (&b""[..], Kind::Empty),
            (b"PERFILE2\x68\0", Kind::PerfData),
            (b"\x7fELF\x02", Kind::Elf),
            (b"PAR1\x15", Kind::Parquet),
            (b"PK\x05\x06", Kind::OtherZip),
            (b"main;f 12\nmain;g 3\n", Kind::Text),
            ("abc\u{e9}".as_bytes().split_last().unwrap().1, Kind::Text),
            (b"\x00\x01\x02", Kind::Unknown),
        ] {
            assert_eq!(recognise(head), kind, "{head:?}");
        }
    }
}
