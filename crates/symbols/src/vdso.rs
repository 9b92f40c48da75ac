//! The vDSO: the small library that the kernel maps into every process and that no file holds.
//!
//! `clock_gettime` and `getcpu` run in it, so it is on stacks, and without its unwind rows the walk from
//! there is a guess. All processes of one kernel (and one word size) share its code, so our own copy
//! stands for everybody's. It is read through `/proc/self/mem`, which needs no unsafe code.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::{Error, ModuleImage};

/// Module name of the vDSO, as the kernel's map lists it.
pub const VDSO_NAME: &str = "[vdso]";

/// The vDSO has two pages (four on arm64); more than this is some other mapping.
const LARGEST_VDSO: u64 = 1 << 20;

/// The image of this process's vDSO. Its file offsets are distances from the start of the mapping.
///
/// # Errors
/// [`Error::NoVdso`] when the kernel gave us none, [`Error::Read`] when `/proc` is missing,
/// [`Error::Malformed`] when what is mapped is no ELF image.
pub fn vdso_image() -> Result<ModuleImage, Error> {
    let failed = |path: &str, offset| {
        let path = path.to_owned();
        move |source| Error::Read { path, offset, source }
    };
    let maps = fs::read_to_string("/proc/self/maps").map_err(failed("/proc/self/maps", 0))?;
    let range = mapping(&maps).ok_or(Error::NoVdso)?;
    let size = usize::try_from(range.end - range.start).map_err(|_| Error::NoVdso)?;
    let mut bytes = vec![0; size];
    let memory = File::open("/proc/self/mem").map_err(failed("/proc/self/mem", 0))?;
    memory.read_exact_at(&mut bytes, range.start).map_err(failed("/proc/self/mem", range.start))?;
    ModuleImage::from_bytes(&bytes, VDSO_NAME)
}

/// Address range of the `[vdso]` line.
fn mapping(maps: &str) -> Option<Range<u64>> {
    let line = maps.lines().find(|line| line.ends_with(VDSO_NAME))?;
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    (start < end && end - start <= LARGEST_VDSO).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_is_found() {
        let maps = "7ffc1000-7ffc2000 r--p 00000000 00:00 0    [vvar]\n\
                    7ffc2000-7ffc4000 r-xp 00000000 00:00 0    [vdso]\n";
        assert_eq!(mapping(maps), Some(0x7ffc_2000..0x7ffc_4000));
        assert_eq!(mapping("0-ffffffffffffffff r-xp 0 0:0 0 [vdso]"), None);
        assert_eq!(mapping(""), None);
    }

    #[test]
    fn our_own_vdso_has_names_and_unwind_rows() {
        let image = match vdso_image() {
            Ok(image) => image,
            Err(Error::NoVdso) => {
                println!(
                    "skipped: our_own_vdso_has_names_and_unwind_rows: this machine maps no vDSO"
                );
                return;
            }
            Err(error) => panic!("{error}"),
        };
        assert!(
            image.has_symbols() && image.has_unwind_information() && image.build_id().is_some()
        );
    }
}
