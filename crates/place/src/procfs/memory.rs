//! A process's memory.

use std::fs::File;

use culprit_model::Pid;

use super::gone;
use crate::error::Result;

/// The memory of a process, for reading at its addresses (`/proc/PID/mem`). After the process has executed
/// another program, or has ended, reading gives no bytes.
///
/// # Errors
/// [`Error::NoProcess`](crate::Error::NoProcess) when it has ended; [`Error::File`](crate::Error::File)
/// where tracing it is not allowed.
pub fn memory(pid: Pid) -> Result<File> {
    let path = format!("/proc/{pid}/mem");
    File::open(&path).map_err(|error| gone(pid, path, error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::{Pid, memory};

    #[test]
    fn our_own_memory_is_what_is_in_it() {
        let word = std::hint::black_box(0x1234_5678_9abc_def0_u64);
        let file = memory(Pid(std::process::id())).unwrap();
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, (&raw const word).addr() as u64).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), word);
        assert!(file.read_exact_at(&mut bytes, 0).is_err());
    }
}
