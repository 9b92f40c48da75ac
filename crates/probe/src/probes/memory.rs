//! `memory`: what a page costs when it is first touched.
//!
//! Anonymous memory is given and zeroed; a page of a mapped file that is in the page cache is only
//! mapped; one that is not is read from its disk while the thread waits (a *major* fault). The last is
//! why a program's first start is slower than its second.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use rustix::fs::{Advice as FileAdvice, fadvise};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use culprit_model::Unit;

use crate::error::Result;
use crate::inside::{Fault, Here, Meter, Task, Usage};
use crate::metric::{Metric, Part};
use crate::probe::Probe;
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Bytes of memory, and of the mapped file.
    pub bytes: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { bytes: 32 << 20 }
    }
}

const ANONYMOUS: Metric =
    Metric::lower("anonymous_fault_cpu_ns", "new page, CPU", Unit::Nanos, Part::Headline);
/// Of a fault, not of a page: the kernel maps as many neighbours along as the cache holds together, which
/// differs from file to file; so no verdict is about it.
const WARM: Metric =
    Metric::lower("warm_fault_cpu_ns", "fault of a cached file, CPU", Unit::Nanos, Part::Shown);
const WARM_WALL: Metric =
    Metric::lower("warm_fault_ns", "fault of a cached file, wall", Unit::Nanos, Part::Shown);
/// How many pages such a fault maps.
const WARM_PAGES: Metric =
    Metric::shown_fact("warm_pages_per_fault", "pages mapped per fault", Unit::Count);
const COLD: Metric =
    Metric::lower("cold_fault_ns", "page from the disk, wall", Unit::Nanos, Part::Shown);
/// How often a page that the cache had dropped was waited for.
const MAJOR: Metric = Metric::shown_fact("cold_major_share", "share of major faults", Unit::Share);

impl Probe for Memory {
    fn id(&self) -> &'static str {
        "memory"
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![ANONYMOUS, WARM, WARM_WALL, WARM_PAGES, COLD, MAJOR]
    }

    fn workload(&self) -> Value {
        json!({"bytes": self.bytes, "page_bytes": rustix::param::page_size()})
    }

    fn words(&self) -> Vec<String> {
        vec![
            format!(
                "{} MiB of new memory, of a mapped file in the page cache, and of the same file \
                 after it was dropped from the cache, without read-ahead: each page is touched \
                 once",
                self.bytes >> 20
            ),
            "times of the cached file are per fault, because one fault also maps neighbouring pages"
                .to_owned(),
        ]
    }

    fn measure(&self, stand: &mut Stand<'_>, _: ProbeRound) -> Result<Sample> {
        let told = stand.ask(&Touch { bytes: self.bytes })?;
        let pages = told.pages as f64;
        let warm_faults = told.warm.minor_faults.max(1) as f64;
        Ok(Sample::default()
            .with(ANONYMOUS.id, told.anonymous.cpu_ns as f64 / pages)
            .with(WARM.id, told.warm.cpu_ns as f64 / warm_faults)
            .with(WARM_WALL.id, told.warm.wall_ns as f64 / warm_faults)
            .with(WARM_PAGES.id, pages / warm_faults)
            .with(COLD.id, told.cold.wall_ns as f64 / pages)
            .with(MAJOR.id, told.cold.major_faults as f64 / pages))
    }
}

/// One round in the place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Touch {
    bytes: u64,
}

/// What touching all pages used.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pages: u64,
    anonymous: Usage,
    warm: Usage,
    cold: Usage,
}

impl Task for Touch {
    const NAME: &'static str = "memory";
    type Output = Told;

    fn run(self, here: &mut Here) -> std::result::Result<Told, Fault> {
        let path = here.dir()?.join("mapped");
        let failed = |error: std::io::Error| Fault::io("map", &path, &error);
        let length = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let file = filled(&path, length).map_err(failed)?;
        let anonymous = anonymous(length).map_err(failed)?;
        let warm = mapped(&file, length).map_err(failed)?;
        fadvise(&file, 0, None, FileAdvice::DontNeed).map_err(|error| failed(error.into()))?;
        let cold = mapped(&file, length).map_err(failed)?;
        drop(file);
        std::fs::remove_file(&path).map_err(|error| Fault::io("remove", &path, &error))?;
        Ok(Told { pages: pages(length) as u64, anonymous, warm, cold })
    }
}

fn pages(length: usize) -> usize {
    length.div_ceil(rustix::param::page_size()).max(1)
}

/// A file that is in the page cache and on the disk, so that the cache may drop it.
fn filled(path: &Path, length: usize) -> std::io::Result<File> {
    let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
    let block = vec![b'x'; 1 << 20];
    let mut left = length;
    while left > 0 {
        let now = left.min(block.len());
        file.write_all(&block[..now])?;
        left -= now;
    }
    file.sync_all()?;
    Ok(file)
}

#[expect(unsafe_code, reason = "memory is mapped, touched and unmapped by hand to see its faults")]
fn anonymous(length: usize) -> std::io::Result<Usage> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start =
        unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::PRIVATE) }?;
    // A huge page would be one fault for many pages. Kernels without them refuse, which is as good.
    // SAFETY: the mapping that was just made.
    let _ = unsafe { madvise(start, length, Advice::LinuxNoHugepage) };
    let meter = Meter::start();
    for at in (0..length).step_by(rustix::param::page_size()) {
        // SAFETY: inside of the mapping, which is writable and ours alone.
        unsafe { start.cast::<u8>().wrapping_add(at).write_volatile(1) };
    }
    let used = meter.stop();
    // SAFETY: the mapping that was made above; nothing points into it any more.
    unsafe { munmap(start, length) }?;
    Ok(used)
}

#[expect(unsafe_code, reason = "a file is mapped, touched and unmapped by hand to see its faults")]
fn mapped(file: &File, length: usize) -> std::io::Result<Usage> {
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start =
        unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, 0) }?;
    // No read-ahead. Neighbours that are in the cache are mapped along all the same.
    // SAFETY: the mapping that was just made.
    unsafe { madvise(start, length, Advice::Random) }?;
    let meter = Meter::start();
    let mut sum = 0_u64;
    for at in (0..length).step_by(rustix::param::page_size()) {
        // SAFETY: inside of the mapping; the file is as long, and nobody shortens it.
        sum += u64::from(unsafe { start.cast::<u8>().wrapping_add(at).read_volatile() });
    }
    let used = meter.stop();
    std::hint::black_box(sum);
    // SAFETY: the mapping that was made above; nothing points into it any more.
    unsafe { munmap(start, length) }?;
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched() -> Told {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        Touch { bytes: 4 << 20 }.run(&mut Here::at(&dir.path().join("ours"))).unwrap()
    }

    #[test]
    #[ignore = "statistical: make accuracy"]
    fn what_the_cache_has_dropped_is_waited_for() {
        let told = touched();
        assert!(told.cold.major_faults * 2 > told.pages, "{told:?}");
    }

    #[test]
    fn each_page_is_a_fault_and_what_is_in_memory_is_not_waited_for() {
        let told = touched();
        assert_eq!(told.pages, (4 << 20) / rustix::param::page_size() as u64);
        assert!(told.anonymous.minor_faults >= told.pages, "{told:?}");
        assert_eq!((told.warm.major_faults, told.anonymous.major_faults), (0, 0), "{told:?}");
        assert!(told.cold.major_faults <= told.pages, "{told:?}");
    }
}
