//! Writes that wait for the disk: the part of [`files`](super::files) that is the device's matter.
//!
//! A block appended and brought to the disk by `fdatasync`, as a log does it, and a small file made
//! and brought there by `fsync`, as an editor saves. A container's layer and its host write to one
//! device by the same calls, and on one machine the same arm twice differs more than two places do:
//! measured, 0.5 to 4.6 ms in all of them. So this is shown and never judged. It tells where a disk is
//! not what it seems, as behind the virtual machine of a desktop.

use std::fs::{self, File};
use std::io::Write as _;

use serde::{Deserialize, Serialize};

use culprit_model::Unit;

use crate::histogram::Histogram;
use crate::inside::{Clock, Fault, Here, Laps, Task};
use crate::metric::{Metric, Part};
use crate::sample::Sample;

/// So often each is done in a round: the fewest of which a median is told
/// ([`Histogram::percentile`]), for a disk may take milliseconds for each.
pub(super) const TIMES: u32 = 20;
/// What is written each time.
pub(super) const BYTES: usize = 4096;

const APPEND: Metric =
    Metric::lower("append_sync_ns.p50", "append 4 KiB + fdatasync, p50", Unit::Nanos, Part::Shown);
const CREATE: Metric = Metric::lower(
    "create_sync_ns.p50",
    "create + 4 KiB + fsync + close, p50",
    Unit::Nanos,
    Part::Shown,
);

/// What is told.
pub(super) const METRICS: [Metric; 2] = [APPEND, CREATE];

/// One round in the place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Durable {}

/// Wall time of the middle one without waits for a CPU, ns.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    append: Option<u64>,
    create: Option<u64>,
}

impl Told {
    /// The sample with what was told here.
    pub(super) fn add_to(&self, sample: Sample) -> Sample {
        sample
            .maybe(APPEND.id, self.append.map(|ns| ns as f64))
            .maybe(CREATE.id, self.create.map(|ns| ns as f64))
    }
}

impl Task for Durable {
    const NAME: &'static str = "files-durable";
    type Output = Told;

    /// What is made stays until the worker ends, as all files of this probe do.
    fn run(self, here: &mut Here) -> Result<Told, Fault> {
        let folder = here.dir()?.join(format!("durable-{}", Clock::now()));
        let failed = |error: std::io::Error| Fault::io("write in", &folder, &error);
        fs::create_dir(&folder).map_err(failed)?;
        let block = vec![b'd'; BYTES];
        let mut log = File::create_new(folder.join("log")).map_err(failed)?;
        let append = median(here, |_| {
            log.write_all(&block)?;
            log.sync_data()
        });
        let create = median(here, |number| {
            let mut file = File::create_new(folder.join(number.to_string()))?;
            file.write_all(&block)?;
            file.sync_all()
        });
        Ok(Told { append: append.map_err(failed)?, create: create.map_err(failed)? })
    }
}

fn median(
    here: &Here,
    mut act: impl FnMut(u32) -> std::io::Result<()>,
) -> std::io::Result<Option<u64>> {
    let (mut times, mut laps) = (Histogram::default(), Laps::start(0));
    for number in 0..TIMES {
        if here.stopped() {
            break;
        }
        act(number)?;
        times.record(laps.lap());
    }
    Ok(times.percentile(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_told_and_what_was_made_stays() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let ours = dir.path().join("ours");
        let sample = Durable {}.run(&mut Here::at(&ours)).unwrap().add_to(Sample::default());
        assert!(METRICS.iter().all(|metric| sample.values[metric.id] > 0.0), "{sample:?}");
        let folder = fs::read_dir(&ours).unwrap().next().unwrap().unwrap().path();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1 + TIMES as usize);
        let log = fs::metadata(folder.join("log")).unwrap().len();
        assert_eq!(log, u64::from(TIMES) * BYTES as u64);
    }
}
