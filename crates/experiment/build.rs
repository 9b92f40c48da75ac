//! Lists the files of the casebook, so that the program carries them: who has only the one binary
//! has the cases too.
//!
//! Writes `casebook.rs` into the build's folder: every file's path below `casebook/` and its bytes,
//! by path. Only what belongs to a case is taken: files in a folder that holds a `case.toml`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // As it is when this runs: a cache of built files may have been filled from another checkout.
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = Path::new(&package).join("../../casebook").canonicalize()?;
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for folder in entries(&root)?.into_iter().filter(|path| path.join("case.toml").is_file()) {
        println!("cargo:rerun-if-changed={}", folder.display());
        files.extend(entries(&folder)?.into_iter().filter(|path| path.is_file()));
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let _ = writeln!(list, "    ({name:?}, include_bytes!({file:?})),");
    }
    list.push_str("]\n");
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("casebook.rs");
    fs::write(target, list)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}
