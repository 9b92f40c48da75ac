//! Python: a hook that reports what `os.environ` is asked for, as an archive that Python can load.

use flate2::Crc;

/// The hook's text, with marks for its own path and the path to report to.
const HOOK: &str = include_str!("sitecustomize.py");

/// The archive with the hook, for its own path and the path to report to.
pub(super) fn archive(here: &str, log: &str) -> Vec<u8> {
    stored("sitecustomize.py", HOOK.replace("@HERE@", here).replace("@LOG@", log).as_bytes())
}

/// A zip archive with one file, not compressed (APPNOTE.TXT, 4.3).
fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(content);
    let size = u32::try_from(content.len()).unwrap_or(0);
    let length = u16::try_from(name.len()).unwrap_or(0);
    let mut common = Vec::new();
    // Version, flags, method, and 1980-01-01 as time and date.
    for field in [20_u16, 0, 0, 0, 33] {
        common.extend(field.to_le_bytes());
    }
    for field in [crc.sum(), size, size] {
        common.extend(field.to_le_bytes());
    }
    common.extend(length.to_le_bytes());
    common.extend([0; 2]);
    let mut zip = [&b"PK\x03\x04"[..], common.as_slice(), name.as_bytes(), content].concat();
    let directory = u32::try_from(zip.len()).unwrap_or(0);
    let entry = [&b"PK\x01\x02\x14\x00"[..], common.as_slice(), &[0; 14], name.as_bytes()].concat();
    zip.extend(&entry);
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(u32::try_from(entry.len()).unwrap_or(0).to_le_bytes());
    zip.extend(directory.to_le_bytes());
    zip.extend([0; 2]);
    zip
}
