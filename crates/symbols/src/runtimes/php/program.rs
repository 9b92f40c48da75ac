//! The interpreter in a program or library file: where its state is, and which release it is.

use std::fs::File;

use crate::image::{Elf, Source, find_data};
use crate::{Error, Svma};

/// A program or library that has a PHP interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhpProgram {
    /// Address of `executor_globals` in the module; none for builds with thread safety (ZTS).
    pub executor: Option<Svma>,
    /// Major and minor number of the release, where the file says it.
    pub version: Option<(u8, u8)>,
}

/// The PHP interpreter in a file (`php`, `php-fpm8.2`, `libphp8.2.so`); `None` where there is none.
/// Linear in the file's symbols and constants; nothing is kept.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn find_php(file: File, path: &str) -> Result<Option<PhpProgram>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    if !elf.wide {
        return Ok(None);
    }
    let mut symbols = find_data(&elf, &source, &["executor_globals", "executor_globals_offset"]);
    let by_thread = symbols.pop().flatten();
    let executor = symbols.pop().flatten();
    if executor.or(by_thread).is_none() {
        return Ok(None);
    }
    let constants = elf.bytes_of(&source, ".rodata").unwrap_or_default();
    let executor = executor.filter(|_| by_thread.is_none()).map(Svma);
    Ok(Some(PhpProgram { executor, version: stated_version(&constants) }))
}

/// What PHP's web servers send with each answer says the release: `X-Powered-By: PHP/8.2.20`.
fn stated_version(constants: &[u8]) -> Option<(u8, u8)> {
    const HEADER: &[u8] = b"X-Powered-By: PHP/";
    let start = constants.windows(HEADER.len()).position(|window| window == HEADER)?;
    let mut parts = constants.get(start + HEADER.len()..)?.splitn(3, |byte| *byte == b'.');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_the_release() {
        assert_eq!(stated_version(b"abc\0X-Powered-By: PHP/8.2.20\0x"), Some((8, 2)));
        assert_eq!(stated_version(b"X-Powered-By: PHP/7.4.0-dev\0"), Some((7, 4)));
        for text in [&b"X-Powered-By: PHP/"[..], b"X-Powered-By: PHP/x.1", b"PHP/8.2.1", b""] {
            assert_eq!(stated_version(text), None);
        }
    }

    #[test]
    fn other_programs_have_no_interpreter() {
        let own = std::env::current_exe().and_then(File::open).expect("it runs");
        assert_eq!(find_php(own, "own").expect("an ELF file"), None);
        assert!(find_php(tempfile::tempfile().expect("room"), "empty").is_err());
    }
}
