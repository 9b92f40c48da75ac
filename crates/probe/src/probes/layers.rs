//! What looking for a name costs that is nowhere, by the number of layers: the part of
//! [`files`](super::files) that no place has as it is wanted.
//!
//! An overlay asks each of its layers for a name until one has it, so a name that none has costs as
//! many look-ups as there are layers, the first time; images of a hundred layers are not rare. The
//! worker on the host has a second program mount overlays of empty folders, in a user namespace, so
//! that neither an engine nor a right is needed, and look for names there that were never looked for.
//!
//! ```text
//!   layers/0 .. layers/100 ── mounted on ── layers/below-1, below-10, below-40, below-100
//! ```
//!
//! Folder 0 stands for a container's own layer, and is the top one of all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use culprit_engine::stats::median;
use culprit_model::Unit;
use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use crate::inside::{Clock, Fault, Here, Peer, Task, thread_cpu_ns};
use crate::metric::Metric;
use crate::sample::Sample;

/// Layers below the own one, and what is told of each number.
const DEPTHS: [(u32, Metric); 4] = [
    (1, fact("layers_miss_cpu_ns.1", "stat of a missing file, 1 lower layer, CPU")),
    (10, fact("layers_miss_cpu_ns.10", "stat of a missing file, 10 lower layers, CPU")),
    (40, fact("layers_miss_cpu_ns.40", "stat of a missing file, 40 lower layers, CPU")),
    (100, fact("layers_miss_cpu_ns.100", "stat of a missing file, 100 lower layers, CPU")),
];

/// Of the kernel, which all places share; so it is not compared.
const fn fact(id: &'static str, name: &'static str) -> Metric {
    Metric::shown_fact(id, name, Unit::Nanos)
}

/// Names looked for at each depth in a round, in groups of which the middle one counts. Few, because
/// every layer remembers that it does not have them: 15,100 entries of 200 bytes in the kernel's cache.
const NAMES: usize = 100;
const GROUP: usize = 20;

/// What is told.
pub(super) fn metrics() -> impl Iterator<Item = Metric> {
    DEPTHS.iter().map(|(_, metric)| *metric)
}

/// The sample with what was told here.
pub(super) fn add_to(sample: Sample, told: &Told) -> Sample {
    let all = DEPTHS.iter().zip(told);
    all.fold(sample, |sample, ((_, metric), cpu_ns)| sample.with(metric.id, *cpu_ns))
}

/// CPU time of one look-up at each depth, ns; empty where the kernel lets nobody mount overlays.
type Told = Vec<f64>;

/// One round on the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Layers {}

/// The second program, as long as the worker lives; none where the kernel did not let it.
struct Mounted(Option<Peer>);

impl Task for Layers {
    const NAME: &'static str = "files-layers";
    type Output = Told;

    fn run(self, here: &mut Here) -> Result<Told, Fault> {
        let folder = here.dir()?.join("layers");
        if here.kept::<Mounted>().is_none() {
            let failed = |error: std::io::Error| Fault::io("create folders in", &folder, &error);
            make_folders(&folder).map_err(failed)?;
            let mounted = Peer::start_with_own_mounts().ok().and_then(|mut peer| {
                peer.ask(&Mount { folder: folder.clone() }, &folder).ok().map(|()| peer)
            });
            here.keep(Mounted(mounted));
        }
        match here.kept::<Mounted>() {
            Some(Mounted(Some(peer))) => peer.ask(&Miss {}, &folder),
            _ => Ok(Vec::new()),
        }
    }
}

fn make_folders(folder: &Path) -> std::io::Result<()> {
    let deepest = DEPTHS.iter().map(|(depth, _)| *depth).max().unwrap_or(0);
    (0..=deepest).try_for_each(|layer| fs::create_dir_all(folder.join(layer.to_string())))?;
    DEPTHS.iter().try_for_each(|(depth, _)| fs::create_dir(folder.join(point(*depth))))
}

fn point(depth: u32) -> String {
    format!("below-{depth}")
}

/// Mounts the overlays; in the second program, which works in their folder from then on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mount {
    folder: PathBuf,
}

impl Task for Mount {
    const NAME: &'static str = "files-layers-mount";
    type Output = ();

    fn run(self, _: &mut Here) -> Result<(), Fault> {
        let failed = |error: std::io::Error| Fault::io("mount overlays in", &self.folder, &error);
        // All options together may be no longer than a page, so names must be short.
        std::env::set_current_dir(&self.folder).map_err(failed)?;
        for (depth, _) in DEPTHS {
            let layers: Vec<String> = (0..=depth).map(|layer| layer.to_string()).collect();
            let options = format!("lowerdir={},userxattr", layers.join(":"));
            let options = std::ffi::CString::new(options).map_err(|error| failed(error.into()))?;
            mount("overlay", point(depth), "overlay", MountFlags::RDONLY, options.as_c_str())
                .map_err(|error| failed(error.into()))?;
        }
        Ok(())
    }
}

/// Looks for names that are nowhere; in the second program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Miss {}

impl Task for Miss {
    const NAME: &'static str = "files-layers-miss";
    type Output = Told;

    fn run(self, _: &mut Here) -> Result<Told, Fault> {
        let round = Clock::now();
        let of = |(depth, _): &(u32, Metric)| {
            let point = PathBuf::from(point(*depth));
            let names: Vec<PathBuf> =
                (0..NAMES).map(|number| point.join(format!("{round}-{number}"))).collect();
            let groups: Vec<f64> = names.chunks(GROUP).map(misses).collect::<Result<_, Fault>>()?;
            Ok(median(&groups).unwrap_or(0.0))
        };
        DEPTHS.iter().map(of).collect()
    }
}

fn misses(names: &[PathBuf]) -> Result<f64, Fault> {
    let begun = thread_cpu_ns();
    for name in names {
        match fs::symlink_metadata(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Fault::io("check for", name, &error)),
            Ok(_) => return Err(Fault::new(format!("`{}` is there", name.display()))),
        }
    }
    Ok((thread_cpu_ns() - begun) as f64 / names.len() as f64)
}
