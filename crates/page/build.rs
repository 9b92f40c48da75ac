//! Puts the built page, `ui/dist`, into the program: a table of paths, types and compressed bytes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
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
        let compressed = out.join(path.replace('/', "-"));
        fs::write(&compressed, gzip(&checked(&path, fs::read(&file)?)?)?)?;
        let _ = writeln!(
            table,
            "    Asset {{ path: {path:?}, media: {:?}, gzip: include_bytes!({:?}) }},",
            media(&path),
            compressed.display().to_string(),
        );
    }
    table.push(']');
    fs::write(out.join("assets.rs"), table)
}

/// The bytes of a file that may stand inside an element of a page: nothing in them ends it.
fn checked(path: &str, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    let inline = path.ends_with(".js") || path.ends_with(".css");
    match ["</script", "</style", "<!--"].into_iter().find(|end| inline && text.contains(end)) {
        Some(end) => {
            Err(io::Error::other(format!("{path} holds `{end}`, which would end its element")))
        }
        None => Ok(bytes),
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(bytes)?;
    writer.finish()
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
