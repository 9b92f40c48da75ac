//! The files that code comes from: one row and one parsed image per build id, however many files have it.
//!
//! Descriptors arrive from the reader thread, already opened through their process's root; here
//! they are parsed, at once, so that nothing depends on the process any more. Generated code has
//! one module per process, named from the runtime's map when the recording ends.

mod generated;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use culprit_kernel::MappedFile;
use culprit_model::{LossKind, Module, ModuleId, Pid, Runtime, Text};
use culprit_place::procfs;
use culprit_symbols::{BuildId, FileOffset, ImageCache, ImageKey, ModuleImage};
use rustc_hash::FxHashMap;

use crate::enrich::dotnet::Assemblies;
use crate::enrich::files::OpenedFile;
use crate::enrich::runtimes::{EndedEarly, NameFolder};
use crate::events::ledger::Ledger;
use generated::Generated;

/// What the kernel's name of a file in memory (`memfd_create(2)`) begins with.
pub(crate) const MEMORY_FILE: &str = "/memfd:";

/// Memory that the kernel gives a process in which probes stand, for the instructions under them
/// (`xol_add_vma`). Nothing of the program lies there.
const STEPPING: &str = "[uprobes]";

/// The same for probes on five-byte nops, which become calls into it (Linux 6.18, `create_uprobe_trampoline`).
/// Records of mappings have the first 15 characters of such a name (`perf_event_mmap_event`).
const TRAMPOLINE: &str = "[uprobes-trampo";

/// Name of the module of generated code.
const JIT: &str = "[jit]";

/// A map or dump file is read up to this size; a runtime that writes more has lost its mind.
const MOST_JIT_BYTES: u64 = 256 << 20;

/// Every module of the recording.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    rows: Vec<Module>,
    images: Vec<Option<Arc<ModuleImage>>>,
    by_key: FxHashMap<Key, ModuleId>,
    by_image: FxHashMap<ImageKey, ModuleId>,
    cache: ImageCache,
    files: FxHashMap<Key, Result<File, String>>,
    generated: Vec<Generated>,
    folders: FxHashMap<i32, NameFolder>,
    ended_early: FxHashMap<i32, &'static Runtime>,
    assemblies: Assemblies,
    /// .NET programs with their assemblies in their own file, by process.
    programs: FxHashMap<i32, ModuleId>,
    /// Modules of precompiled assemblies, by the assembly's name.
    precompiled: FxHashMap<Text, ModuleId>,
}

/// What tells modules apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// A file that was mapped while we recorded. Its path belongs to the key: in subvolumes of btrfs, different
    /// files have the same numbers.
    File(MappedFile, Box<str>),
    /// A path in one process, where the kernel gave no file.
    Path(i32, Box<str>),
    /// `[kernel]`, `[vdso]`, kernel modules.
    Name(Box<str>),
    /// A source file of interpreted functions.
    Script(Box<str>),
    /// Generated code of a process.
    Generated(i32),
    /// Generated code of a part that the runtime names: a source file, an assembly.
    Part(Box<str>),
    /// An assembly in the file of a program, by where it begins.
    Bundled(ModuleId, FileOffset),
}

impl Modules {
    /// Takes the folders of runtimes over from the reader; the last look at a process is the best.
    pub(crate) fn deliver_folders(&mut self, folders: Vec<Result<NameFolder, EndedEarly>>) {
        for folder in folders {
            match folder {
                Ok(folder) => _ = self.folders.insert(folder.pid, folder),
                Err(EndedEarly { pid, runtime }) => _ = self.ended_early.insert(pid, runtime),
            }
        }
    }

    /// Takes files over from the reader; they are parsed when their mapping is handled.
    pub(crate) fn deliver(&mut self, opened: Vec<OpenedFile>) {
        for file in opened {
            let key = key_of(file.pid, file.mapped, &file.path);
            self.files.insert(key, file.file.map_err(|error| error.to_string()));
        }
    }

    /// The module of a mapping that begins at an offset of its file.
    pub(crate) fn mapped(
        &mut self,
        pid: i32,
        mapped: Option<MappedFile>,
        (path, offset): (&str, FileOffset),
        ledger: &mut Ledger,
    ) -> ModuleId {
        let file = self.file(pid, mapped, path, ledger);
        self.bundled(pid, file, (path, offset)).unwrap_or(file)
    }

