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
    claim: "Layers of the image store files that a later layer deletes, replaces or stores again.",
    signature: "`culprit doctor --place docker:IMAGE`: the files of each layer by path and content, laid \
                over each other in order; what a later layer hides is charged to the layer that stores it.",
    why: "A layer is never changed once it is made: a later instruction that removes, overwrites or only \
          changes the owner or mode of a file adds a layer that hides the file below it. Each copy of the \
          image stores, sends and unpacks both.",
    fix: "Remove what an instruction leaves behind in the same instruction; give owner and mode with COPY \
          (`--chown`, `--chmod`) instead of changing them afterwards; build in one stage and copy the \
          result into the next; keep what the image does not need out of the build by `.dockerignore`.",
    check: "culprit doctor --no-probes --place docker:IMAGE",
    thresholds: &[VAIN_SHARE, VAIN_BYTES],
};

const VAIN_SHARE: Threshold = Threshold {
    what: "share of the image that is stored in vain",
    value: 0.1,
    unit: "share",
    reason: "some of it cannot be helped: package databases and caches change with every instruction \
             that installs something",
    source: "dive (wagoodman/dive), whose check of images fails below an efficiency of 0.9",
};

const VAIN_BYTES: Threshold = Threshold {
    what: "bytes that are stored in vain",
    value: 1_048_576.0,
    unit: "bytes",
    reason: "less than what a transfer of an image takes in any case, and no saving that anybody sees",
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
        "{:.0} % of the image `{}` is stored in vain: {:.1} of {:.1} MB are hidden by later layers",
        share * 100.0,
        image.name,
        vain / 1e6,
        image.bytes as f64 / 1e6
    );
    let mut facts = vec![
        fact("bytes that later layers hide", vain, "bytes"),
        fact("bytes of all layers", image.bytes as f64, "bytes"),
        fact("bytes that are there twice under other names", image.copied_bytes as f64, "bytes"),
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
