//! Numbers at places of a piece of bytes, little-endian, none where the piece ends before.

/// `N` bytes from an offset.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// A byte.
pub(super) fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// Two bytes.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// Four bytes.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Eight bytes.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A number of two or four bytes.
pub(super) fn index_at(bytes: &[u8], at: usize, wide: bool) -> Option<u32> {
    if wide { u32_at(bytes, at) } else { u16_at(bytes, at).map(u32::from) }
}

/// A length or index of a file as one of memory.
pub(super) fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A number in the compressed form of ECMA-335 II.23.2 (1, 2 or 4 bytes, big-endian), and where the
/// next one begins.
pub(super) fn compressed(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = u8_at(bytes, at)?;
    if first & 0x80 == 0 {
        return Some((first.into(), at.checked_add(1)?));
    }
    if first & 0x40 == 0 {
        let number = array(bytes, at).map(u16::from_be_bytes)?;
        return Some(((number & 0x3fff).into(), at.checked_add(2)?));
    }
    let number = array(bytes, at).map(u32::from_be_bytes)?;
    Some((number & 0x1fff_ffff, at.checked_add(4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of ECMA-335 II.23.2.
    #[test]
    fn compressed_numbers_take_one_two_or_four_bytes() {
        for (bytes, number) in [
            (&[0x03][..], 0x03),
            (&[0x7f], 0x7f),
            (&[0x80, 0x80], 0x80),
            (&[0xae, 0x57], 0x2e57),
            (&[0xbf, 0xff], 0x3fff),
            (&[0xc0, 0x00, 0x40, 0x00], 0x4000),
            (&[0xdf, 0xff, 0xff, 0xff], 0x1fff_ffff),
        ] {
            assert_eq!(compressed(bytes, 0), Some((number, bytes.len())));
            assert_eq!(compressed(&bytes[..bytes.len() - 1], 0), None, "cut short");
        }
    }
}
