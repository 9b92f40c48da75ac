//! The assemblies that a .NET process has loaded: where the code with a name came from.
//!
//! ```text
//! perf-PID.map       7f3c... 80 void [app] Orders::Parse(string)
//! perfinfo-PID.map   ImageLoad;/srv/app.dll;{...};0;        -> /srv/app.dll, /srv/app.pdb
//! ```

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use culprit_symbols::{MethodLines, ModuleImage};
use rustc_hash::FxHashMap;

use crate::enrich::runtimes::NameFolder;
use crate::symbolize::modules::base_name;

/// The list is read up to this size: an assembly takes 200 bytes, and a program has a thousand at most.
const MOST_BYTES: u64 = 16 << 20;

/// Assemblies whose lines are read for one recording at most.
const MOST_READ: usize = 4096;

/// The assemblies of recorded processes.
#[derive(Debug, Default)]
pub(crate) struct Assemblies {
    /// Path by name, for each process.
    paths: FxHashMap<i32, FxHashMap<Box<str>, Box<str>>>,
    lines: FxHashMap<(i32, Box<str>), MethodLines>,
}

/// Where a method is: its assembly, file and line, as far as known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MethodPlace {
    /// The assembly's path.
    pub(crate) assembly: Option<String>,
    /// File and line of the method.
    pub(crate) source: Option<(String, u32)>,
}

impl Assemblies {
    /// Where the method of a name is that a process wrote for code of an assembly. The assembly is a file, or a
    /// part of the program's own one.
    pub(crate) fn place(
        &mut self,
        folder: &NameFolder,
        program: Option<&ModuleImage>,
        (assembly, name): (&str, &str),
    ) -> MethodPlace {
        let paths = self.paths.entry(folder.pid).or_insert_with(|| {
            folder.assemblies().map(|file| paths_in(&read(file))).unwrap_or_default()
        });
        let path = paths.get(assembly);
        let room = self.lines.len() < MOST_READ;
        let key = (folder.pid, Box::from(assembly));
        let read = || match path {
            _ if !room => MethodLines::default(),
            Some(path) => lines_of(folder, path),
            None => program.map(|image| lines_in(folder, image, assembly)).unwrap_or_default(),
        };
        let lines = self.lines.entry(key).or_insert_with(read);
        let source = lines.find(name).map(|(file, line)| (file.to_owned(), line));
        MethodPlace { assembly: path.map(ToString::to_string), source }
    }
}

/// The methods of an assembly as its process sees it.
fn lines_of(folder: &NameFolder, path: &str) -> MethodLines {
    let mut open = |path: &Path| folder.open_path(path);
    let Some(file) = open(Path::new(path)) else { return MethodLines::default() };
    MethodLines::read(file, path, &mut open).unwrap_or_default()
}

/// The methods of an assembly in the program's own file.
fn lines_in(folder: &NameFolder, program: &ModuleImage, assembly: &str) -> MethodLines {
    let mut open = |path: &Path| folder.open_path(path);
    program.bundled_lines(assembly, &mut open).unwrap_or_default()
}

fn read(file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read until an error is as good as it is.
    let _ = file.take(MOST_BYTES).read_to_end(&mut bytes);
    bytes
}

/// Names and paths of the assemblies in a list. The last one of a name counts.
fn paths_in(bytes: &[u8]) -> FxHashMap<Box<str>, Box<str>> {
    let text = String::from_utf8_lossy(bytes);
    let path = |line: &str| {
        let (path, _) = line.strip_prefix("ImageLoad;")?.split_once(';')?;
        let name = base_name(path);
        let name = name.strip_suffix(".dll").or(name.strip_suffix(".exe")).unwrap_or(name);
        Some((Box::from(name), Box::from(path)))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that .NET Core 3.1 wrote.
    #[test]
    fn a_list_has_the_paths_of_assemblies() {
        let text = b"ImageLoad;/srv/my app/app.dll;{8db1d988-8cc2-447a-b34f-fcb64cbf56d3};0000000000000000;\n\
                     ImageLoad;/usr/share/dotnet/shared/Microsoft.NETCore.App/3.1.23/System.Runtime.dll;{b62};00007FCE3D1B0000;\n\
                     ImageLoad;cut";
        let paths = paths_in(text);
        assert_eq!(paths.get("app").map(|path| &**path), Some("/srv/my app/app.dll"));
        assert!(paths.contains_key("System.Runtime"));
        assert_eq!(paths.len(), 2);
    }
}
