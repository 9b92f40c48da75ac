//! The variables of an image, and those of its files that may be configuration, with their content.
//!
//! Both forms of archives are read: with a `manifest.json` (`docker save`), and the image layout of the
//! Open Container Initiative with an `index.json` alone. Layers come in any order, so each is kept until
//! the manifest says where it belongs. Later layers replace and delete what earlier ones have.

use std::collections::BTreeMap;
use std::io::{self, Read};

use culprit_config::{Format, ImageFile, MAX_BYTES};
use culprit_place::EngineKind;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use super::tar::{Entry, Kind, plain};
use crate::failure::{Context as _, Failure};
use crate::{places, settings};

/// Bytes of files that are kept of an image.
const MOST_KEPT: u64 = 512 << 20;
/// Descriptions of images are some KiB; what is larger is none.
const MOST_TEXT: u64 = 16 << 20;

/// What an image has.
#[derive(Debug, Default)]
pub(crate) struct ImageContents {
    /// Its names, as the archive has them.
    pub(crate) names: Vec<String>,
    /// Its variables, `NAME=value`.
    pub(crate) environment: Vec<String>,
    /// Where its commands work.
    pub(crate) work_dir: String,
    /// Files that may be configuration, by absolute path without the first `/`.
    pub(crate) files: BTreeMap<String, ImageFile>,
    /// What could not be read, one sentence each.
    pub(crate) problems: Vec<String>,
}

/// Reads an image: the file of that name, else the image that an engine has.
///
/// # Errors
/// When it is not there, or is no image.
pub(crate) fn image_contents(name: &str) -> Result<ImageContents, Failure> {
    let what = || format!("cannot read the image `{name}`");
    let path = std::path::Path::new(name);
    if path.is_file() {
        let file = std::fs::File::open(path).or_bad_input(what)?;
        return contents(&mut io::BufReader::new(file)).or_bad_input(what);
    }
    let mut failure = None;
    for engine in [EngineKind::Docker, EngineKind::Podman] {
        match culprit_place::export_image(engine, name, &settings::of_places()) {
            Ok(mut export) => return contents(&mut export).or_refused(what),
            Err(error) => {
                failure.get_or_insert_with(|| places::failure(&error));
            }
        }
    }
    let failure = failure.unwrap_or_else(|| Failure::refused(what()));
    Err(failure.hint("or give a file that `docker save` wrote"))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// A descriptor of the image layout.
#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: String,
}

#[derive(Debug, Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct OciManifest {
    config: Descriptor,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Debug, Default, Deserialize)]
