//! `shared-folder-fs`: files lie behind a network or another machine's file system, and that costs.
//!
//! What a desktop engine mounts from the host into its virtual machine is such a file system, too: each
//! operation on a name is a message to a server and back.

use culprit_model::Finding;

use super::measured::{Measured, MeasuredArm};
use super::storage_finding;
use crate::rule::{Group, RuleDoc, Specificity};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "shared-folder-fs",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Files lie on a network or shared-folder file system (NFS, FUSE, 9p, virtiofs), so work \
            with them costs more.",
    signature: "The place's folder lies on a mount of such a type. The same work costs more there \
                than in the first place, in the same rounds.",
    not_reported: &[
        "a probe whose first place has such a file system, too",
        "fuse-overlayfs, which serves the container's own layer",
    ],
    why: "Each lookup of a name, each `open` and each `close` is a message to a server. The server \
          is another process, the host of the virtual machine, or another machine. A local file \
          system answers from memory.",
    fix: &[
        "Keep the files that you work on in a volume inside the machine that works on them.",
        "Copy or synchronise only the files that others need.",
        "Mount the file system with more caching, if your data allows it.",
    ],
    check: "culprit bench files --place host:/LOCAL --place host:/SHARED; the times of the two \
            places must have come closer",
    thresholds: &[],
};

/// Types of the kernel's mount table, and what stands for their families.
const SHARED: [&str; 20] = [
    "9p",
    "virtiofs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "drvfs",
    "grpcfuse",
    "osxfs",
    "fakeowner",
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "glusterfs",
    "lustre",
    "afs",
    "fuse",
    "fuseblk",
];
/// Whether files there are another's: `fuse.sshfs` is of the family `fuse`. A block device that FUSE
/// serves (`fuseblk`) goes through a process all the same.
fn is_shared(file_system: &str) -> bool {
    let family = file_system.split('.').next().unwrap_or_default();
    // An overlay that a process serves is still the container's own layer.
    SHARED.contains(&family) && file_system != "fuse.fuse-overlayfs"
}

/// Probes whose cost is that of the storage, and of nothing else that an arm may differ in.
const PROBES: [&str; 2] = ["files", "disk"];

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let Some(first) = measured.arms.first() else { return Vec::new() };
    if first.storage.is_some_and(is_shared) || !PROBES.contains(&measured.probe) {
        return Vec::new();
    }
    let shared = measured
        .candidates()
        .filter(|arm| arm.variant.is_none() && arm.storage.is_some_and(is_shared));
    shared.filter_map(|arm| told(measured, first, arm)).collect()
}

fn told(
    measured: &Measured<'_>,
    first: &MeasuredArm<'_>,
    arm: &MeasuredArm<'_>,
) -> Option<Finding> {
    let title = format!(
        "Work with files costs more in {} (on {}) than in {}",
        arm.label,
        arm.storage.unwrap_or_default(),
        first.label
    );
    storage_finding(&DOC, &title, measured, [first, arm])
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(storage: &'static str, cost: f64) -> Vec<String> {
        let arms = [
            Arm::host(&[("create_cpu_ns", 20e3)]).on("ext4"),
            Arm::engine(&[("create_cpu_ns", cost)]).at("volume").on(storage),
        ];
        measured("files", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.title).collect()
        })
    }

    #[test]
    fn a_dearer_folder_of_another_machine_is_told_with_its_type() {
        for storage in ["virtiofs", "9p", "fuse.sshfs", "nfs4", "cifs"] {
            let told = of(storage, 90e3);
            assert!(told[0].contains(storage) && told[0].contains("x 4.5"), "{told:?}");
        }
    }

    #[test]
    fn local_storage_and_what_costs_nothing_are_no_finding() {
        assert!(of("ext4", 90e3).is_empty() && of("overlay", 90e3).is_empty());
        assert!(of("fuse.fuse-overlayfs", 90e3).is_empty());
        assert!(of("nfs4", 20.1e3).is_empty());
    }
}
