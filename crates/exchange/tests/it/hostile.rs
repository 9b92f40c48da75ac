//! Files cut at any length and changed at any byte are read in part or refused, never a panic.

use culprit_exchange::{Format, read_bytes};
use proptest::prelude::*;

use crate::round_trip::fixtures;

/// Lengths tried of each fixture, bytes changed of each: every one of small files.
const PLACES: usize = 40;

/// The same where time is no matter.
const MANY_PLACES: usize = 400;

fn all() -> Vec<(Format, Vec<u8>)> {
    let read = |path| std::fs::read(path).expect("a fixture");
    fixtures().into_iter().map(|(format, path)| (format, read(path))).collect()
}

fn cut(places: usize) {
    for (format, bytes) in all() {
        let step = bytes.len().div_ceil(places).max(1);
        for end in (0..bytes.len()).step_by(step) {
            let _ = read_bytes("cut", bytes[..end].to_vec(), Some(format));
            let _ = read_bytes("cut", bytes[..end].to_vec(), None);
        }
    }
}

fn change(places: usize) {
    for (format, bytes) in all() {
        let step = bytes.len().div_ceil(places).max(1);
        for at in (0..bytes.len()).step_by(step) {
            for change in [0xff, 0x00, 0x80, bytes[at] ^ 1] {
                let mut bytes = bytes.clone();
                bytes[at] = change;
                let _ = read_bytes("changed", bytes, Some(format));
            }
        }
    }
}

#[test]
fn files_cut_short_are_read_in_part_or_refused() {
    cut(PLACES);
}

#[test]
fn changed_bytes_are_survived() {
    change(PLACES);
}

#[test]
#[ignore = "long: make accuracy"]
fn files_cut_short_or_changed_at_many_places_are_survived() {
    cut(MANY_PLACES);
    change(MANY_PLACES);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn anything_at_all_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for format in <Format as culprit_model::Label>::ALL {
            let _ = read_bytes("any", bytes.clone(), Some(*format));
        }
        let _ = read_bytes("any", bytes, None);
    }

    #[test]
    fn pieces_of_fixtures_in_any_order_are_survived(
        which in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 2..6),
    ) {
        let all = all();
        let (format, bytes) = which.get(&all);
        let mut mixed = Vec::new();
        for pair in cuts.windows(2) {
            let (a, b) = (pair[0].index(bytes.len() + 1), pair[1].index(bytes.len() + 1));
            mixed.extend_from_slice(&bytes[a.min(b)..a.max(b)]);
        }
        let _ = read_bytes("mixed", mixed, Some(*format));
    }
}
