//! Which profiles fit a folder.

use std::path::Path;

use super::{Request, Root};
use crate::profile::{Dialect, Profile};
use crate::{compose, kubernetes, needs};

/// Whether a folder looks as if a profile were meant for it.
#[must_use]
pub fn detects(profile: &Profile, root: &Path) -> bool {
    fits(profile, &Root::new(root))
}

/// Folders below a root, each with a profile that fits it: at most eight, those that are nearest first. Not
/// looked into: hidden folders, and those below one that fits.
#[must_use]
pub fn fitting_below(profiles: &[Profile], root: &Path) -> Vec<(String, String)> {
    /// Deeper or wider trees are no solution of a few projects.
    const MOST_FOLDERS: usize = 400;
    const MOST_FOUND: usize = 8;
    let own = Root::new(root);
    let (mut found, mut open, mut at) = (Vec::new(), vec![String::new()], 0);
    while at < open.len() && at < MOST_FOLDERS && found.len() < MOST_FOUND {
        let (_, folders) = own.entries(&open[at]);
        at += 1;
        for folder in folders {
            let name = folder.rsplit('/').next().unwrap_or_default();
            if name.starts_with('.') || name == "node_modules" {
                continue;
            }
            let below = Root::new(&root.join(&folder));
            match profiles.iter().find(|profile| fits(profile, &below)) {
                Some(profile) => found.push((folder, profile.name.clone())),
                None => open.push(folder),
            }
        }
    }
    found.truncate(MOST_FOUND);
    found
}

/// Whether the folder of a request looks as if a profile were meant for it, wherever its files are.
#[must_use]
pub fn detects_in(profile: &Profile, request: &Request) -> bool {
    let root = Root::from_request(request);
    let is_compose = profile.dialect == Dialect::Compose;
    fits(profile, &root) || is_compose && compose::is_named_by_variable(&root, request)
}

/// Whether a profile is meant for the folder of a request where no other one fits.
#[must_use]
pub fn falls_back_in(profile: &Profile, request: &Request) -> bool {
    fits_by(profile, &profile.fallback, &Root::from_request(request))
}

fn fits(profile: &Profile, root: &Root) -> bool {
    if profile.dialect == Dialect::Kubernetes {
        return kubernetes::has_objects(root);
    }
    fits_by(profile, &profile.detect, root)
}

/// Whether a folder has the files of one of the patterns.
fn fits_by(profile: &Profile, detect: &[String], root: &Root) -> bool {
    let all = |patterns: &String| patterns.split('+').all(|pattern| root.has(pattern));
    let has_text = |patterns: &String| {
        let Some(text) = &profile.detect_text else { return true };
        let files = patterns.split('+').flat_map(|pattern| root.matching(pattern));
        let bytes = files.filter_map(|file| root.read(Path::new(&file)).bytes);
        bytes.into_iter().any(|bytes| String::from_utf8_lossy(&bytes).contains(text.as_str()))
    };
    let is_other = |patterns: &String| {
        let files = patterns.split('+').flat_map(|pattern| root.matching(pattern));
        let bytes = files.filter_map(|file| root.read(Path::new(&file)).bytes);
        let texts: Vec<String> =
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
        let mut others = profile.unless_text.iter();
        others.any(|other| texts.iter().any(|text| text.contains(other.as_str())))
    };
    let is_other = |patterns: &String| !profile.unless_text.is_empty() && is_other(patterns);
    // Who uses both has both.
    let mut needs = profile.layers.iter().filter_map(|layer| layer.needs.as_ref());
    let is_other = detect.iter().any(is_other) && !needs.any(|needs| needs::is_named(needs, root));
    !profile.unless.iter().any(all)
        && !is_other
        && detect.iter().any(|patterns| all(patterns) && has_text(patterns))
}
