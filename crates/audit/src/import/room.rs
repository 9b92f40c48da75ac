//! How many rows an import keeps in memory before it writes them as parts.
//!
//! Writing parts and reading them again costs a fifth of an import that fits into memory. What must be known
//! of contacts and visits stays there in any case, so the more there are of them, the less is left for rows.

/// Rows that are kept at least: about half a gigabyte.
const LEAST_ROWS: usize = 5_000_000;
/// Bytes that rows may take together with what is known of contacts and visits. From some 8 million visits
/// on, only [`LEAST_ROWS`] have room.
const MEMORY: usize = 2 << 30;
/// Bytes of a row, and of what is known of a contact and of a visit, with their places in the indexes.
const ROW: usize = 100;
const CONTACT: usize = 130;
const VISIT: usize = 64;

/// Rows that may be in memory beside so many contacts and visits.
pub(super) fn room(contacts: usize, visits: u64) -> usize {
    let visits = usize::try_from(visits).unwrap_or(usize::MAX);
    let known = contacts.saturating_mul(CONTACT).saturating_add(visits.saturating_mul(VISIT));
    (MEMORY.saturating_sub(known) / ROW).max(LEAST_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_known_leaves_less_room_for_rows() {
        assert_eq!(room(0, 0), MEMORY / ROW);
        assert!(room(1_000_000, 1_000_000) < room(0, 1_000_000));
        assert_eq!(room(15_000_000, 20_000_000), LEAST_ROWS);
        assert_eq!(room(usize::MAX, u64::MAX), LEAST_ROWS);
    }
}
