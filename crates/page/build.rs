//! Puts the built page, `ui/dist`, into the program: a table of paths, types and bytes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let path =
            file.strip_prefix(&dist).map_err(io::Error::other)?.to_string_lossy().into_owned();
        // The manifest is for the build alone.
        if path == "manifest.json" {
            continue;
        }
        let (name, gzip) = match path.strip_suffix(".gz") {
            Some(name) => (name, true),
            None => (path.as_str(), false),
        };
        let _ = writeln!(
            table,
            "    Asset {{ path: {name:?}, media: {:?}, gzip: {gzip}, bytes: include_bytes!({:?}) }},",
            media(name),
            file.canonicalize()?.display().to_string(),
        );
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("assets.rs"), table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn media(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}
