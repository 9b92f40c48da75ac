//! Builds the libraries that the program carries: one samples allocations (`shim/allocations.c`), one notes which
//! variables a Java program asks for (`shim/javaenv.c`).
//!
//! They are linked without a C library: they run with that of each program that loads them, glibc or musl.

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

/// Source and library, and what the source includes.
const LIBRARIES: [(&str, &str, Option<&str>); 2] = [
    ("shim/allocations.c", "libculprit-alloc.so", None),
    ("shim/javaenv.c", "libculprit-javaenv.so", Some("shim/culprit/Environment.class")),
];

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for (source, library, included) in LIBRARIES {
        let (source, library) = (package.join(source), folder.join(library));
        println!("cargo:rerun-if-changed={}", source.display());
        let mut compiler = cc::Build::new().no_default_flags(true).get_compiler().to_command();
        if let Some(included) = included.map(|included| package.join(included)) {
            println!("cargo:rerun-if-changed={}", included.display());
            compiler
                .arg("-Wa,-I")
                .arg(format!("-Wa,{}", included.parent().unwrap_or(&package).display()));
        }
        let status = compiler.args(FLAGS).arg("-o").arg(&library).arg(&source).status()?;
        if !status.success() {
            return Err(format!("the C compiler failed on `{}`: {status}", source.display()).into());
        }
        is_free_of_versions(&library)?;
    }
    Ok(())
}

/// A library that needs a symbol's newest version would not load beside an older C library.
fn is_free_of_versions(library: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(library)?;
    if bytes.windows(6).any(|word| word == b"GLIBC_") {
        return Err(format!("`{}` needs symbols of one C library", library.display()).into());
    }
    Ok(())
}