struct Description {
    #[serde(default)]
    config: Option<Runtime>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Runtime {
    env: Option<Vec<String>>,
    working_dir: Option<String>,
}

/// What a layer does to the files below it, in its order.
#[derive(Clone)]
enum Change {
    Put(String, ImageFile),
    Delete(String),
    Empty(String),
}

/// An archive's parts, by path.
#[derive(Default)]
struct Parts {
    texts: BTreeMap<String, String>,
    layers: BTreeMap<String, Vec<Change>>,
    links: BTreeMap<String, String>,
    problems: Vec<String>,
    kept: u64,
}

fn contents(source: &mut dyn Read) -> io::Result<ImageContents> {
    let mut tar = ::tar::Archive::new(source);
    let mut parts = Parts::default();
    for entry in tar.entries()? {
        let mut entry = Entry::of(entry)?;
        match &entry.kind {
            Kind::Link(to) => {
                let folder = entry.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                parts.links.insert(entry.path.clone(), below(folder, to));
            }
            Kind::File => part(&mut parts, entry.path.clone(), entry.bytes, &mut entry)?,
            Kind::Other => {}
        }
    }
    assembled(parts)
}

/// A text of the archive, or a layer.
fn part(parts: &mut Parts, path: String, bytes: u64, mut tar: &mut dyn Read) -> io::Result<()> {
    let mut head = Vec::new();
    (&mut tar).take(512).read_to_end(&mut head)?;
    if matches!(head.first(), Some(b'{' | b'[')) {
        if bytes <= MOST_TEXT {
            tar.read_to_end(&mut head)?;
            parts.texts.insert(path, String::from_utf8_lossy(&head).into_owned());
        }
    } else if head.starts_with(&[0x1f, 0x8b]) {
        let changes = changes(&mut MultiGzDecoder::new(head.as_slice().chain(tar)), parts)?;
        parts.layers.insert(path, changes);
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        parts.problems.push(format!("the layer {path} is compressed with zstd"));
    } else if head.get(257..262) == Some(b"ustar") || head.iter().all(|byte| *byte == 0) {
        let changes = changes(&mut head.as_slice().chain(tar), parts)?;
        parts.layers.insert(path, changes);
    }
    Ok(())
}

/// Whether a file may be configuration, by its name.
fn may_be_configuration(name: &str) -> bool {
    Format::of_name(name).is_some() || name.starts_with(".env")
}

fn changes(source: &mut dyn Read, parts: &mut Parts) -> io::Result<Vec<Change>> {
    let mut tar = ::tar::Archive::new(source);
    let mut changes = Vec::new();
    for entry in tar.entries()? {
        let mut entry = Entry::of(entry)?;
        let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        if let Some(gone) = name.strip_prefix(".wh.") {
            changes.push(match gone {
                ".wh..opq" => Change::Empty(folder.to_owned()),
                gone => Change::Delete(below(folder, gone)),
            });
            continue;
        }
        let is_wanted = may_be_configuration(name);
        let file = match &entry.kind {
            Kind::Link(to) if is_wanted => ImageFile::Link(to.clone()),
            Kind::File if !is_wanted => continue,
            Kind::File if entry.bytes > MAX_BYTES => ImageFile::TooLarge,
            Kind::File if parts.kept + entry.bytes > MOST_KEPT => {
                let problem = format!("its configuration files exceed {} MiB", MOST_KEPT >> 20);
                if !parts.problems.contains(&problem) {
                    parts.problems.push(problem);
                }
                ImageFile::TooLarge
            }
            Kind::File => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                parts.kept += entry.bytes;
                ImageFile::Bytes(bytes)
            }
            _ => continue,
        };
        changes.push(Change::Put(entry.path.clone(), file));
    }
    // What follows the last entry, so that the next part is found.
    io::copy(&mut tar.into_inner(), &mut io::sink())?;
    Ok(changes)
}

