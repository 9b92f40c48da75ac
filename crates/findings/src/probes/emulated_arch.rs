//! `emulated-arch`: an image is for other processors than the machine has.

use culprit_model::{Finding, Severity};

use super::finding;
use super::image::ImageStored;
use crate::rule::{Group, RuleDoc, Specificity};

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "emulated-arch",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    claim: "The image is for other processors than this machine has: its programs are emulated, or do not \
            start.",
    signature: "`culprit doctor --place docker:IMAGE`: the architecture in the image's configuration is \
                not the machine's own, and no 32-bit one that all of its processors execute, too. Some \
                arm64 processors execute 32-bit programs, so there an `arm` image is told with doubt.",
    why: "An emulator (QEMU's user mode by binfmt_misc, Rosetta) translates each instruction of the \
          program before it is executed, and each system call. Work on a CPU takes several times as \
          long; without an emulator the kernel refuses to start the program (`exec format error`).",
    fix: "Pull or build the image for this machine: `docker pull --platform linux/ARCH IMAGE`, `docker \
          buildx build --platform linux/amd64,linux/arm64`. Where there is none, run it on a machine of \
          its kind, and compare times only there.",
    check: "culprit doctor --no-probes --place docker:IMAGE",
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
        "the image `{}` is for {architecture}, this machine is {machine}: its programs are emulated, or \
         do not start",
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
