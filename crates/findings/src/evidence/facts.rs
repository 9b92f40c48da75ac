//! Facts about the place: name and value as the recorder noted them.

use culprit_model::Recording;

/// File systems that a program which must know whether every change reaches it treats as remote or
/// unknown, so that it polls: name in mount tables, magic of statfs. Source: coreutils src/stat.c
/// and src/tail.c (overlayfs "remote" since 8.25), linux/magic.h.
const DISTRUSTED: [(&str, &str); 9] = [
    ("overlay", "0x794c7630"),
    ("fuse", "0x65735546"),
    ("nfs", "0x6969"),
    ("smb", "0xff534d42"),
    ("cifs", "0xff534d42"),
    ("smb2", "0xfe534d42"),
    ("ceph", "0xc36400"),
    ("vboxsf", "0x786f4256"),
    ("virtiofs", "0x65735546"),
];

/// A file system on which programs that follow files choose polling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Distrusted {
    /// Its type as the recorder named it.
    pub(crate) kind: String,
    /// Its magic number in statfs.
    pub(crate) magic: &'static str,
    /// What of the place lies on it: `root` or `work`.
    pub(crate) part: &'static str,
}

/// The file system of the working folder, else of the root, if it is one of those.
pub(crate) fn distrusted(recording: &Recording) -> Option<Distrusted> {
    ["work", "root"].into_iter().find_map(|part| {
        recording.meta.place_facts.iter().find_map(|(name, value)| {
            let (kind, magic) = name.starts_with(part).then(|| known(value)).flatten()?;
            Some(Distrusted { kind: kind.to_owned(), magic, part })
        })
    })
}

/// The row that a fact's text names, by type or by magic.
fn known(value: &str) -> Option<(&'static str, &'static str)> {
    let words = || value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    DISTRUSTED.into_iter().find(|(kind, magic)| {
        words().any(|w| {
            w == *kind || w.strip_suffix("fs") == Some(*kind) || w.eq_ignore_ascii_case(magic)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_is_known_by_name_and_by_number_and_a_disk_is_trusted() {
        let of = |value: &str| {
            let mut recording = Recording::default();
            recording.meta.place_facts =
                vec![("kernel".into(), "overlay".into()), ("work.fs".into(), value.into())];
            distrusted(&recording).map(|d| d.kind)
        };
        assert_eq!(of("overlay on /"), Some("overlay".into()));
        assert_eq!(of("overlayfs"), Some("overlay".into()));
        assert_eq!(of("0x794C7630"), Some("overlay".into()));
        assert_eq!(of("ext4 on /"), None);
        assert_eq!(of("tmpfs"), None);
    }
}
