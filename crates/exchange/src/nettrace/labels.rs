//! Lists of labels, which events of version 6 refer to by number.

use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Wrong};
use super::events::Guid;

/// What is used of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Labels {
    /// The activity that an event belongs to; zeros for none.
    pub(super) activity: Guid,
    /// The opcode of the event itself, where its type leaves that open.
    pub(super) opcode: Option<u8>,
}

/// Adds the lists of a block: the first number, how many, then the labels; a bit ends each list.
pub(super) fn lists(body: &[u8], known: &mut FxHashMap<u32, Labels>) -> Result<(), Wrong> {
    const LAST: u8 = 0x80;
    let mut cursor = Cursor::new(body);
    let (first, count) = (cursor.u32()?, cursor.u32()?);
    for at in 0..count {
        let mut labels = Labels::default();
        loop {
            let kind = cursor.u8()?;
            label(&mut cursor, kind & !LAST, &mut labels)?;
            if kind & LAST != 0 {
                break;
            }
        }
        known.insert(first.wrapping_add(at), labels);
    }
    Ok(())
}

fn label(cursor: &mut Cursor<'_>, kind: u8, labels: &mut Labels) -> Result<(), Wrong> {
    match kind {
        1 => labels.activity = cursor.array()?,
        7 => labels.opcode = Some(cursor.u8()?),
        5 => drop((cursor.text()?, cursor.text()?)),
        6 => drop((cursor.text()?, cursor.varuint()?)),
        _ => {
            let length = match kind {
                // The activity that it is related to, the trace that it is part of.
                2 | 3 => 16,
                4 | 8 => 8,
                9 | 10 => 1,
                _ => return Err(Wrong),
            };
            cursor.take(length)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_ends_each_list() {
        let mut body = [7_u32, 2].map(u32::to_le_bytes).concat();
        body.extend([5, 1, b'k', 1, b'v', 6, 1, b'n', 0x81, 1, 0x81]);
        body.extend([3; 16]);
        body.extend([0x87, 2]);
        let mut known = FxHashMap::default();
        assert_eq!(lists(&body, &mut known), Ok(()));
        assert_eq!(known.get(&7), Some(&Labels { activity: [3; 16], opcode: None }));
        assert_eq!(known.get(&8), Some(&Labels { activity: [0; 16], opcode: Some(2) }));
        assert_eq!(lists(&body[..body.len() - 1], &mut known), Err(Wrong));
    }
}
