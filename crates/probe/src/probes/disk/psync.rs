//! `pread` and `pwrite`: a thread waits for each request.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::file::Buffer;
use super::offsets::Requests;
use super::spec::Spec;
use super::window::{Times, Window, one_at_a_time};

/// The load of one thread.
///
/// # Errors
/// The kernel's.
pub(super) fn load(
    file: &File,
    spec: &Spec,
    requests: Requests,
    mut buffer: Buffer,
    times: Times,
) -> std::io::Result<Window> {
    one_at_a_time(spec, requests, times, |request| {
        if request.writes {
            file.write_all_at(buffer.bytes(), request.offset)
        } else {
            file.read_exact_at(buffer.bytes_mut(), request.offset)
        }
    })
}
