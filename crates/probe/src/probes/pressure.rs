//! `pressure`: what a limit on memory does to files that are read again.
//!
//! The page cache counts to the memory of the cgroup that has read the file. A file that is larger than
//! the limit cannot stay there: read from its beginning to its end again and again, each page has just
//! been dropped when it is wanted next, and comes from the disk every time (a *refault*). Times say
//! little about it where the disk, or the cache of a machine below this one, is fast; the kernel's
//! counters are exact, and stand beside them.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use culprit_model::Unit;
use culprit_place::{Counters, Memory, PlaceSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arm::{Arm, Location, Role};
use crate::error::{Error, Result};
use crate::inside::{Fault, Here, Meter, Task, Usage, bytes_read};
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Pressure {
    /// Bytes of the file.
    pub bytes: u64,
    /// How often it is read from its beginning to its end in a round.
    pub passes: u32,
    /// Memory that engines' places without a limit of their own are given in one more arm.
    pub limit: Memory,
}

impl Default for Pressure {
    fn default() -> Self {
        Self { bytes: 128 << 20, passes: 2, limit: Memory(64 << 20) }
    }
}

const READ: Metric = Metric::lower("read_ns_per_mib", "read 1 MiB", Unit::Nanos, Part::Headline);
const READ_CPU: Metric =
    Metric::lower("read_cpu_ns_per_mib", "read 1 MiB, CPU", Unit::Nanos, Part::Shown);
const FROM_DISK: Metric =
    Metric::shown_fact("from_disk_share", "share read from the disk", Unit::Share);
const REFAULTS: Metric = Metric::shown_fact("file_refaults", "refaults", Unit::Count);
const LIMIT_HITS: Metric = Metric::shown_fact("limit_hits", "limit hit", Unit::Count);
const LIMIT: Metric = Metric::fact("limit_bytes", "memory allowed", Unit::Bytes);
const USED: Metric = Metric::fact("memory_bytes", "memory in use", Unit::Bytes);

impl Probe for Pressure {
    fn id(&self) -> &'static str {
        "pressure"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![READ, READ_CPU, FROM_DISK, REFAULTS, LIMIT_HITS, LIMIT, USED]
    }

    fn workload(&self) -> Value {
        json!({"bytes": self.bytes, "passes": self.passes, "limit_bytes": self.limit.0})
    }

    fn words(&self) -> Vec<String> {
        vec![
            format!(
                "a file of {} MiB is written once, then read {} times from start to end in each \
                 round",
                self.bytes >> 20,
                self.passes
            ),
            "the kernel counts the dropped pages that were read again, and how often the memory \
             limit was hit"
                .to_owned(),
        ]
    }

    fn works_with_files(&self) -> bool {
        true
    }

    /// An engine's place without a limit comes once more with one. Of its folders only the layer is
    /// read unless others are asked for: where the file lies plays a small part.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let at = if asked.at.is_empty() { vec![Location::Layer(None)] } else { asked.at.clone() };
        if at.len() > 1 {
            return Err(Error::Asked {
                what: "cannot measure several `--at` of one container: they share its memory"
                    .to_owned(),
                hint: Some("give only one `--at`".to_owned()),
            });
        }
        let with = |arm: Arm| {
            let limited = limited(&arm, self.limit);
            std::iter::once(arm).chain(limited)
        };
        Ok(standard_arms(&Asked { at, ..asked.clone() }).into_iter().flat_map(with).collect())
    }

    fn prepare(&self, stand: &mut Stand<'_>) -> Result<Vec<String>> {
        stand.ask(&Fill { bytes: self.bytes })?;
        let limit = stand.counters()?.memory.limit_bytes;
        let fits = limit
            .filter(|limit| *limit >= self.bytes)
            .map(|limit| format!("the file fits into its memory limit of {} MiB", limit >> 20));
        Ok(fits.into_iter().collect())
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        let before = stand.counters()?;
        let told = stand.ask(&Read { passes: self.passes })?;
        let after = stand.counters()?;
        let mib = (told.bytes as f64 / f64::from(1 << 20)).max(f64::MIN_POSITIVE);
        let share = told.from_disk.map(|bytes| bytes as f64 / told.bytes.max(1) as f64);
        let sample = Sample::default()
            .with(READ.id, told.used.wall_ns as f64 / mib)
            .with(READ_CPU.id, told.used.cpu_ns as f64 / mib)
            .maybe(FROM_DISK.id, share);
        Ok(counted(sample, &before, &after))
    }
}

/// What the kernel counted meanwhile, where the arm has a cgroup of its own.
fn counted(sample: Sample, before: &Counters, after: &Counters) -> Sample {
    let (from, to) = (&before.memory, &after.memory);
    let grown = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?) as f64);
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    sample
        .maybe(REFAULTS.id, grown(from.file_refaults, to.file_refaults))
        .maybe(LIMIT_HITS.id, grown(from.limit_hits, to.limit_hits))
        .maybe(LIMIT.id, bytes(to.limit_bytes))
        .maybe(USED.id, bytes(to.usage_bytes))
}