    /// The module of a .NET assembly in a program's own file, where the program has mapped one.
    fn bundled(
        &mut self,
        pid: i32,
        program: ModuleId,
        (path, offset): (&str, FileOffset),
    ) -> Option<ModuleId> {
        let image = self.images.get(program.index())?.clone()?;
        let assembly = image.bundled(offset)?;
        self.programs.insert(pid, program);
        let key = Key::Bundled(program, assembly.offset);
        if let Some(known) = self.by_key.get(&key) {
            return Some(*known);
        }
        let mut opened = image.open_bundled(assembly).ok()?;
        opened.attach_debug_files(&mut opener(pid));
        let id = self.push_as(key, file_row(&format!("{path}/{}", assembly.name)), None);
        self.attach_image(id, Arc::new(opened));
        Some(id)
    }

    /// The module of a file that is mapped.
    fn file(
        &mut self,
        pid: i32,
        mapped: Option<MappedFile>,
        path: &str,
        ledger: &mut Ledger,
    ) -> ModuleId {
        if path == culprit_symbols::VDSO_NAME {
            return self.vdso();
        }
        if path == STEPPING || path.starts_with(TRAMPOLINE) {
            return self.kernel(Some("uprobes"));
        }
        let key = key_of(pid, mapped, path);
        let is_program = || self.by_key.contains_key(&key) || self.files.contains_key(&key);
        if is_generated(path) && !(path.starts_with(MEMORY_FILE) && is_program()) {
            return self.generated_code(pid);
        }
        if is_jitdump(path) {
            self.attach_dump(pid, &key);
        }
        let known = self.by_key.get(&key).copied();
        if let Some(known) = known
            && (self.images[known.index()].is_some() || !self.files.contains_key(&key))
        {
            return known;
        }
        let image = self.load(pid, &key, path);
        match &image {
            Ok(_) => ledger.recover(LossKind::ModulesUnreadable, path),
            Err(why) => ledger.once(LossKind::ModulesUnreadable, path, why),
        }
        let image = image.ok();
        let same = image.as_ref().and_then(|image| self.by_image.get(image.key())).copied();
        let id = known.or(same).unwrap_or_else(|| self.push(file_row(path), None));
        self.by_key.insert(key, id);
        if let Some(image) = image {
            self.attach_image(id, image);
        }
        id
    }

    /// The module of kernel code: `[kernel]`, or a loadable module by its name.
    pub(crate) fn kernel(&mut self, name: Option<&str>) -> ModuleId {
        self.in_brackets(name.unwrap_or("kernel"))
    }

    /// The module of code that is in no file of its own, by its name: `[name]`.
    pub(crate) fn in_brackets(&mut self, name: &str) -> ModuleId {
        let name = format!("[{name}]");
        let key = Key::Name(name.as_str().into());
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let name = Text::from(name);
        let row =
            Module { name: name.clone(), path: name, build_id: None, symbols: true, lines: false };
        self.push_as(key, row, None)
    }

    /// The module of a script's functions: its file.
    pub(crate) fn script(&mut self, path: &str) -> ModuleId {
        let key = Key::Script(path.into());
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let row = Module {
            name: path.rsplit('/').next().unwrap_or(path).into(),
            path: path.into(),
            build_id: None,
            symbols: true,
            lines: true,
        };
        self.push_as(key, row, None)
    }

    /// The parsed image, where there is one.
    pub(crate) fn image(&self, id: ModuleId) -> Option<&Arc<ModuleImage>> {
        self.images.get(id.index())?.as_ref()
    }

    /// Every row so far.
    pub(crate) fn rows(&self) -> &[Module] {
        &self.rows
    }

