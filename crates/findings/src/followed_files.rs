//! What to say where a program follows files on a file system on which such programs poll.

use crate::evidence::{Evidence, distrusted};

/// Reason and fix to add on a file system on which programs that follow files poll.
pub(crate) fn reason_and_fix(evidence: &Evidence<'_>) -> (String, String) {
    let Some(fs) = distrusted(evidence.recording) else { return (String::new(), String::new()) };
    let why = format!(
        "The {} folder of this place lies on {} (statfs type {}). A program that follows files \
         asks statfs, and polls on file systems that it knows as remote or does not know. GNU \
         coreutils has called overlayfs remote since 8.25, although the kernel notifies on it. So \
         the reader chose to poll; the file system did not force it.",
        fs.part, fs.kind, fs.magic
    );
    let fix = format!(
        "For a followed file on {}: read a FIFO with `cat` instead, or put the file on a volume or \
         tmpfs, where the same program is notified.",
        fs.kind
    );
    (why, fix)
}
