//! `emulated-arch`: an image is for other processors than the machine has.

use culprit_model::{Finding, Severity};

use super::finding;
use super::image::ImageStored;
use crate::rule::{Group, RuleDoc, Specificity};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "emulated-arch",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The image is for other processors than this machine has, so its programs are emulated \
            or do not start.",
    signature: "`culprit doctor --place docker:IMAGE` reads the architecture in the image's \
                configuration, and it is not the machine's own. An `arm` image on an arm64 machine \
                is reported with confidence 0.5: only some of these processors execute 32-bit \
                programs.",
    not_reported: &[
        "a `386` image on an amd64 machine, which executes it",
        "an image whose configuration names no architecture",
    ],
    why: "An emulator (QEMU user mode through binfmt_misc, Rosetta) translates each instruction \
          and each system call of the program. Work on a CPU takes several times as long. Without \
          an emulator the kernel refuses to start the program (`exec format error`).",
    fix: &[
        "Pull the image for this machine: `docker pull --platform linux/ARCH IMAGE`.",
        "Build the image for both architectures: `docker buildx build --platform \
         linux/amd64,linux/arm64`.",
        "If no such image exists, run it on a machine of its architecture, and compare times only \
         there.",
    ],
    check: "culprit doctor --no-probes --place docker:IMAGE; this finding must be gone",
    thresholds: &[],
};

/// An image's architecture, and a machine's whose processors all execute it.
const EXECUTED: (&str, &str) = ("386", "amd64");

/// The same where some do.
const MAY_BE_EXECUTED: (&str, &str) = ("arm", "arm64");

pub(super) fn find(image: &ImageStored, machine: &str) -> Option<Finding> {
    let architecture = image.architecture.as_deref().filter(|name| !name.is_empty())?;
    if architecture == machine || EXECUTED == (architecture, machine) {
        return None;
    }
    let confidence = if MAY_BE_EXECUTED == (architecture, machine) { 0.5 } else { 1.0 };
    let title = format!(
        "The image `{}` is for {architecture}, this machine is {machine}: its programs are \
         emulated or do not start",
        image.name
    );
    Some(finding(&DOC, title, Severity::High, confidence, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::super::image::find_image;
    use super::*;

    fn image(architecture: Option<&str>) -> ImageStored {
        ImageStored {
            name: "i:1".to_owned(),
            architecture: architecture.map(str::to_owned),
            bytes: 1,
            layers: Vec::new(),
            vain_bytes: 0,
            copied_bytes: 0,
            waste_files: 0,
            waste: Vec::new(),
        }
    }

    #[test]
    fn an_image_for_other_processors_is_told() {
        let found = find_image(&image(Some("arm64")), "amd64");
        assert_eq!((found.len(), found[0].id), (1, "emulated-arch"));
        assert!(found[0].title.contains("for arm64, this machine is amd64"), "{}", found[0].title);
        assert_eq!(find_image(&image(Some("amd64")), "arm64").len(), 1);
        assert_eq!(find_image(&image(Some("riscv64")), "amd64").len(), 1);
        assert!(find_image(&image(Some("arm")), "arm64")[0].confidence < 0.6);
    }

    #[test]
    fn what_the_processors_execute_is_not() {
        for (image_is, machine) in
            [(Some("amd64"), "amd64"), (Some("386"), "amd64"), (Some("arm"), "arm")]
        {
            assert!(find_image(&image(image_is), machine).is_empty(), "{image_is:?} on {machine}");
        }
        assert!(find_image(&image(None), "amd64").is_empty());
        assert!(find_image(&image(Some("")), "amd64").is_empty());
    }
}
