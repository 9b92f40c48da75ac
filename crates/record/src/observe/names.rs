//! Probes on the functions that hand out variables, in the files that observed processes really run.
//!
//! A runtime asks for dozens of names for itself when it starts. Where what the program asks for comes through one
//! function of the runtime's, a probe on that marks the next `getenv` of the thread.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use culprit_model::Pid;
use culprit_place::procfs;
use culprit_symbols::{FileOffset, find_functions};
use perf_event_open_sys::bindings::perf_event_attr;

use super::program::{Convention, Maps, NAME_BYTES, attach_names};
use crate::probes::{C_LIBRARIES, UprobePmu, open_in};
use crate::sys::{Scope, enable, open_event};

/// The interface of Node.js.
pub(super) const PROCESS_ENV: &str = "process.env";

/// Functions that look up a variable, as the linker calls them, what they are called here, and how they take its
/// name. Those of Node.js are `RealEnvStore::Get` and `Query` (src/node_env_var.cc): a value, and whether it is set.
const FUNCTIONS: [(&str, &str, Convention); 6] = [
    ("getenv", "getenv", Convention::C),
    ("secure_getenv", "secure_getenv", Convention::C),
    ("syscall.Getenv", "syscall.Getenv", Convention::Go),
    ("syscall.Environ", "syscall.Environ", Convention::Whole),
    (
        "_ZNK4node12RealEnvStore3GetEPN2v87IsolateENS1_5LocalINS1_6StringEEE",
        PROCESS_ENV,
        Convention::Accessor,
    ),
    (
        "_ZNK4node12RealEnvStore5QueryEPN2v87IsolateENS1_5LocalINS1_6StringEEE",
        "in process.env",
        Convention::Accessor,
    ),
];

/// What one file offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// It has been probed; true if it was before now.
    Probed(bool),
    /// It has none of the functions.
    None,
}

/// A key and a count of the map of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    /// Whose.
    pub(super) pid: i32,
    /// The function that was asked.
    pub(super) function: String,
    /// The name; empty where the function has none.
    pub(super) name: String,
    /// How often.
    pub(super) count: u64,
}

/// Places probes.
#[derive(Debug)]
pub(super) struct NameProbes {
    pmu: UprobePmu,
    cpu: u32,
    files: BTreeMap<(u64, u64), bool>,
    functions: Vec<&'static str>,
    events: Vec<OwnedFd>,
    /// Why files could not be probed.
    pub(super) refusals: BTreeSet<String>,
}

impl NameProbes {
    /// # Errors
    /// `ENOENT` where the kernel has no probes in programs.
    pub(super) fn new(cpu: u32) -> io::Result<Self> {
        let pmu = UprobePmu::read(Path::new(crate::probes::FOLDER))?;
        Ok(Self {
            pmu,
            cpu,
            files: BTreeMap::new(),
            functions: Vec::new(),
            events: Vec::new(),
            refusals: BTreeSet::new(),
        })
    }

    /// Probes the program of a process and the C libraries of its root.
    pub(super) fn prepare(&mut self, maps: &Maps, pid: Pid) {
        if let Ok(program) = File::open(format!("/proc/{pid}/exe")) {
            self.look(maps, &program, "program");
        }
        for path in C_LIBRARIES {
            if let Some(file) = open_in(pid, path) {
                self.look(maps, &file, path);
            }
        }
    }

    /// Whether every mapped file with such functions was probed before now, and there is one. Probes the others. None
    /// if the process has no memory any more.
    pub(super) fn covers(&mut self, maps: &Maps, pid: Pid) -> Option<bool> {
        let (mut any, mut all) = (false, true);
        let mapped = procfs::maps(pid).ok().filter(|mapped| !mapped.is_empty())?;
        for map in mapped {
            if !map.execute || !map.path.starts_with('/') {
                continue;
            }
            let range = format!("/proc/{pid}/map_files/{:x}-{:x}", map.range.start, map.range.end);
            // What cannot be opened was unmapped meanwhile.
            let Ok(file) = File::open(range) else { continue };
            match self.look(maps, &file, &map.path) {
                Offer::Probed(before) => {
                    any = true;
                    all &= before;
                }
                Offer::None => {}
            }
        }
        Some(any && all)
    }

    /// Probes a file once.
    fn look(&mut self, maps: &Maps, file: &File, path: &str) -> Offer {
        let Ok(metadata) = file.metadata() else { return Offer::None };
        let key = (metadata.dev(), metadata.ino());
        if let Some(offers) = self.files.get(&key) {
            return if *offers { Offer::Probed(true) } else { Offer::None };
        }
        let wanted = &mut |name: &str| FUNCTIONS.iter().any(|(known, ..)| *known == name);
        let found = file
            .try_clone()
            .map_err(|error| error.to_string())
            .and_then(|file| find_functions(file, path, wanted).map_err(|error| error.to_string()));
        let mut probed = false;
        let mut offsets = BTreeSet::new();
        for place in found.unwrap_or_default() {
            let known = FUNCTIONS.iter().find(|(name, ..)| *name == place.name);
            let Some((_, name, convention)) = known.filter(|_| offsets.insert(place.offset)) else {
                continue;
            };
            match self.probe(maps, file, place.offset, (name, *convention)) {
                Ok(()) => probed = true,
                Err(error) => _ = self.refusals.insert(format!("`{name}` in {path}: {error}")),
            }
        }
        self.files.insert(key, probed);
        if probed { Offer::Probed(false) } else { Offer::None }
    }

    fn probe(
        &mut self,
        maps: &Maps,
        file: &File,
        offset: FileOffset,
        (name, convention): (&'static str, Convention),
    ) -> io::Result<()> {
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let mut attr = perf_event_attr {
            size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(u32::MAX),
            type_: self.pmu.number,
            ..perf_event_attr::default()
        };
        attr.uprobe_path = path.as_ptr() as u64;
        attr.probe_offset = offset.0;
        attr.set_disabled(1);
        // One event is enough: its program runs whatever processor the probe is hit on.
        let event = open_event(&mut attr, Scope::Machine, self.cpu)?;
        let function = i32::try_from(self.functions.len()).map_err(io::Error::other)?;
        attach_names(maps, event.as_fd(), function, convention)?;
        enable(event.as_fd())?;
        self.functions.push(name);
        self.events.push(event);
        Ok(())
    }

    /// The function, process and name of a key of the map of names.
    pub(super) fn key(&self, key: &[u8]) -> Option<Counted> {
        let number = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
        let pid = i32::try_from(number(key.get(..4)?)?).ok()?;
        let function = self.functions.get(usize::try_from(number(key.get(4..8)?)?).ok()?)?;
        let text = key.get(8..8 + NAME_BYTES)?.split(|byte| *byte == 0).next()?;
        let (function, name) = ((*function).to_owned(), String::from_utf8_lossy(text).into_owned());
        Some(Counted { pid, function, name, count: 0 })
    }

    /// Takes what one process asked for out of the map.
    pub(super) fn take(&self, maps: &Maps, pid: i32) -> Vec<Counted> {
        let mut counted = Vec::new();
        for key in maps.names.keys() {
            let Some(known) = self.key(&key).filter(|known| known.pid == pid) else { continue };
            let count = maps.names.get(&key).ok().and_then(|value| value.try_into().ok());
            counted.push(Counted { count: count.map_or(0, u64::from_le_bytes), ..known });
            // An entry that stays is counted again for the next program of this process.
            let _ = maps.names.remove(&key);
        }
        counted
            .sort_by(|one, other| (&one.name, &one.function).cmp(&(&other.name, &other.function)));
        counted
    }
}
