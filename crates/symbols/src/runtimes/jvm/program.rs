//! The library of a JVM: where it describes its own structures.

use std::fs::File;

use crate::image::{Elf, Source, find_data};
use crate::{Error, Svma};

/// The variables that HotSpot exports for debuggers (`src/hotspot/share/runtime/vmStructs.cpp`).
/// Their places in [`JvmProgram`] are those here.
const VARIABLES: [&str; COUNT] = [
    "gHotSpotVMStructs",
    "gHotSpotVMStructEntryTypeNameOffset",
    "gHotSpotVMStructEntryFieldNameOffset",
    "gHotSpotVMStructEntryIsStaticOffset",
    "gHotSpotVMStructEntryOffsetOffset",
    "gHotSpotVMStructEntryAddressOffset",
    "gHotSpotVMStructEntryArrayStride",
    "gHotSpotVMTypes",
    "gHotSpotVMTypeEntryTypeNameOffset",
    "gHotSpotVMTypeEntrySizeOffset",
    "gHotSpotVMTypeEntryArrayStride",
    "gHotSpotVMIntConstants",
    "gHotSpotVMIntConstantEntryNameOffset",
    "gHotSpotVMIntConstantEntryValueOffset",
    "gHotSpotVMIntConstantEntryArrayStride",
];

pub(super) const COUNT: usize = 15;

/// Where a JVM's library describes the structures of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JvmProgram {
    /// Addresses of the variables in the module.
    pub(super) variables: [Svma; COUNT],
}

/// The JVM in a file; `None` where there is none, or one that does not describe itself.
/// Linear in the file's symbols; nothing is kept.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn find_jvm(file: File, path: &str) -> Result<Option<JvmProgram>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    if !elf.wide {
        return Ok(None);
    }
    let found: Option<Vec<Svma>> =
        find_data(&elf, &source, &VARIABLES).into_iter().map(|address| address.map(Svma)).collect();
    let variables = found.and_then(|found| <[Svma; COUNT]>::try_from(found).ok());
    Ok(variables.map(|variables| JvmProgram { variables }))
}