    /// Bytes that the images hold.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.cache.memory_bytes()
    }

    fn vdso(&mut self) -> ModuleId {
        let name = culprit_symbols::VDSO_NAME;
        let key = Key::Name(name.into());
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        // Every process of a machine has the same one, so ours will do.
        let image = culprit_symbols::vdso_image().ok().map(Arc::new);
        let row = Module {
            name: name.into(),
            path: name.into(),
            build_id: image.as_ref().and_then(|image| image.build_id()).map(text_of),
            symbols: image.as_ref().is_some_and(|image| image.has_symbols()),
            lines: false,
        };
        self.push_as(key, row, image)
    }

    /// Parses the file that was delivered for a module.
    fn load(&mut self, pid: i32, key: &Key, path: &str) -> Result<Arc<ModuleImage>, String> {
        let file = match self.files.remove(key) {
            Some(opened) => opened?,
            None => return Err("the process ended before Culprit could open the file".to_owned()),
        };
        let opened = self.cache.open(file, path, None, &mut opener(pid));
        opened.map_err(|error| error.to_string())
    }

    fn attach_image(&mut self, id: ModuleId, image: Arc<ModuleImage>) {
        let row = &mut self.rows[id.index()];
        row.build_id = image.build_id().map(text_of);
        row.symbols = image.has_symbols();
        if image.is_managed() {
            // As the runtime names it in code that it compiles itself.
            let name = row.name.strip_suffix(".dll").map(Text::from);
            row.name = name.unwrap_or_else(|| row.name.clone());
            self.precompiled.insert(row.name.clone(), id);
        }
        self.by_image.insert(image.key().clone(), id);
        self.images[id.index()] = Some(image);
    }

    fn push(&mut self, row: Module, image: Option<Arc<ModuleImage>>) -> ModuleId {
        let id = ModuleId::from_index(self.rows.len());
        self.rows.push(row);
        self.images.push(image);
        id
    }

    fn push_as(&mut self, key: Key, row: Module, image: Option<Arc<ModuleImage>>) -> ModuleId {
        let id = self.push(row, image);
        self.by_key.insert(key, id);
        id
    }

    /// Notes that line information of a module was used.
    pub(crate) fn has_lines(&mut self, id: ModuleId) {
        self.rows[id.index()].lines = true;
    }
}

/// Opens debug files as a process sees them.
fn opener(pid: i32) -> impl FnMut(&Path) -> Option<File> {
    let root = procfs::root_of(kernel_pid(pid)).ok();
    move |wanted| match &root {
        Some(root) => procfs::open_in_root(root, wanted).ok(),
        // The process is gone. Ours may be the same file system; the file's identity decides.
        None => File::open(wanted).ok(),
    }
}

fn read_bounded(mut file: File) -> Option<Vec<u8>> {
    use std::io::{Read as _, Seek as _};
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_JIT_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn file_row(path: &str) -> Module {
    Module {
        name: base_name(path).into(),
        path: path.into(),
        build_id: None,
        symbols: false,
        lines: false,
    }
}

fn key_of(pid: i32, file: Option<MappedFile>, path: &str) -> Key {
    file.map_or_else(|| Key::Path(pid, path.into()), |file| Key::File(file, path.into()))
}

/// Executable memory that no file stands behind: made by a JIT compiler or a trampoline.
pub(crate) fn is_generated(path: &str) -> bool {
    path.is_empty()
        || path.starts_with("//anon")
        || path.starts_with(MEMORY_FILE)
        || path.starts_with("/dev/zero")
        || path.starts_with("[heap]")
        || path.starts_with("[stack")
        || path.starts_with("[anon")
}

/// `jit-PID.dump`, by the convention of tools/perf/Documentation/jitdump-specification.txt.
fn is_jitdump(path: &str) -> bool {
    let name = base_name(path);
    name.starts_with("jit-") && name.ends_with(".dump")
}

/// The map's name carries the process's number as the process itself knows it.
fn perf_map_path(pid: i32) -> PathBuf {
    let own = procfs::namespace_pids(kernel_pid(pid)).ok().and_then(|pids| pids.last().copied());
    PathBuf::from(format!("/tmp/perf-{}.map", own.unwrap_or(kernel_pid(pid))))
}

/// A process number as the model has it.
pub(crate) fn kernel_pid(pid: i32) -> Pid {
    Pid(u32::try_from(pid).unwrap_or(0))
}

/// The last part of a path, without the mark that the kernel puts on deleted files; the name of a
/// file in memory, without what its maker says about its origin.
pub(crate) fn base_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    if let Some(name) = path.strip_prefix(MEMORY_FILE) {
        return name.split([':', '/']).next().filter(|name| !name.is_empty()).unwrap_or("memfd");
    }
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

fn text_of(id: &BuildId) -> Text {
    hex(id.bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
