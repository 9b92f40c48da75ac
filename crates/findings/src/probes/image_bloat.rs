//! `image-bloat`: an image carries files that nobody can see.
//!
//! Told by the image itself: its layers, read in order. What a layer deletes or replaces stays in the
//! layer below it, and is stored, sent and unpacked with every copy of the image.

use culprit_model::{Finding, Severity};

use super::finding;
use super::image::{ImageStored, WasteKind};
use crate::rule::{Group, RuleDoc, Specificity, Threshold, fact};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "image-bloat",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Layers of the image store files that a later layer deletes, replaces or stores again.",
    signature: "`culprit doctor --place docker:IMAGE` reads path and content of each layer's \
                files, and lays the layers over each other. Bytes that a later layer hides are \
                charged to the layer that stores them.",
    not_reported: &["copies of a file under another name, which are evidence only"],
    why: "A finished layer never changes. An instruction that removes or overwrites a file, or \
          changes its owner or mode, adds a layer that hides the file below. Each copy of the \
          image stores, sends and unpacks both files.",
    fix: &[
        "Remove temporary files in the same `RUN` instruction that makes them.",
        "Set owner and mode while copying (`COPY --chown=USER --chmod=MODE`), not by a later `RUN \
         chown`.",
        "Build in one stage and copy only the result into the next: `COPY --from=STAGE`.",
        "List files that the image does not need in `.dockerignore`.",
    ],
    check: "culprit doctor --no-probes --place docker:IMAGE; this finding must be gone",
    thresholds: &[VAIN_SHARE, VAIN_BYTES],
};

const VAIN_SHARE: Threshold = Threshold {
    what: "share of the image's bytes that later layers hide",
    value: 0.1,
    unit: "share",
    reason: "Some hidden bytes cannot be avoided: each instruction that installs something also \
             changes package databases and caches.",
    source: "dive (wagoodman/dive): its check of images fails below an efficiency of 0.9",
};

const VAIN_BYTES: Threshold = Threshold {
    what: "bytes that later layers hide",
    value: 1_048_576.0,
    unit: "bytes",
    reason: "A smaller saving cannot be noticed in the time that any transfer of an image takes.",
    source: "a MiB takes 0.1 s at 100 Mbit/s",
};

/// From which share it is of medium severity: a quarter of every transfer is for nothing.
const MUCH: f64 = 0.25;
/// Files that the evidence names.
const NAMED: usize = 5;

pub(super) fn find(image: &ImageStored) -> Option<Finding> {
    let vain = image.vain_bytes as f64;
    let share = if image.bytes == 0 { 0.0 } else { vain / image.bytes as f64 };
    if share < VAIN_SHARE.value || vain < VAIN_BYTES.value {
        return None;
    }
    let severity = if share >= MUCH { Severity::Medium } else { Severity::Low };
    let hidden = || image.waste.iter().filter(|one| one.kind != WasteKind::Copy);
    let layer = |at: usize| match image.layers.get(at).map(|layer| layer.instruction.as_str()) {
        None | Some("") => format!("layer {}", at + 1),
        Some(instruction) => format!("layer {} ({instruction})", at + 1),
    };
    let title = format!(
        "{:.0} % of the image `{}` is hidden by later layers: {:.1} of {:.1} MB",
        share * 100.0,
        image.name,
        vain / 1e6,
        image.bytes as f64 / 1e6
    );
    let mut facts = vec![
        fact("bytes that later layers hide", vain, "bytes"),
        fact("bytes of all layers", image.bytes as f64, "bytes"),
        fact("bytes of copies under another name", image.copied_bytes as f64, "bytes"),
    ];
    facts.extend(hidden().take(NAMED).map(|one| {
        let (by, what) = (layer(one.by), one.kind.word());
        let told = format!("{}, stored by {}, {what} by {by}", one.path, layer(one.stored_by));
        fact(told, one.bytes as f64, "bytes")
    }));
    // A layer that could not be read hides or stores more than is known.
    let unread = image.layers.iter().filter(|layer| layer.problem.is_some()).count();
    let confidence = 1.0 - unread as f64 / (image.layers.len() as f64).max(1.0);
    Some(finding(&DOC, title, severity, confidence, facts))
}

#[cfg(test)]
mod tests {
    use super::super::image::{ImageLayer, ImageWaste};
    use super::*;

    fn image(bytes: u64, vain_bytes: u64) -> ImageStored {
        let layer = |instruction: &str| ImageLayer {
            instruction: instruction.to_owned(),
            bytes: bytes / 2,
            files: 1,
            vain_bytes: 0,
            problem: None,
        };
        let waste = ImageWaste {
            path: "/var/cache/x".to_owned(),
            bytes: vain_bytes,
            kind: WasteKind::Deleted,
            stored_by: 0,
            by: 1,
        };
        ImageStored {
            name: "i:1".to_owned(),
            architecture: None,
            bytes,
            layers: vec![layer("RUN install"), layer("RUN clean")],
            vain_bytes,
            copied_bytes: 0,
            waste_files: 1,
            waste: vec![waste],
        }
    }

    #[test]
    fn what_is_stored_in_vain_is_told_with_both_instructions() {
        let found = find(&image(100_000_000, 40_000_000)).expect("bloated");
        assert_eq!((found.id, found.severity), ("image-bloat", Severity::Medium));
        assert!(found.title.starts_with("40 % of the image `i:1`"), "{}", found.title);
        let told = &found.evidence[3].what;
        assert_eq!(
            told.as_str(),
            "/var/cache/x, stored by layer 1 (RUN install), deleted by layer 2 (RUN clean)"
        );
        assert!((found.confidence - 1.0).abs() < 1e-9);
    }

    #[test]
    fn little_is_no_finding_and_an_unread_layer_costs_confidence() {
        assert!(find(&image(100_000_000, 5_000_000)).is_none());
        assert!(find(&image(1_000_000, 900_000)).is_none());
        assert!(find(&image(0, 0)).is_none());
        let mut unread = image(100_000_000, 40_000_000);
        unread.layers[1].problem = Some("zstd".to_owned());
        assert!(find(&unread).is_some_and(|found| found.confidence < 0.6));
    }
}
