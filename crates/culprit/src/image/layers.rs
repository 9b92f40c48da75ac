//! Layers laid over each other: what of each is still seen, and what is stored in vain.

use std::collections::BTreeMap;

use culprit_findings::{ImageLayer, ImageStored, ImageWaste, WasteKind};

use super::read::{Archive, What};

/// Smaller files of the same content are not told as copies: empty and tiny ones are alike by chance.
const LEAST_COPY: u64 = 4096;
/// Files that are listed; the sums count all.
const MOST_LISTED: usize = 100;

/// A file that the layers so far show.
#[derive(Clone, Copy)]
struct Seen {
    layer: usize,
    bytes: u64,
    hash: [u8; 16],
}

/// What an image stores.
pub(super) fn stored(name: &str, archive: Archive) -> ImageStored {
    let architecture = archive.architecture;
    let mut seen: BTreeMap<Box<str>, Seen> = BTreeMap::new();
    let mut layers: Vec<ImageLayer> = Vec::new();
    let mut waste: Vec<ImageWaste> = Vec::new();
    for (at, layer) in archive.layers.into_iter().enumerate() {
        let mut told = ImageLayer {
            instruction: layer.instruction,
            bytes: 0,
            files: 0,
            vain_bytes: 0,
            problem: layer.problem,
        };
        // What a layer takes away is of the layers below it, wherever it stands in the archive.
        for item in &layer.items {
            let (gone, kind) = match item.what {
                // A folder of lower layers is gone where a file is now.
                What::File(..) => (below(&seen, &item.path, false), WasteKind::Deleted),
                What::Deleted => (below(&seen, &item.path, true), WasteKind::Deleted),
                What::Emptied => (below(&seen, &item.path, false), WasteKind::Deleted),
                What::Covered => (below(&seen, &item.path, true), WasteKind::Replaced),
            };
            for path in gone {
                if let Some(old) = seen.remove(&path) {
                    waste.push(wasted(&path, old, kind, at));
                }
            }
        }
        for item in layer.items {
            let What::File(bytes, hash) = item.what else { continue };
            told.bytes += bytes;
            told.files += 1;
            let new = Seen { layer: at, bytes, hash };
            if let Some(old) = seen.insert(item.path.clone(), new).filter(|old| old.layer < at) {
                let same = old.hash == hash && old.bytes == bytes;
                let kind = if same { WasteKind::StoredAgain } else { WasteKind::Replaced };
                waste.push(wasted(&item.path, old, kind, at));
            }
        }
        layers.push(told);
    }
    for one in &waste {
        layers[one.stored_by].vain_bytes += one.bytes;
    }
    let copies = copies(&seen);
    let sum = |all: &[ImageWaste]| all.iter().map(|one| one.bytes).sum();
    let (vain_bytes, copied_bytes) = (sum(&waste), sum(&copies));
    let mut all = waste;
    all.extend(copies);
    all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let count = all.len();
    all.truncate(MOST_LISTED);
    ImageStored {
        name: name.to_owned(),
        architecture,
        bytes: layers.iter().map(|layer| layer.bytes).sum(),
        layers,
        vain_bytes,
        copied_bytes,
        waste_files: count,
        waste: all,
    }
}

fn wasted(path: &str, old: Seen, kind: WasteKind, by: usize) -> ImageWaste {
    let path = format!("/{path}");
    ImageWaste { path, bytes: old.bytes, kind, stored_by: old.layer, by }
}

/// The paths that are there at or below a path.
fn below(seen: &BTreeMap<Box<str>, Seen>, path: &str, itself: bool) -> Vec<Box<str>> {
    let inside = if path.is_empty() { String::new() } else { format!("{path}/") };
    let from: Box<str> = inside.as_str().into();
    let within = seen.range(from..).map(|(path, _)| path);
    let within = within.take_while(|path| path.starts_with(&inside)).cloned();
    let own = seen.get_key_value(path).map(|(path, _)| path.clone()).filter(|_| itself);
    own.into_iter().chain(within).collect()
}

