//! The archive of an image: layers, and what says which instruction made each.
//!
//! Engines give it out in two forms, a folder a layer with a `layer.tar` (Docker before 25) and the
//! image layout of the Open Container Initiative with blobs named by their hashes; both have a
//! `manifest.json` that lists the layers from the lowest up. Layers may be compressed.

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::tar::{Entry, Kind, plain};

/// Descriptions of images are some KiB; what is larger is none.
const MOST_TEXT: u64 = 16 << 20;
/// Files that are kept of an image; each takes about 150 bytes.
const MOST_FILES: usize = 2_000_000;

/// What an image's archive holds.
#[derive(Debug, Default)]
pub(super) struct Archive {
    /// What processors it is for, where its configuration says so.
    pub(super) architecture: Option<String>,
    /// Layers from the lowest up.
    pub(super) layers: Vec<Layer>,
}

/// One layer.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Layer {
    /// The instruction that made it; empty where nobody has written it down.
    pub(super) instruction: String,
    /// What it has.
    pub(super) items: Vec<Item>,
    /// Why its files are not known.
    pub(super) problem: Option<String>,
}

/// What a layer has at a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) path: Box<str>,
    pub(super) what: What,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    /// A file: its size, and the first half of its hash.
    File(u64, [u8; 16]),
    /// The path is no longer there, nor what is below it.
    Deleted,
    /// Nothing of lower layers is below the path any more.
    Emptied,
    /// A link, or a file without content, which hides what lower layers have there.
    Covered,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    config: String,
    // Of an image of no files `null`.
    layers: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
struct Config {
    architecture: Option<String>,
    history: Option<Vec<Step>>,
}

#[derive(Debug, Default, Deserialize)]
struct Step {
    #[serde(default)]
    created_by: String,
    #[serde(default)]
    comment: String,
    #[serde(default)]
    empty_layer: bool,
}

/// Reads an archive to its end.
pub(super) fn archive(source: &mut dyn Read) -> io::Result<Archive> {
    let mut tar = ::tar::Archive::new(source);
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut layers: BTreeMap<String, Layer> = BTreeMap::new();
    let mut links: BTreeMap<String, String> = BTreeMap::new();
    let mut room = MOST_FILES;
    for entry in tar.entries()? {
        let mut entry = Entry::of(entry)?;
        match &entry.kind {
            Kind::Link(to) => {
                let folder = entry.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                links.insert(entry.path.clone(), resolved(folder, to));
            }
            Kind::File => {
                let mut head = Vec::new();
                (&mut entry).take(512).read_to_end(&mut head)?;
                if matches!(head.first(), Some(b'{' | b'[')) {
                    if entry.bytes <= MOST_TEXT {
                        entry.read_to_end(&mut head)?;
                        texts.insert(entry.path, String::from_utf8_lossy(&head).into_owned());
                    }
                } else if let Some(layer) = layer(&head, &mut entry, &mut room)? {
                    layers.insert(entry.path, layer);
                }
            }
            Kind::Other => {}
        }
    }
    assembled(&texts, &layers, &links)
}

/// A layer that begins with `head`; none of a file that is none.
fn layer(head: &[u8], rest: &mut dyn Read, room: &mut usize) -> io::Result<Option<Layer>> {
    let whole = head.chain(rest);
    if head.starts_with(&[0x1f, 0x8b]) {
        items(&mut MultiGzDecoder::new(whole), room).map(Some)
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let problem = Some("compressed with zstd, which Culprit cannot read".to_owned());
        Ok(Some(Layer { problem, ..Layer::default() }))
    } else if head.get(257..262) == Some(b"ustar") || head.iter().all(|byte| *byte == 0) {
        let mut whole = whole;
        items(&mut whole, room).map(Some)
    } else {
        Ok(None)
    }
}

/// What a layer's archive has.
fn items(source: &mut dyn Read, room: &mut usize) -> io::Result<Layer> {
    let mut tar = ::tar::Archive::new(source);
    let mut layer = Layer::default();
    let mut buffer = vec![0; 64 << 10];
    for entry in tar.entries()? {
        let mut entry = Entry::of(entry)?;
        let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let join = |name: &str| match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        // Marks of the image format, `.wh.NAME` and `.wh..wh..opq`; others that begin so are the
        // storage driver's own.
        let (path, what) = match name.strip_prefix(".wh.") {
            Some(".wh..opq") => (folder.to_owned(), What::Emptied),
            Some(own) if own.starts_with(".wh.") => continue,
            Some(name) => (join(name), What::Deleted),
            None if entry.kind == Kind::File && entry.bytes > 0 => {
                let hash = hashed(&mut entry, &mut buffer)?;
                (entry.path.clone(), What::File(entry.bytes, hash))
            }
            None if matches!(entry.kind, Kind::File | Kind::Link(_)) => {
                (entry.path.clone(), What::Covered)
            }
            None => continue,
        };
        match room.checked_sub(1) {
            Some(rest) => *room = rest,
            None => {
                layer.problem = Some(format!("Culprit read only the first {MOST_FILES} files"));
                break;
            }
        }
        layer.items.push(Item { path: path.into(), what });
    }
    // What follows the last entry, so that the next layer is found.
    io::copy(&mut tar.into_inner(), &mut io::sink())?;
    Ok(layer)
}