/// A path from a folder, without `.` and `..`.
fn below(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The names that a `manifest.json` gives.
fn names(texts: &BTreeMap<String, String>) -> Vec<String> {
    let saved = texts.get("manifest.json").map(|text| serde_json::from_str::<Vec<Saved>>(text));
    let first = saved.and_then(|saved| saved.ok()?.into_iter().next());
    first.and_then(|first| first.repo_tags).unwrap_or_default()
}

/// The paths of the description and of the layers, from the lowest up.
fn named(texts: &BTreeMap<String, String>) -> io::Result<(String, Vec<String>)> {
    if let Some(manifest) = texts.get("manifest.json") {
        let saved: Vec<Saved> =
            serde_json::from_str(manifest).map_err(|_| wrong("its manifest.json is malformed"))?;
        let saved = saved.into_iter().next();
        let saved = saved.ok_or_else(|| wrong("its manifest.json names no image"))?;
        let layers = saved.layers.unwrap_or_default().iter().map(|layer| plain(layer)).collect();
        return Ok((plain(&saved.config), layers));
    }
    let blob = |descriptor: &Descriptor| format!("blobs/{}", descriptor.digest.replace(':', "/"));
    let index = texts.get("index.json");
    let mut text =
        index.ok_or_else(|| wrong("it contains neither manifest.json nor index.json"))?;
    // An index may name another one: of an image for several kinds of processors.
    for _ in 0..2 {
        if let Ok(index) = serde_json::from_str::<Index>(text) {
            let first = index.manifests.first();
            let first = first.ok_or_else(|| wrong("its index.json names no image"))?;
            text = texts.get(&blob(first)).ok_or_else(|| wrong("a blob is missing"))?;
        }
    }
    let manifest: OciManifest =
        serde_json::from_str(text).map_err(|_| wrong("its manifest is malformed"))?;
    Ok((blob(&manifest.config), manifest.layers.iter().map(blob).collect()))
}

fn assembled(mut parts: Parts) -> io::Result<ImageContents> {
    let (config, layers) = named(&parts.texts)?;
    let description = match parts.texts.get(&config) {
        Some(text) => serde_json::from_str::<Description>(text)
            .map_err(|_| wrong("its description is malformed"))?,
        None => return Err(wrong("its description is missing")),
    };
    let runtime = description.config.unwrap_or_default();
    let mut contents = ImageContents {
        names: names(&parts.texts),
        environment: runtime.env.unwrap_or_default(),
        work_dir: runtime.working_dir.unwrap_or_default(),
        files: BTreeMap::new(),
        problems: std::mem::take(&mut parts.problems),
    };
    for name in layers {
        let name = parts.links.get(&name).unwrap_or(&name);
        // The same layer may stand in an image twice.
        match parts.layers.get(name) {
            Some(changes) => {
                changes.iter().for_each(|one| apply(&mut contents.files, one.clone()));
            }
            None if contents.problems.is_empty() => {
                contents.problems.push(format!("the layer {name} is not in the archive"));
            }
            None => {}
        }
    }
    Ok(contents)
}

fn apply(files: &mut BTreeMap<String, ImageFile>, change: Change) {
    let (folder, itself) = match change {
        Change::Put(path, file) => {
            files.insert(path, file);
            return;
        }
        Change::Delete(path) => (path, true),
        Change::Empty(path) => (path, false),
    };
    let inside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    files.retain(|path, _| !(path.starts_with(&inside) || itself && *path == folder));
}

#[cfg(test)]
mod tests {
    use super::super::tar::tests::archive;
    use super::*;

    fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
        archive(entries, &[])
    }

    fn layers() -> [Vec<u8>; 2] {
        [
            tar(&[
                ("app/appsettings.json", b"{\"A\": 1}"),
                ("app/old.json", b"{}"),
                ("app/program", b"binary"),
            ]),
            tar(&[("app/appsettings.json", b"{\"A\": 2}"), ("app/.wh.old.json", b"")]),
        ]
    }

    const DESCRIPTION: &[u8] = br#"{"config":{"Env":["A=1"],"WorkingDir":"/app"}}"#;

    fn check(archive: &[u8]) {
        let found = contents(&mut &archive[..]).unwrap();
        assert_eq!(
            (found.environment.as_slice(), found.work_dir.as_str()),
            (&["A=1".to_owned()][..], "/app")
        );
        let files: Vec<_> = found.files.into_iter().collect();
        let bytes = ImageFile::Bytes(b"{\"A\": 2}".to_vec());
        assert_eq!(files, [("app/appsettings.json".to_owned(), bytes)]);
        assert!(found.problems.is_empty());
    }

    #[test]
    fn the_last_layer_wins_in_an_archive_of_docker_save() {
        let [first, second] = layers();
        let manifest = br#"[{"Config":"c.json","Layers":["1/layer.tar","2/layer.tar"]}]"#;
        // The upper layer comes first in the archive.
        check(&tar(&[
            ("2/layer.tar", &second),
            ("1/layer.tar", &first),
            ("c.json", DESCRIPTION),
            ("manifest.json", manifest),
        ]));
    }

    #[test]
    fn the_image_layout_is_read_by_its_index() {
        let [first, second] = layers();
        let manifest = br#"{"config":{"digest":"sha256:c"},"layers":[{"digest":"sha256:1"},{"digest":"sha256:2"}]}"#;
        check(&tar(&[
            ("blobs/sha256/1", &first),
            ("blobs/sha256/2", &second),
            ("blobs/sha256/c", DESCRIPTION),
            ("blobs/sha256/m", manifest),
            ("index.json", br#"{"manifests":[{"digest":"sha256:m"}]}"#),
        ]));
    }

    #[test]
    fn another_archive_is_refused_with_the_reason() {
        let other = tar(&[("a", b"x")]);
        let error = contents(&mut &other[..]).unwrap_err().to_string();
        assert_eq!(error, "it contains neither manifest.json nor index.json");
    }
}