/// Files that are there with the content of another: all but the first of each.
fn copies(seen: &BTreeMap<Box<str>, Seen>) -> Vec<ImageWaste> {
    let mut first: BTreeMap<([u8; 16], u64), usize> = BTreeMap::new();
    let mut by_layer: Vec<(&Box<str>, &Seen)> =
        seen.iter().filter(|(_, file)| file.bytes >= LEAST_COPY).collect();
    by_layer.sort_by_key(|(_, file)| file.layer);
    let mut copies = Vec::new();
    for (path, file) in by_layer {
        match first.get(&(file.hash, file.bytes)) {
            None => {
                first.insert((file.hash, file.bytes), file.layer);
            }
            Some(original) => {
                let old = Seen { layer: *original, ..*file };
                copies.push(wasted(path, old, WasteKind::Copy, file.layer));
            }
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::super::read::{Item, Layer};
    use super::*;

    fn layer(instruction: &str, items: &[(&str, What)]) -> Layer {
        let item = |(path, what): &(&str, What)| Item { path: (*path).into(), what: *what };
        Layer {
            instruction: instruction.to_owned(),
            items: items.iter().map(item).collect(),
            problem: None,
        }
    }

    const fn file(bytes: u64, content: u8) -> What {
        What::File(bytes, [content; 16])
    }

    #[test]
    fn what_later_layers_hide_is_charged_to_those_that_stored_it() {
        let archive = Archive {
            architecture: None,
            layers: vec![
                layer("base", &[("a/x", file(9000, 1)), ("a/y", file(50, 2)), ("b", file(7, 3))]),
                layer("again", &[("b", file(7, 3)), ("c", file(9000, 1))]),
                layer("change", &[("a/z", file(5, 4)), ("a", What::Emptied), ("b", file(8, 5))]),
            ],
        };
        let told = stored("i", archive);
        let waste: Vec<_> = told.waste.iter().map(|w| (w.path.as_str(), w.bytes, w.kind)).collect();
        assert_eq!(
            waste,
            [
                ("/a/x", 9000, WasteKind::Deleted),
                ("/a/y", 50, WasteKind::Deleted),
                ("/b", 7, WasteKind::StoredAgain),
                ("/b", 7, WasteKind::Replaced),
            ]
        );
        assert_eq!((told.vain_bytes, told.copied_bytes, told.bytes), (9064, 0, 18077));
        let vain: Vec<u64> = told.layers.iter().map(|layer| layer.vain_bytes).collect();
        assert_eq!(vain, [9057, 7, 0]);
    }

    #[test]
    fn links_empty_files_and_files_in_place_of_folders_hide_what_was_there() {
        let archive = Archive {
            architecture: None,
            layers: vec![
                layer("base", &[("a/x", file(9000, 1)), ("b", file(50, 2)), ("c", file(7, 3))]),
                layer("over", &[("a", file(5, 4)), ("b", What::Covered), ("d", What::Covered)]),
            ],
        };
        let told = stored("i", archive);
        let waste: Vec<_> = told.waste.iter().map(|w| (w.path.as_str(), w.kind)).collect();
        assert_eq!(waste, [("/a/x", WasteKind::Deleted), ("/b", WasteKind::Replaced)]);
        assert_eq!((told.vain_bytes, told.bytes), (9050, 9062));
    }

    #[test]
    fn a_copy_is_told_and_a_folder_of_a_like_name_stays() {
        let archive = Archive {
            architecture: None,
            layers: vec![
                layer("base", &[("ab/x", file(9000, 1)), ("a/x", file(9000, 1))]),
                layer("rm", &[("a", What::Deleted)]),
                layer("copy", &[("d/x", file(9000, 1)), ("e", file(10, 1))]),
            ],
        };
        let told = stored("i", archive);
        assert_eq!((told.vain_bytes, told.copied_bytes), (9000, 9000));
        let copy = told.waste.iter().find(|one| one.kind == WasteKind::Copy).unwrap();
        assert_eq!((copy.path.as_str(), copy.stored_by, copy.by), ("/d/x", 0, 2));
    }
}
