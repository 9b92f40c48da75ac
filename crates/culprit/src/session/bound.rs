//! A finished file within a bound: the newest part of the recording that fits.
//!
//! How many bytes a stretch of time takes is known only when it is written, so it is written and
//! measured, and cut shorter until it fits.

use std::path::Path;

use culprit_model::{Loss, LossKind, Recording, Time};

/// What a file takes on top of its rows: the heads of its tables, and the meta data. A bound that
/// leaves no room for rows at all would be none that anybody can use.
pub(crate) const OVERHEAD_BYTES: u64 = 128 << 10;

/// How often it is cut at most; each time takes away at least a tenth of what is left.
const MOST_CUTS: u32 = 64;

/// Writes a recording; with a bound, cut from its start on until the file has at most so many bytes
/// beside [`OVERHEAD_BYTES`].
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(
    path: &Path,
    recording: &mut Recording,
    bound: Option<u64>,
) -> Result<(), culprit_recording::Error> {
    culprit_recording::write(path, recording)?;
    let Some(most) = bound.map(|bytes| bytes.saturating_add(OVERHEAD_BYTES)) else { return Ok(()) };
    for _ in 0..MOST_CUTS {
        let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
        if size <= most || !drop_oldest(recording, most, size) {
            break;
        }
        culprit_recording::write(path, recording)?;
    }
    Ok(())
}

/// Takes away so much of the oldest rows that the file should shrink from `size` to `most`; false
/// when there is nothing to take away.
fn drop_oldest(recording: &mut Recording, most: u64, size: u64) -> bool {
    let mut times: Vec<Time> = recording.intervals.iter().map(|row| row.start).collect();
    times.extend(recording.samples.iter().map(|row| row.time));
    times.extend(recording.wakeups.iter().map(|row| row.time));
    times.extend(recording.faults.iter().map(|row| row.time));
    times.sort_unstable();
    // A little more than in proportion: stacks and names do not shrink as events do.
    let keep = usize::try_from(most.saturating_mul(9) / 10).unwrap_or(usize::MAX);
    let kept =
        times.len().saturating_mul(keep) / usize::try_from(size.max(1)).unwrap_or(usize::MAX);
    let end = Time(recording.meta.wall.0);
    let Some(from) = times.get(times.len().saturating_sub(kept.max(1))).copied() else {
        return false;
    };
    if from == Time::START || from >= end {
        return false;
    }
    culprit_engine::cut(recording, from, end);
    tell(recording, (times.len() - kept) as u64);
    true
}

/// One row says how many were dropped, also where the recorder has dropped some before.
fn tell(recording: &mut Recording, dropped: u64) {
    let known = recording.losses.iter_mut().find(|loss| loss.kind == LossKind::OldestDropped);
    match known {
        Some(loss) => loss.count += dropped,
        None => recording.losses.push(Loss {
            kind: LossKind::OldestDropped,
            count: dropped,
            from: None,
            to: None,
            detail: "old events, dropped to limit the file size".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Nanos, notation};

    use super::*;

    /// Threads that sleep and work in turns of uneven lengths, which no encoding makes small.
    fn busy(turns: usize) -> Recording {
        let mut number = 1_u32;
        let mut length = || {
            number = number.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            usize::try_from(number >> 28).unwrap() + 1
        };
        let strip: String = (0..turns)
            .flat_map(|_| ["U", "s", "K", "l", "U", "n", "K", "p"])
            .map(|state| state.repeat(length()))
            .collect();
        let text =
            format!("tick 1us\napp(10)/main(10) {strip}\napp(10)/worker(11) {strip}\nroot app(10)");
        notation::parse(&text).unwrap()
    }

    #[test]
    fn the_newest_part_that_fits_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.culprit");
        let mut recording = busy(60_000);
        let whole = recording.clone();
        culprit_recording::write(&path, &whole).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 2 << 20, "else nothing is shown");
        write(&path, &mut recording, Some(1 << 20)).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size <= (1 << 20) + OVERHEAD_BYTES, "{size}");
        assert!(size > 1 << 19, "{size}: no more is dropped than must be");
        let (kept, last) =
            (recording.meta.wall, |r: &Recording| r.intervals.last().map(|row| row.cause));
        assert!(kept > Nanos::ZERO && kept < whole.meta.wall);
        assert_eq!(last(&recording), last(&whole), "the newest part");
        let losses: Vec<_> = recording.losses.iter().map(|loss| loss.kind).collect();
        assert_eq!(losses, [LossKind::OldestDropped]);
        assert_eq!(
            culprit_recording::open(&path).unwrap().recording.intervals,
            recording.intervals
        );
    }

    #[test]
    fn without_a_bound_everything_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut recording = busy(10);
        let whole = recording.clone();
        write(&folder.path().join("x.culprit"), &mut recording, None).unwrap();
        assert_eq!(recording, whole);
    }
}
