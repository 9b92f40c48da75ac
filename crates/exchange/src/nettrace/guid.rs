//! What the ids of activities say.
//!
//! .NET's `ActivityTracker` makes ids of its own: a path from the outermost activity on, in nibbles,
//! then a sum with the process (dotnet/runtime `ActivityTracker.cs`). They are written as PerfView
//! writes them, `/#4711/1/5/`, so that an activity's path begins with that of its parent.

use std::fmt::Write as _;

use super::events::Guid;

/// Nibbles of a path.
const NIBBLES: usize = 24;

/// The largest process number of Linux and more.
const MOST_PIDS: u32 = 1 << 22;

/// An activity's id as text: a path that ends with `/` where the id is one.
pub(super) fn text(id: &Guid) -> String {
    path(id).unwrap_or_else(|| plain(id))
}

fn plain(id: &Guid) -> String {
    let [a, b, c, d, e, f, g, h, rest @ ..] = *id;
    let first = u32::from_le_bytes([a, b, c, d]);
    let (second, third) = (u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]));
    let mut text = format!("{first:08x}-{second:04x}-{third:04x}-");
    for (at, byte) in rest.iter().enumerate() {
        if at == 2 {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The path; none where the sum or the nibbles are of another id.
fn path(id: &Guid) -> Option<String> {
    let (words, _) = id.as_chunks::<4>();
    let [a, b, c, sum] = *words else { return None };
    let word = u32::from_le_bytes;
    let ours = word(a).wrapping_add(word(b)).wrapping_add(word(c)).wrapping_add(0x599d_99ad);
    let process = ours ^ word(sum);
    if process >= MOST_PIDS {
        return None;
    }
    let mut text = match process {
        0 => "/".to_owned(),
        _ => format!("/#{process}"),
    };
    let (mut at, mut numbers) = (0, 0);
    while at < NIBBLES && nibble(id, at)? != 0 {
        let (separator, number, next) = number(id, at)?;
        let _ = write!(text, "{separator}{number}");
        (at, numbers) = (next, numbers + 1);
    }
    let rest_is_nothing = (at..NIBBLES).all(|at| nibble(id, at) == Some(0));
    (numbers > 0 && rest_is_nothing).then(|| text + "/")
}

fn nibble(id: &Guid, at: usize) -> Option<u8> {
    let byte = id.get(at / 2).filter(|_| at < NIBBLES)?;
    Some(if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 })
}

/// The number at a nibble, what stands before it, and where the next one is: up to ten in a nibble,
/// larger ones in bytes behind a code. Behind another code stands one that is no step of the path
/// but counts activities for which the path had no room.
fn number(id: &Guid, at: usize) -> Option<(char, u64, usize)> {
    const LARGEST: u8 = 10;
    const NO_ROOM: u8 = 11;
    const BYTES: u8 = 12;
    let (separator, at) = match nibble(id, at)? {
        small @ ..=LARGEST => return Some(('/', u64::from(small), at + 1)),
        NO_ROOM => ('$', at + 1),
        _ => ('/', at),
    };
    let length = usize::from(nibble(id, at)?.checked_sub(BYTES)?) + 1;
    // A code that begins its byte has the number's highest bits behind it.
    let high = if at.is_multiple_of(2) { nibble(id, at + 1)? } else { 0 };
    let from = at / 2 + 1;
    let bytes = id.get(from..from + length).filter(|_| 2 * (from + length) <= NIBBLES)?;
    let add = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
    Some((separator, bytes.iter().rev().fold(u64::from(high), add), 2 * (from + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id of these nibbles for a process.
    fn made(nibbles: &[u8], process: u32) -> Guid {
        let mut id = Guid::default();
        for (at, nibble) in nibbles.iter().enumerate() {
            id[at / 2] |= if at % 2 == 0 { nibble << 4 } else { *nibble };
        }
        let word = |at: usize| u32::from_le_bytes(id[at..at + 4].try_into().unwrap());
        let sum = word(0).wrapping_add(word(4)).wrapping_add(word(8)).wrapping_add(0x599d_99ad);
        id[12..].copy_from_slice(&(sum ^ process).to_le_bytes());
        id
    }

    #[test]
    fn paths_are_written_as_perfview_writes_them() {
        assert_eq!(text(&made(&[1, 1, 5], 0)), "//1/1/5/");
        assert_eq!(text(&made(&[1, 10, 2], 4711)), "/#4711/1/10/2/");
        // 0x134 in a byte and the nibble before it; 0x2010 in two bytes, with a nibble to fill up.
        assert_eq!(text(&made(&[12, 1, 3, 4, 7], 0)), "//308/7/");
        assert_eq!(text(&made(&[1, 13, 1, 0, 2, 0, 3], 0)), "//1/8208/3/");
        assert_eq!(text(&made(&[1, 11, 12, 0, 2, 10], 0)), "//1$42/");
    }

    #[test]
    fn other_ids_are_written_as_ids() {
        let id: Guid = std::array::from_fn(|at| u8::try_from(at).unwrap() * 17);
        assert_eq!(text(&id), "33221100-5544-7766-8899-aabbccddeeff");
        assert_eq!(text(&made(&[0], 0)), "00000000-0000-0000-0000-0000ad999d59");
        // Something behind the end, a code without its bytes, and a number that is none.
        for nibbles in [&[1, 0, 3][..], &[11, 3], &[0; 23]] {
            assert_eq!(text(&made(nibbles, 0)).len(), 36, "{nibbles:?}");
        }
        let mut cut = [1; 24];
        cut[22] = 15;
        assert_eq!(text(&made(&cut, 0)).len(), 36);
    }
}