fn limited(arm: &Arm, limit: Memory) -> Option<Arm> {
    let PlaceSpec::Engine { engine, image, options } = &arm.spec else { return None };
    // Files in memory are part of what is limited.
    if options.memory.is_some() || arm.role != Role::Candidate || arm.location == "tmpfs" {
        return None;
    }
    let mut options = options.clone();
    options.memory = Some(limit);
    let spec = PlaceSpec::Engine { engine: *engine, image: image.clone(), options };
    let label = format!("{} with {} MiB", arm.label, limit.0 >> 20);
    Some(Arm { label, spec, variant: Some("memory-limit"), ..arm.clone() })
}

/// The file, in the arm's folder.
const FILE: &str = "reread";
/// Bytes of one read or write.
const BLOCK: usize = 1 << 20;

/// Makes the file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fill {
    bytes: u64,
}

impl Task for Fill {
    const NAME: &'static str = "pressure-fill";
    type Output = ();

    fn run(self, here: &mut Here) -> std::result::Result<(), Fault> {
        let path = here.dir()?.join(FILE);
        fill(&path, self.bytes).map_err(|error| Fault::io("write", &path, &error))
    }
}

/// Really writes it, with bytes that no file system can compress or share, and brings it to the disk:
/// what is not there yet cannot be dropped from memory.
fn fill(path: &Path, bytes: u64) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let (mut block, mut random, mut left) = (vec![0; BLOCK], 1_u64, bytes);
    while left > 0 && !crate::inside::stopped() {
        for word in block.chunks_exact_mut(size_of::<u64>()) {
            // Marsaglia's xorshift; only that no two blocks are the same matters.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            word.copy_from_slice(&random.to_le_bytes());
        }
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK);
        file.write_all(&block[..now])?;
        left -= now as u64;
    }
    file.sync_all()
}

/// Reads the file, one pass after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Read {
    passes: u32,
}

/// What all passes used.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    bytes: u64,
    /// Bytes of it that came from the disk, where the kernel tells.
    from_disk: Option<u64>,
    used: Usage,
}

impl Task for Read {
    const NAME: &'static str = "pressure";
    type Output = Told;

    fn run(self, here: &mut Here) -> std::result::Result<Told, Fault> {
        let path = here.dir()?.join(FILE);
        let failed = |error: std::io::Error| Fault::io("read", &path, &error);
        let mut block = vec![0; BLOCK];
        let mut bytes = 0;
        let before = bytes_read();
        let meter = Meter::start();
        for _ in 0..self.passes {
            // Opened anew, so that the kernel reads ahead as for a file that is read the first time.
            let mut file = File::open(&path).map_err(failed)?;
            loop {
                let now = file.read(&mut block).map_err(failed)?;
                bytes += now as u64;
                if now == 0 || here.stopped() {
                    break;
                }
            }
        }
        let used = meter.stop();
        let from_disk = before.zip(bytes_read()).map(|(from, to)| to.saturating_sub(from));
        Ok(Told { bytes, from_disk, used })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_in_every_pass() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut here = Here::at(&dir.path().join("ours"));
        let bytes = (3 << 20) + 5;
        Fill { bytes }.run(&mut here).unwrap();
        assert!(Fill { bytes }.run(&mut here).is_err(), "a file of someone else is left alone");
        let path = here.dir().unwrap().join(FILE);
        let content = std::fs::read(&path).unwrap();
        assert_ne!(content[..BLOCK], content[BLOCK..2 * BLOCK], "blocks are not the same");
        let told = Read { passes: 2 }.run(&mut here).unwrap();
        assert_eq!(told.bytes, 2 * bytes);
        assert!(told.used.wall_ns > 0, "{told:?}");
    }

    #[test]
    fn engines_places_come_once_more_with_a_limit() {
        let asked = Asked {
            places: ["host", "docker:@host", "docker:@host,memory=1g"]
                .map(|text| text.parse().unwrap())
                .to_vec(),
            at: Vec::new(),
            host_dir: "/data".into(),
            control: false,
        };
        let arms = Pressure::default().arms(&asked).unwrap();
        let told: Vec<_> = arms.iter().map(|arm| (arm.spec.to_string(), arm.variant)).collect();
        let expected = [
            ("host", None),
            ("docker:@host", None),
            ("docker:@host,memory=64m", Some("memory-limit")),
            ("docker:@host,memory=1g", None),
        ];
        assert_eq!(told, expected.map(|(spec, variant)| (spec.to_owned(), variant)));
        assert!(arms[2].label.ends_with("with 64 MiB"), "{}", arms[2].label);
    }

    #[test]
    fn counters_are_told_as_what_they_grew_by() {
        let (mut before, mut after) = (Counters::default(), Counters::default());
        let none = counted(Sample::default(), &before, &after);
        assert!(none.values.is_empty(), "an arm without a cgroup of its own has none");
        (before.memory.file_refaults, after.memory.file_refaults) = (Some(5), Some(105));
        (before.memory.limit_hits, after.memory.limit_hits) = (Some(1), Some(3));
        after.memory.limit_bytes = Some(64 << 20);
        let some = counted(Sample::default(), &before, &after);
        let told = [REFAULTS, LIMIT_HITS, LIMIT].map(|metric| some.values.get(metric.id));
        assert_eq!(told, [Some(&100.0), Some(&2.0), Some(&f64::from(64 << 20))]);
    }
}
