//! `container-layer-io`: the same work with files costs more in the container's layer than in a volume
//! of the same container.
//!
//! Told by probes that work with files in both; in a sandbox the host's folder stands for the volume,
//! for nothing but the overlay differs there.

use culprit_model::Finding;

use super::measured::{Measured, MeasuredArm, PlaceKind};
use super::storage_finding;
use crate::rule::{Group, RuleDoc, Specificity};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "container-layer-io",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Work with files costs more in the container's writable layer than in a volume.",
    signature: "`culprit bench files` or `culprit bench disk` does the same work in the layer and \
                in a volume, in the same rounds. The work costs more in the layer. For a sandbox, \
                a folder of the host stands for the volume.",
    not_reported: &["a probe that works on one file in all rounds"],
    why: "The layer is an overlay. Each operation on a name works on two inodes, switches \
          credentials and searches each layer below. Data of an open file costs about the same as \
          in a volume, so programs with many small files lose the most.",
    fix: &[
        "Put folders with many changing files (caches, build trees, `node_modules`, databases) \
         into a volume: `docker run -v NAME:/FOLDER`.",
        "Put temporary files into memory: `docker run --tmpfs /FOLDER`.",
    ],
    check: "culprit bench files --place docker:IMAGE --at layer --at volume; the difference \
            between the two arms is what an operation saves in a volume",
    thresholds: &[],
};

/// Probes whose work differs between layer and volume in nothing but the storage.
const PROBES: [&str; 2] = ["files", "disk"];
pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    // Where one file stays for all rounds, where it happens to lie makes a difference of its own.
    if !PROBES.contains(&measured.probe) || !measured.fresh_files {
        return Vec::new();
    }
    let layers = measured.candidates().filter(|arm| arm.location == "layer");
    layers.filter_map(|arm| told(measured, arm)).collect()
}

fn volume_of<'m, 'a>(
    measured: &'m Measured<'a>,
    layer: &MeasuredArm<'a>,
) -> Option<&'m MeasuredArm<'a>> {
    if layer.kind == PlaceKind::Sandbox {
        return measured.arms.first().filter(|first| first.kind == PlaceKind::Host);
    }
    measured.candidates().find(|arm| arm.place == layer.place && arm.location == "volume")
}

fn told(measured: &Measured<'_>, layer: &MeasuredArm<'_>) -> Option<Finding> {
    let volume = volume_of(measured, layer)?;
    let title = format!("Work with files costs more in {} than in {}", layer.label, volume.label);
    storage_finding(&DOC, &title, measured, [volume, layer])
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(layer: f64, probe: &str) -> Vec<String> {
        let arms = [
            Arm::host(&[("create_cpu_ns", 20e3)]),
            Arm::engine(&[("create_cpu_ns", layer)]).at("layer"),
            Arm::engine(&[("create_cpu_ns", 20e3)]).at("volume"),
        ];
        measured(probe, &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn a_layer_that_costs_more_than_a_volume_is_told_with_the_ratio() {
        let told = of(30e3, "files");
        assert!(told[0].contains("create_cpu_ns x 1.49 (1.49 to 1.51)"), "{told:?}");
    }

    #[test]
    fn equal_storage_and_other_work_are_no_finding() {
        assert!(of(20.2e3, "files").is_empty());
        assert!(of(30e3, "copy-up").is_empty());
    }
}
