//! Reads the numbers of a cgroup out of the folders in which its files lie.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use culprit_model::Pid;

use super::files::{
    Folder, V1_UNLIMITED, least_of_devices, least_pair, micros, quota, stall, sum_columns,
    sum_pairs,
};
use super::{Counters, CpuCounters, IoCounters, IoLimits, Limits, MemoryCounters, Pressure};
use crate::cgroup::folders_in;
use crate::cgroup::hierarchy::{Hierarchies, Hierarchy, Membership};
use crate::error::Result;
use crate::owner::PREFIX;

/// The folders in which a cgroup's files lie; read as often as wanted. A folder that does not exist
/// yet is looked for at every reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterReader {
    cpu: Option<PathBuf>,
    cpuacct: Option<PathBuf>,
    memory: Option<PathBuf>,
    blkio: Option<PathBuf>,
    v2: Option<PathBuf>,
    /// The v1 `cpu` folder of members whose cgroup has none there: what it and those above it
    /// allow holds for them too.
    quota: Option<PathBuf>,
    /// Whether the folders are a container's parent: nobody is in them but in the container's own.
    above_container: bool,
}

/// Where the members of a cgroup are in the v1 trees in which it has no folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cgroup) enum Elsewhere<'a> {
    /// Where we are.
    WithUs(&'a [Membership]),
    /// At the top of each tree under this name, once an engine has made that.
    Twin(&'a OsStr),
    /// Nobody knows.
    Unknown,
}

impl CounterReader {
    /// The cgroups that a process is in, one a tree.
    ///
    /// # Errors
    /// [`crate::Error::NoProcess`] when it has ended.
    pub fn of_process(pid: Pid) -> Result<Self> {
        let (trees, memberships) = (Hierarchies::mounted()?, Membership::of(pid)?);
        let v1 = |controller| trees.folder_of(trees.v1(controller)?, &memberships);
        Ok(Self {
            cpu: v1("cpu"),
            cpuacct: v1("cpuacct"),
            memory: v1("memory"),
            blkio: v1("blkio"),
            v2: trees.v2().and_then(|tree| trees.folder_of(tree, &memberships)),
            quota: None,
            above_container: false,
        })
    }

    /// The trees that these folders lie in.
    pub(in crate::cgroup) fn of_folders(
        folders: &[PathBuf],
        elsewhere: Elsewhere<'_>,
    ) -> Result<Self> {
        let trees = Hierarchies::mounted()?;
        let lies_in = |tree: &Hierarchy| {
            let own = folders.iter().find(|f| f.starts_with(tree.point())).cloned();
            own.or_else(|| match elsewhere {
                Elsewhere::Twin(name) => Some(tree.point().join(name)),
                _ => None,
            })
        };
        let ours = match elsewhere {
            Elsewhere::WithUs(ours) => ours,
            _ => &[],
        };
        let v1 = |controller| trees.v1(controller).and_then(lies_in);
        Ok(Self {
            cpu: v1("cpu"),
            cpuacct: v1("cpuacct"),
            memory: v1("memory"),
            blkio: v1("blkio"),
            v2: trees.v2().and_then(lies_in),
            quota: trees.v1("cpu").and_then(|tree| trees.folder_of(tree, ours)),
            above_container: matches!(elsewhere, Elsewhere::Twin(_)),
        })
    }

    /// The same reader for the cgroups that have the members: an engine is given a parent, and puts
    /// its container into one below that.
    fn inhabited(&self) -> Self {
        let inhabited = |folder: &Option<PathBuf>| folder.clone().map(inhabited);
        Self {
            cpu: inhabited(&self.cpu),
            cpuacct: inhabited(&self.cpuacct),
            memory: inhabited(&self.memory),
            blkio: inhabited(&self.blkio),
            v2: inhabited(&self.v2),
            quota: self.quota.clone(),
            above_container: self.above_container,
        }
    }

    /// True when each of these folders is one of those of `known`, lies below one of them, or is the top of
    /// its tree.
    #[must_use]
    pub fn lies_within(&self, known: &[&Self]) -> bool {
        let within = |folder: &Path| {
            let mut all = known.iter().flat_map(|reader| reader.folders());
            // The top of a tree has no limits, and everything lies below it.
            is_top(folder)
                || all.any(|other| folder == other || (folder.starts_with(other) && !is_top(other)))
        };
        self.folders().all(within)
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.cpu, &self.cpuacct, &self.memory, &self.blkio, &self.v2, &self.quota];
        all.into_iter().filter_map(|folder| folder.as_deref())
    }

    /// The strictest limits that hold here: those of this cgroup or of one above it.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for here in self.with_those_above() {
            let (cpu, memory) = (here.cpu(), here.memory());
            limits.tighten(cpu.quota_ns.zip(cpu.period_ns), memory.limit_bytes);
        }
        limits
    }

    /// These cgroups, then those above them, up to the top of every tree.
    fn with_those_above(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::above)
    }

    /// The cgroups above these; `None` at the top of every tree.
    fn above(&self) -> Option<Self> {
        let up = |folder: &Option<PathBuf>| {
            folder.as_deref().and_then(folder_above).map(Path::to_path_buf)
        };
        let above = Self {
            cpu: up(&self.cpu),
            cpuacct: up(&self.cpuacct),
            memory: up(&self.memory),
            blkio: up(&self.blkio),
            v2: up(&self.v2),
            quota: None,
            above_container: self.above_container,
        };
        let any = [&above.cpu, &above.cpuacct, &above.memory, &above.blkio, &above.v2];
        any.iter().any(|folder| folder.is_some()).then_some(above)
    }

    /// Reads everything that is there.
    #[must_use]
    pub fn read(&self) -> Counters {
        let here = self.inhabited();
        Counters {
            cpu: here.cpu_with_quota(),
            memory: here.memory_of_members(),
            io: here.io(),
            pressure: here.pressure(),
        }
    }

    /// Reads how much CPU time the members have used and the most memory that they held, and nothing
    /// else.
    #[must_use]
    pub fn read_use(&self) -> Counters {
        // A cgroup counts those below it as well, but a container's parent not in every tree.
        let inhabited = self.above_container.then(|| self.inhabited());
        let here = inhabited.as_ref().unwrap_or(self);
        let peak_bytes = here.peak_bytes();
        let memory = MemoryCounters { peak_bytes, ..MemoryCounters::default() };
        Counters { cpu: here.cpu_used(), memory, ..Counters::default() }
    }

    /// Whether it is a container's parent itself, because the container is not made yet or is gone:
    /// periods of a quota are not counted there.
    fn has_nobody(&self) -> bool {
        let folder = self.cpu.as_deref().or(self.v2.as_deref());
        folder.is_none_or(|folder| is_empty(folder) && is_parent(folder))
    }

    /// The use of this cgroup, and the nearest quota: its own, or that of one above it. Each cgroup
    /// counts only the periods of a quota of its own (kernel/sched/fair.c, `cfs_bandwidth`).
    fn cpu_with_quota(&self) -> CpuCounters {
        let own = self.cpu();
        if self.above_container && self.has_nobody() {
            return own.with_quota_of(CpuCounters::default());
        }
        let members = self.quota.as_ref().map(|cpu| Self {
            cpu: Some(cpu.clone()),
            v2: self.v2.clone(),
            ..Self::default()
        });
        let mut all = members.as_ref().unwrap_or(self).with_those_above().map(|here| here.cpu());
        let nearest = all.find(|cpu| cpu.quota_ns.is_some());
        nearest.map_or(own, |cpu| own.with_quota_of(cpu))
    }

    /// The memory of the members. A container's parent has neither the container's limit nor its hits.
    fn memory_of_members(&self) -> MemoryCounters {
        let memory = self.memory();
        if self.above_container && self.has_nobody() {
            return MemoryCounters { limit_bytes: None, limit_hits: None, ..memory };
        }
        memory
    }

    fn cpu(&self) -> CpuCounters {
        let used = self.cpu_used();
        let v1 = Folder(self.cpu.as_deref());
        if self.cpu.is_none() {
            let v2 = Folder(self.v2.as_deref());
            let (quota_ns, period_ns) =
                v2.word("cpu.max").map_or((None, None), |line| quota(&line));
            return CpuCounters { quota_ns, period_ns, ..used };
        }
        let stat = v1.keyed("cpu.stat");
        CpuCounters {
            periods: stat.number("nr_periods"),
            throttled_periods: stat.number("nr_throttled"),
            throttled_ns: stat.number("throttled_time"),
            // -1, which is no number here, is no quota.
            quota_ns: v1.number("cpu.cfs_quota_us").map(micros),
            period_ns: v1.number("cpu.cfs_period_us").map(micros),
            ..used
        }
    }

    /// CPU time, with whatever else the same file tells.
    fn cpu_used(&self) -> CpuCounters {
        if self.cpu.is_none() {
            let stat = Folder(self.v2.as_deref()).keyed("cpu.stat");
            return CpuCounters {
                usage_ns: stat.number("usage_usec").map(micros),
                user_ns: stat.number("user_usec").map(micros),
                system_ns: stat.number("system_usec").map(micros),
                periods: stat.number("nr_periods"),
                throttled_periods: stat.number("nr_throttled"),
                throttled_ns: stat.number("throttled_usec").map(micros),
                ..CpuCounters::default()
            };
        }
        let used = Folder(self.cpuacct.as_deref());
        CpuCounters {
            usage_ns: used.number("cpuacct.usage"),
            user_ns: used.number("cpuacct.usage_user"),
            system_ns: used.number("cpuacct.usage_sys"),
            ..CpuCounters::default()
        }
    }

    fn memory(&self) -> MemoryCounters {
        let v2 = Folder(self.v2.as_deref());
        let v1 = Folder(self.memory.as_deref());
        if self.memory.is_none() {
            let events = v2.keyed("memory.events");
            return MemoryCounters {
                usage_bytes: v2.number("memory.current"),
                peak_bytes: self.peak_bytes(),
                limit_bytes: v2.number("memory.max"),
                limit_hits: events.number("max"),
                oom_kills: events.number("oom_kill"),
                file_refaults: v2.keyed("memory.stat").number("workingset_refault_file"),
            };
        }
        MemoryCounters {
            usage_bytes: v1.number("memory.usage_in_bytes"),
            peak_bytes: self.peak_bytes(),
            limit_bytes: v1.number("memory.limit_in_bytes").filter(|bytes| *bytes < V1_UNLIMITED),
            limit_hits: v1.number("memory.failcnt"),
            oom_kills: v1.keyed("memory.oom_control").number("oom_kill"),
            // With those below, as v2 counts.
            file_refaults: v1.keyed("memory.stat").number("total_workingset_refault_file"),
        }
    }

    fn peak_bytes(&self) -> Option<u64> {
        match self.memory.as_deref() {
            None => Folder(self.v2.as_deref()).number("memory.peak"),
            memory => Folder(memory).number("memory.max_usage_in_bytes"),
        }
    }

    fn io(&self) -> IoCounters {
        let v1 = Folder(self.blkio.as_deref());
        if self.blkio.is_none() {
            let v2 = Folder(self.v2.as_deref());
            let stat = v2.text("io.stat");
            let sum = |key| stat.as_ref().map(|text| sum_pairs(text, key));
            return IoCounters {
                read_bytes: sum("rbytes"),
                write_bytes: sum("wbytes"),
                reads: sum("rios"),
                writes: sum("wios"),
                limits: self.io_limits(),
            };
        }
        let (bytes, requests) =
            ("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_serviced_recursive");
        let sum = |file, key| v1.text(file).map(|text| sum_columns(&text, key));
        IoCounters {
            read_bytes: sum(bytes, "Read"),
            write_bytes: sum(bytes, "Write"),
            reads: sum(requests, "Read"),
            writes: sum(requests, "Write"),
            limits: self.io_limits(),
        }
    }

    /// The strictest limits of I/O that hold here: those of this cgroup or of one above it.
    fn io_limits(&self) -> IoLimits {
        let all = self.with_those_above().map(|here| here.own_io_limits());
        all.fold(IoLimits::default(), IoLimits::tightest)
    }

    fn own_io_limits(&self) -> IoLimits {
        let Some(folder) = self.blkio.as_deref() else {
            let most = Folder(self.v2.as_deref()).text("io.max").unwrap_or_default();
            let least = |key| least_pair(&most, key);
            return IoLimits {
                read_bytes: least("rbps"),
                write_bytes: least("wbps"),
                reads: least("riops"),
                writes: least("wiops"),
            };
        };
        let least = |file| Folder(Some(folder)).text(file).and_then(|text| least_of_devices(&text));
        IoLimits {
            read_bytes: least("blkio.throttle.read_bps_device"),
            write_bytes: least("blkio.throttle.write_bps_device"),
            reads: least("blkio.throttle.read_iops_device"),
            writes: least("blkio.throttle.write_iops_device"),
        }
    }

    fn pressure(&self) -> Pressure {
        let v2 = Folder(self.v2.as_deref());
        let total = |file, line| v2.text(file).and_then(|text| stall(&text, line));
        Pressure {
            cpu_some_ns: total("cpu.pressure", "some"),
            memory_some_ns: total("memory.pressure", "some"),
            memory_full_ns: total("memory.pressure", "full"),
            io_some_ns: total("io.pressure", "some"),
            io_full_ns: total("io.pressure", "full"),
        }
    }
}

/// The cgroup below this one that has its members: it goes down as long as nobody is here and there
/// is one way only.
fn inhabited(folder: PathBuf) -> PathBuf {
    match folders_in(&folder).as_slice() {
        [only] if is_empty(&folder) => inhabited(only.clone()),
        _ => folder,
    }
}

/// Whether a cgroup is one of ours, and not what an engine has put below it.
fn is_parent(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Whether nobody is in a cgroup itself.
/// The cgroup above one; none at the top of its tree. Every cgroup has a list of its members; the folder above
/// a mount point has none.
fn folder_above(folder: &Path) -> Option<&Path> {
    folder.parent().filter(|above| above.join("cgroup.procs").exists())
}

/// Whether a folder is the top of its tree.
fn is_top(folder: &Path) -> bool {
    folder_above(folder).is_none()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read(folder.join("cgroup.procs")).is_ok_and(|list| list.is_empty())
}

#[cfg(test)]
mod tests;
