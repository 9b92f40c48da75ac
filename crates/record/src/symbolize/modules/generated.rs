//! The modules of code that runtimes generate, and where its names are.

use std::fs::File;

use culprit_model::{Module, ModuleId, Runtime};
use culprit_symbols::{JitCode, parse_jitdump, parse_perf_map};
use rustc_hash::FxHashMap;

use super::{JIT, Key, Modules, perf_map_path, read_bounded};
use crate::enrich::dotnet::MethodPlace;
use crate::enrich::runtimes::NameFolder;

/// Where a process's runtime tells what it generated.
#[derive(Debug)]
pub(super) struct Generated {
    module: ModuleId,
    source: GeneratedSource,
}

#[derive(Debug)]
pub(super) enum GeneratedSource {
    /// The map in the folder of this process.
    PerfMap(i32),
    /// The dump that the runtime mapped.
    Dump(File),
}

impl Modules {
    /// Whether a module's code was generated at run time.
    pub(crate) fn is_generated(&self, id: ModuleId) -> bool {
        self.generated.iter().any(|generated| generated.module == id)
    }

    /// The process whose runtime generates the code of a module.
    pub(crate) fn generating_process(&self, id: ModuleId) -> Option<i32> {
        self.generated.iter().find_map(|generated| match generated.source {
            GeneratedSource::PerfMap(pid) => (generated.module == id).then_some(pid),
            GeneratedSource::Dump(_) => None,
        })
    }

    /// Reads what the runtimes have written about their code until now.
    pub(crate) fn read_generated(&self) -> Vec<(ModuleId, JitCode)> {
        let read = |code: &Generated| Some((code.module, code.source.read(&self.folders)?));
        self.generated.iter().filter_map(read).collect()
    }

    /// Runtimes that were asked to write their names at their end and have not: process and runtime.
    pub(crate) fn silent_runtimes(&self) -> Vec<(i32, &'static Runtime)> {
        let generating =
            self.folders.iter().filter(|(pid, _)| self.by_key.contains_key(&Key::Generated(**pid)));
        let silent = |(pid, folder): (&i32, &NameFolder)| Some((*pid, folder.wrote_nothing()?));
        let mut silent: Vec<_> = generating.filter_map(silent).collect();
        silent.sort_by_key(|(pid, _)| *pid);
        silent
    }

    /// Runtimes that generated code and had ended before their folder was opened: process and runtime.
    pub(crate) fn ended_early(&self) -> Vec<(i32, &'static Runtime)> {
        let nameless = |pid: &&i32| {
            self.by_key.contains_key(&Key::Generated(**pid)) && !self.folders.contains_key(pid)
        };
        let ended = self.ended_early.iter().filter(|(pid, _)| nameless(pid));
        let mut ended: Vec<_> = ended.map(|(pid, runtime)| (*pid, *runtime)).collect();
        ended.sort_by_key(|(pid, _)| *pid);
        ended
    }

    /// Maps of names that earlier processes have left to processes that generated code: process and map.
    pub(crate) fn earlier_maps(&self) -> Vec<(i32, String)> {
        let generating =
            self.folders.iter().filter(|(pid, _)| self.by_key.contains_key(&Key::Generated(**pid)));
        let earlier = |(pid, folder): (&i32, &NameFolder)| Some((*pid, folder.earlier_map()?));
        let mut earlier: Vec<_> = generating.filter_map(earlier).collect();
        earlier.sort_unstable();
        earlier
    }

    /// Where the method is that a runtime has named in generated code of a module, for names that have
    /// the assembly and not the file.
    pub(crate) fn method_place(
        &mut self,
        module: ModuleId,
        assembly: &str,
        name: &str,
    ) -> MethodPlace {
        let of_module = self.generated.iter().filter(|generated| generated.module == module);
        let process = |generated: &Generated| match generated.source {
            GeneratedSource::PerfMap(pid) => Some(pid),
            GeneratedSource::Dump(_) => None,
        };
        let folder = of_module.filter_map(process).find_map(|pid| self.folders.get(&pid));
        let Some(folder) = folder else { return MethodPlace::default() };
        let program = self.programs.get(&folder.pid);
        let program = program.and_then(|program| self.images[program.index()].as_deref());
        self.assemblies.place(folder, program, (assembly, name))
    }

    /// Removes what runtimes have written because of us, since `start` (`CLOCK_REALTIME`, ns).
    pub(crate) fn remove_written(&self, start: u64) {
        self.folders.values().for_each(|folder| folder.remove_written(start));
    }

    /// The module of generated code of a source file.
    pub(crate) fn generated_script(&mut self, name: &str, path: &str) -> ModuleId {
        self.part(name, path, true)
    }

    /// The module of generated code of an assembly: that of its precompiled code, where there is some.
    pub(crate) fn generated_assembly(&mut self, name: &str, path: Option<&str>) -> ModuleId {
        if let Some(known) = self.precompiled.get(name) {
            return *known;
        }
        // Whose code it is follows from the file; most names of assemblies are those of their files.
        let path = path.map_or_else(|| format!("{name}.dll"), str::to_owned);
        self.part(name, &path, false)
    }

    pub(super) fn part(&mut self, name: &str, path: &str, lines: bool) -> ModuleId {
        let key = Key::Part(path.into());
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let (name, path) = (name.into(), path.into());
        self.push_as(key, Module { name, path, build_id: None, symbols: true, lines }, None)
    }

    /// The module of a process's generated code.
    pub(crate) fn generated_code(&mut self, pid: i32) -> ModuleId {
        let key = Key::Generated(pid);
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let path = perf_map_path(pid);
        let row = Module {
            name: JIT.into(),
            path: path.to_string_lossy().into_owned().into(),
            build_id: None,
            symbols: false,
            lines: false,
        };
        let module = self.push_as(key, row, None);
        if !self.folders.contains_key(&pid) {
            // The reader was not asked: the process lived before the recording.
            self.folders.extend(NameFolder::of(pid).map(|folder| (pid, folder)));
        }
        self.generated.push(Generated { module, source: GeneratedSource::PerfMap(pid) });
        module
    }

    /// A runtime mapped its dump as a mark for us: it describes the process's generated code.
    pub(super) fn attach_dump(&mut self, pid: i32, key: &Key) {
        let module = self.generated_code(pid);
        let file = self.files.get(key);
        if let Some(Ok(file)) = file
            && let Ok(file) = file.try_clone()
        {
            self.generated.push(Generated { module, source: GeneratedSource::Dump(file) });
        }
    }
}

impl GeneratedSource {
    fn read(&self, folders: &FxHashMap<i32, NameFolder>) -> Option<JitCode> {
        match self {
            Self::PerfMap(pid) => {
                Some(parse_perf_map(&read_bounded(folders.get(pid)?.perf_map()?)?))
            }
            Self::Dump(file) => {
                parse_jitdump(&read_bounded(file.try_clone().ok()?)?, "jitdump").ok()
            }
        }
    }
}
