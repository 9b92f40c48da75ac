//! Builds the library that samples allocations (`shim/allocations.c`), which the program carries.
//!
//! It is linked without a C library: it runs with that of each program that loads it, glibc or musl.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What compilers are told. `noplt` and `initial-exec` variables make the way through it short; frame pointers
/// and unwind tables let stacks be walked through it.
const FLAGS: [&str; 17] = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-fno-plt",
    "-fno-omit-frame-pointer",
    "-momit-leaf-frame-pointer",
    "-fasynchronous-unwind-tables",
    "-fno-reorder-blocks-and-partition",
    "-Wall",
    "-Wextra",
    "-Wl,--hash-style=both,--build-id,-z,now,-z,noexecstack",
];

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let source = package.join("shim/allocations.c");
    println!("cargo:rerun-if-changed={}", source.display());
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let library = folder.join("libculprit-alloc.so");
    let mut compiler = cc::Build::new().no_default_flags(true).get_compiler().to_command();
    let status = compiler.args(FLAGS).arg("-o").arg(&library).arg(&source).status()?;
    if !status.success() {
        return Err(format!("the C compiler failed on `{}`: {status}", source.display()).into());
    }
    is_free_of_versions(&library)
}

/// A library that needs a symbol's newest version would not load beside an older C library.
fn is_free_of_versions(library: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(library)?;
    if bytes.windows(6).any(|word| word == b"GLIBC_") {
        return Err(format!("`{}` needs symbols of one C library", library.display()).into());
    }
    Ok(())
}
