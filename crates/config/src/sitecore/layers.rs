//! Which files patch, in which order: by layers, then folders, then names.

use roxmltree::Node;

use crate::folder::{self, below_root, files_below, find, text_of};
use crate::ledger::Ledger;
use crate::position::Lines;
use crate::profile::Patches;
use crate::provenance::SourceState;
use crate::readers::parse_xml;
use crate::sources::Root;

/// A file of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LayerFile {
    /// Its path below the root.
    pub(super) path: String,
    /// The layer.
    pub(super) layer: String,
    /// Why it does not count, and how that is called; none if it counts.
    pub(super) unread: Option<(SourceState, String)>,
}

/// A layer as it is defined.
struct Layer {
    name: String,
    folder: String,
    is_off: bool,
    order: Vec<Item>,
}

/// An item of a layer's order.
struct Item {
    path: String,
    is_off: bool,
}

/// The files of all layers, in the order in which they patch.
pub(super) fn files(patches: &Patches, root: &Root, ledger: &mut Ledger) -> Vec<LayerFile> {
    let layers = match find(root, &patches.layers_file) {
        Some(path) => read(root, &path, ledger),
        None => patches
            .layers
            .iter()
            .map(|layer| Layer {
                name: layer.name.clone(),
                folder: layer.folder.clone(),
                is_off: false,
                order: Vec::new(),
            })
            .collect(),
    };
    let mut files = Vec::new();
    layers.iter().for_each(|layer| add(root, layer, &patches.layers_file, &mut files));
    off_path(root, patches, &mut files);
    files
}

/// The layers of the file that defines them.
fn read(root: &Root, path: &str, ledger: &mut Ledger) -> Vec<Layer> {
    let folder::Text { source, text } = text_of(root, path, "layers", true);
    let source = ledger.source(source);
    let Some(text) = text else { return Vec::new() };
    let lines = Lines::new(&text);
    let Some(document) = ledger.parsed(source, &text, &lines) else { return Vec::new() };
    let layers = document.descendants().filter(|node| node.has_tag_name("layer"));
    layers.map(layer).collect()
}

fn layer(node: Node<'_, '_>) -> Layer {
    let items = node.descendants().filter(|node| {
        node.has_tag_name("add") && node.parent().is_some_and(|p| p.has_tag_name("loadOrder"))
    });
    Layer {
        name: attribute(node, "name").unwrap_or_default().to_owned(),
        folder: below_root(attribute(node, "includeFolder").unwrap_or_default()),
        is_off: is_off(node),
        order: items
            .map(|item| Item {
                path: below_root(attribute(item, "path").unwrap_or_default()),
                is_off: is_off(item),
            })
            .collect(),
    }
}

/// An attribute by its name in any case: documents write `includefolder`, too.
fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut all = node.attributes();
    all.find(|one| one.name().eq_ignore_ascii_case(name)).map(|one| one.value())
}

fn is_off(node: Node<'_, '_>) -> bool {
    attribute(node, "mode").is_some_and(|mode| mode.trim().eq_ignore_ascii_case("off"))
}

/// Adds the files of a layer: those of its order, then the others.
fn add(root: &Root, layer: &Layer, defined_in: &str, files: &mut Vec<LayerFile>) {
    let Some(folder) = find(root, &layer.folder) else { return };
    let taken: std::collections::BTreeSet<String> =
        files.iter().map(|file: &LayerFile| file.path.to_lowercase()).collect();
    let mut own: Vec<(String, Option<String>)> = Vec::new();
    for item in &layer.order {
        let off = item.is_off.then(|| format!("{defined_in} turns `{}` off", item.path));
        let path = format!("{folder}/{}", item.path);
        let Some(path) = find(root, &path) else {
            let why = format!("no such file or folder, and {defined_in} names it");
            let unread = Some((SourceState::Missing, why));
            files.push(LayerFile { path, layer: layer.name.clone(), unread });
            continue;
        };
        if root.is_folder(&path) {
            own.extend(files_below(root, &path).into_iter().map(|path| (path, off.clone())));
        } else {
            own.push((path, off));
        }
    }
    own.extend(files_below(root, &folder).into_iter().map(|path| (path, None)));
    let mut seen = taken;
    for (path, off) in own {
        if !seen.insert(path.to_lowercase()) {
            continue;
        }
        let off = if layer.is_off {
            Some(format!("{defined_in} turns the layer `{}` off", layer.name))
        } else {
            off
        };
        let unread = match off {
            Some(why) => Some((SourceState::OffLoadPath, why)),
            None if is_config(&path) => None,
            None => Some((SourceState::Unread, "its name does not end in `.config`".to_owned())),
        };
        files.push(LayerFile { path, layer: layer.name.clone(), unread });
    }
}

fn is_config(path: &str) -> bool {
    path.to_lowercase().ends_with(".config")
}

/// Adds files beside the layers that have the form of patches: somebody may expect them to count.
fn off_path(root: &Root, patches: &Patches, files: &mut Vec<LayerFile>) {
    let Some((folder, _)) = patches.layers_file.rsplit_once('/') else { return };
    let Some(folder) = find(root, folder) else { return };
    let known: std::collections::BTreeSet<String> =
        files.iter().map(|file| file.path.to_lowercase()).collect();
    for path in files_below(root, &folder) {
        let is_known = known.contains(&path.to_lowercase());
        if is_known || !is_config(&path) || !is_patch(root, &path, &patches.section) {
            continue;
        }
        let why = format!("no layer of {} has its folder", patches.layers_file);
        files.push(LayerFile {
            path,
            layer: "none".to_owned(),
            unread: Some((SourceState::OffLoadPath, why)),
        });
    }
}

/// Whether a file has the form of a patch.
fn is_patch(root: &Root, path: &str, section: &str) -> bool {
    let Some(text) = text_of(root, path, "", false).text else { return false };
    let Ok(document) = parse_xml(&text, &Lines::new(&text)) else { return false };
    let node = document.root_element();
    node.has_tag_name("configuration")
        && node.first_element_child().is_some_and(|child| child.has_tag_name(section))
}
