//! Programs that tests compile, each once for all processes and runs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::{program, stderr};

/// Compiles one source file with `cc` and these flags. See [`compiled_from`].
///
/// # Errors
/// What the compiler says, or that there is none.
pub fn compiled(source: &Path, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
    compiled_from("cc", &[source], name, flags)
}

/// Compiles a program and returns its path, which ends in `name`. Compiled before, it is kept in
/// cargo's target folder, by what it was made of: the compiler, the flags, the sources and the other
/// files that stand beside them.
///
/// # Errors
/// What the compiler says, or that there is none.
pub fn compiled_from(
    compiler: &str,
    sources: &[&Path],
    name: &str,
    flags: &[&str],
) -> Result<PathBuf, String> {
    let folder = programs().join(key(compiler, sources, flags)?);
    let target = folder.join(name);
    if target.exists() {
        return Ok(target);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Another process may compile the same: the last one to finish replaces an equal file.
    let scratch = folder.join(format!("{name}.{}", unique()));
    let mut command = program(compiler);
    command.args(flags.iter().filter(|flag| !flag.starts_with("-l"))).args(sources);
    command.args(flags.iter().filter(|flag| flag.starts_with("-l"))).arg("-o").arg(&scratch);
    let output = command.output().map_err(|error| format!("{compiler}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{compiler} {flags:?} {sources:?}: {}", stderr(&output)));
    }
    let renamed = std::fs::rename(&scratch, &target);
    renamed.map_err(|error| format!("{}: {error}", target.display()))?;
    Ok(target)
}

/// Beside the folder of the test binaries.
fn programs() -> PathBuf {
    let own = std::env::current_exe().expect("this test");
    own.parent().expect("a folder").join("../test-programs")
}

/// A number that no other thread of any process has now.
fn unique() -> String {
    format!("{}-{:?}", std::process::id(), std::thread::current().id())
}

fn key(compiler: &str, sources: &[&Path], flags: &[&str]) -> Result<String, String> {
    let mut hasher = DefaultHasher::new();
    (compiler, flags).hash(&mut hasher);
    for source in sources {
        let content = std::fs::read(source);
        content.map_err(|error| format!("{}: {error}", source.display()))?.hash(&mut hasher);
        source.hash(&mut hasher);
        headers(source).iter().for_each(|content| content.hash(&mut hasher));
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn headers(source: &Path) -> Vec<Vec<u8>> {
    let folder = source.parent().unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "h")).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}