fn hashed(content: &mut dyn Read, buffer: &mut [u8]) -> io::Result<[u8; 16]> {
    let mut hash = Sha256::new();
    loop {
        match content.read(buffer)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    let mut half = [0; 16];
    half.copy_from_slice(&hash.finalize()[..16]);
    Ok(half)
}

/// A link's target as a path of the archive.
fn resolved(folder: &str, to: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The layers in order, each with its instruction.
fn assembled(
    texts: &BTreeMap<String, String>,
    layers: &BTreeMap<String, Layer>,
    links: &BTreeMap<String, String>,
) -> io::Result<Archive> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let manifest = texts.get("manifest.json");
    let manifest = manifest.ok_or_else(|| wrong("it contains no manifest.json".to_owned()))?;
    let manifests: Vec<Manifest> = serde_json::from_str(manifest)
        .map_err(|error| wrong(format!("cannot read its manifest.json: {error}")))?;
    let manifest = manifests.into_iter().next();
    let manifest = manifest.ok_or_else(|| wrong("its manifest.json names no image".to_owned()))?;
    let config: Config = match texts.get(&plain(&manifest.config)) {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| wrong(format!("cannot read its {}: {error}", manifest.config)))?,
        None => Config::default(),
    };
    let history = config.history.unwrap_or_default();
    let steps: Vec<&Step> = history.iter().filter(|step| !step.empty_layer).collect();
    let names = manifest.layers.unwrap_or_default();
    let mut archive = Archive { architecture: config.architecture, layers: Vec::new() };
    for (at, name) in names.iter().enumerate() {
        let name = plain(name);
        let file = links.get(&name).unwrap_or(&name);
        // The same layer may stand in an image twice.
        let found = layers.get(file).cloned().unwrap_or_else(|| Layer {
            problem: Some("not in the archive".to_owned()),
            ..Layer::default()
        });
        // Images that were put together by other tools have another number of steps.
        let step = steps.get(at).filter(|_| steps.len() == names.len());
        let instruction = step.map(|step| instruction(step)).unwrap_or_default();
        archive.layers.push(Layer { instruction, ..found });
    }
    Ok(archive)
}

/// A step in the words of the file that made it.
fn instruction(step: &Step) -> String {
    let words = step.created_by.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = match words.split_once("#(nop)") {
        Some((_, rest)) => rest.trim().to_owned(),
        None => match words.strip_prefix("/bin/sh -c ") {
            Some(command) => format!("RUN {command}"),
            None => words,
        },
    };
    if words.is_empty() { step.comment.clone() } else { words }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tar::tests::archive as tar;
    use super::*;

    /// An image in the older form: a base, a layer that changes it, the base's first layer again.
    fn image(compressed: bool) -> Vec<u8> {
        let first = tar(&[("etc/", b""), ("etc/big", &[1; 5000]), ("etc/kept", b"kept")], &[]);
        let mut second = tar(&[("etc/.wh.big", b""), ("usr/.wh..wh..opq", b"")], &[]);
        if compressed {
            use std::io::Write as _;
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&second).unwrap();
            second = encoder.finish().unwrap();
        }
        let manifest = br#"[{"Config":"c.json","RepoTags":["x:1"],"Layers":["1/layer.tar","2/layer.tar","3/layer.tar"]}]"#;
        let config = br#"{"history":[
            {"created_by":"/bin/sh -c #(nop) ADD file:1 in / "},
            {"created_by":"/bin/sh -c #(nop)  CMD [\"sh\"]","empty_layer":true},
            {"created_by":"/bin/sh -c rm /etc/big"},
            {"created_by":"COPY a b"}]}"#;
        let entries: [(&str, &[u8]); 5] = [
            ("1/VERSION", b"1.0"),
            ("1/layer.tar", &first),
            ("2/layer.tar", &second),
            ("c.json", config),
            ("manifest.json", manifest),
        ];
        tar(&entries, &[("3/layer.tar", "../1/layer.tar")])
    }

    #[test]
    fn layers_come_in_order_with_the_instruction_that_made_them() {
        for compressed in [false, true] {
            let image = image(compressed);
            let found = archive(&mut &image[..]).unwrap();
            let told: Vec<&str> = found.layers.iter().map(|l| l.instruction.as_str()).collect();
            assert_eq!(told, ["ADD file:1 in /", "RUN rm /etc/big", "COPY a b"]);
            assert_eq!(found.layers[0].items.len(), 2);
            assert!(matches!(found.layers[0].items[0].what, What::File(5000, _)));
            let second: Vec<_> = found.layers[1].items.iter().map(|i| (&*i.path, i.what)).collect();
            assert_eq!(second, [("etc/big", What::Deleted), ("usr", What::Emptied)]);
            assert_eq!(found.layers[2].items, found.layers[0].items);
        }
    }

    #[test]
    fn damage_and_other_archives_are_told() {
        let image = image(false);
        for cut in [700, 3000, image.len() - 1600] {
            assert!(archive(&mut &image[..cut]).is_err(), "{cut}");
        }
        let other = tar(&[("a", b"x")], &[]);
        assert!(archive(&mut &other[..]).unwrap_err().to_string().contains("manifest.json"));
    }
}
