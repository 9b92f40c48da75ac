//! The page of a recording: the page of `culprit view` in one file, with the recording inside.

use std::path::Path;

use culprit_engine::cut;
use culprit_model::{Filter, Nanos, Recording, Time};
use culprit_page::{OneFile, Start};
use culprit_report::json::FilterJson;
use culprit_report::layout::Layout;
use culprit_report::text::{ThreadList, report_text};
use culprit_report::{Digest, size};

use crate::failure::{Context as _, Failure};
use crate::presets;

/// The most bytes of a recording that a page carries. Base64 makes them 43 MB, which a browser still opens in
/// seconds and a mail server rarely refuses for its length alone; at double, opening takes as long again.
const MOST: usize = 32 << 20;

/// Of the time that would fit by size, how much is kept: rows are not spread evenly.
const SPARE: f64 = 0.9;

/// What a page is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordingPage<'a> {
    /// The recording's file.
    pub path: &'a Path,
    /// The view that it shows first.
    pub view: &'static str,
    /// The filter that it shows first.
    pub filter: &'a Filter,
}

impl RecordingPage<'_> {
    /// The page of a recording and what there is to say about it.
    ///
    /// # Errors
    /// When the recording cannot be written, or a preset is unknown.
    pub(crate) fn html(self, digest: &Digest) -> Result<String, Failure> {
        let filter = presets::applied(&digest.recording, self.filter)?;
        let list = ThreadList { most: 0, idle: false };
        let text = report_text(digest, self.path, list, None, &Layout::plain(100));
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let Carried { bytes, filter, note } = Carried::new(&digest.recording, filter, MOST)?;
        let note =
            note.map(|note| format!("{note} `culprit view {}` shows all.", self.path.display()));
        let page = OneFile {
            title: &format!("Culprit: {}", digest.what()),
            start: Start {
                name: name.into_owned(),
                view: self.view,
                filter: FilterJson::from(&filter),
                note,
            },
            recording: &bytes,
            text: &text,
            section: culprit_report::config::html::kept_section(&[(String::new(), digest)]),
        };
        page.render().or_refused(|| "cannot create the HTML page".to_owned())
    }
}

/// What a page carries of a recording.
struct Carried {
    bytes: Vec<u8>,
    /// The filter, in the times of what is carried.
    filter: Filter,
    /// What is missing; none where all is there.
    note: Option<String>,
}

impl Carried {
    /// The whole recording if it has at most so many bytes; else the last part of the filter's time that fits.
    fn new(recording: &Recording, mut filter: Filter, most: usize) -> Result<Self, Failure> {
        let mut encoded = encoded(recording)?;
        if encoded.len() <= most {
            return Ok(Self { bytes: encoded, filter, note: None });
        }
        let (all, wall) = (encoded.len(), recording.meta.wall);
        let end = filter.to.map_or(wall, |to| Nanos(to.0.min(wall.0)));
        let mut from = filter.from.map_or(Nanos::ZERO, |from| Nanos(from.0.min(end.0)));
        let mut length = end.saturating_sub(from);
        loop {
            let mut part = recording.clone();
            cut(&mut part, Time(from.0), Time(end.0));
            encoded = self::encoded(&part)?;
            if encoded.len() <= most || length.0 < 2 {
                break;
            }
            length = shorter(length, most, encoded.len());
            from = end.saturating_sub(length);
        }
        (filter.from, filter.to) = (None, None);
        let note = format!(
            "This page has the time from {from} to {end} of a recording of {wall}, counted from its own start: \
             the recording has {}, and a page carries at most {}.",
            size(all as u64),
            size(most as u64)
        );
        Ok(Self { bytes: encoded, filter, note: Some(note) })
    }
}

/// A length of time whose rows should fit.
fn shorter(length: Nanos, most: usize, size: usize) -> Nanos {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let part = (most as f64 / size as f64 * SPARE).min(SPARE);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate between 0 and the length"
    )]
    let shorter = (length.0 as f64 * part) as u64;
    Nanos(shorter)
}

fn encoded(recording: &Recording) -> Result<Vec<u8>, Failure> {
    let what = || "cannot put the recording into the page".to_owned();
    culprit_recording::to_bytes(recording).or_refused(what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::notation::parse;

    fn long() -> Recording {
        // No pattern, so that a part of the rows takes a part of the bytes.
        let bits = (0..2000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & 1);
        let lane: String = bits.map(|bit| if bit == 0 { 'u' } else { 's' }).collect();
        let drawing = format!(
            "tick 1ms
            stack u cpu.user app!main;app!compute
            stack s blocked.sleep app!main;libc.so.6!nanosleep
            app(1)/main(1) {lane}|
            root app(1)"
        );
        parse(&drawing).unwrap()
    }

    #[test]
    fn a_recording_that_fits_is_carried_whole() {
        let (recording, filter) = (long(), Filter { from: Some(Time(5)), ..Filter::default() });
        let carried = Carried::new(&recording, filter.clone(), MOST).unwrap();
        assert_eq!((carried.filter, carried.note), (filter, None));
        let back = culprit_recording::parse("x", carried.bytes).unwrap().recording;
        assert_eq!(back.intervals.len(), recording.intervals.len());
    }

    #[test]
    fn of_a_large_one_the_last_part_is_carried_and_the_page_says_which() {
        let recording = long();
        let whole = encoded(&recording).unwrap().len();
        let most = whole - 200;
        let carried = Carried::new(&recording, Filter::default(), most).unwrap();
        let back = culprit_recording::parse("x", carried.bytes.clone()).unwrap().recording;
        assert!(carried.bytes.len() <= most, "{} of {whole}", carried.bytes.len());
        assert!(back.meta.wall < recording.meta.wall && back.meta.wall > Nanos::ZERO);
        let note = carried.note.unwrap();
        assert!(note.contains("to 2.00 s of a recording of 2.00 s"), "{note}");
        let range = Filter { to: Some(Time(1_000_000_000)), ..Filter::default() };
        let carried = Carried::new(&recording, range, most).unwrap();
        assert!(carried.note.unwrap().contains("to 1.00 s of"), "the filter's time comes first");
        assert_eq!((carried.filter.from, carried.filter.to), (None, None));
    }
}
