//! The strings of an exec, laid out before the fork because the child may not allocate.
//!
//! A program named without a slash is looked up in `PATH` as `execvp(3)` does, but by the child
//! itself: only the child stands in the place's file system. Every candidate path is prepared here
//! and the child tries one after the other.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::command::Command;
use crate::error::{Error, Result};

/// Where programs are looked for when the environment has no `PATH`: confstr(_CS_PATH), with the
/// folders of locally installed programs before it.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// What a child executes.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program as it was given, for messages.
    pub(crate) name: String,
    /// The files to try, in order; never empty.
    pub(super) candidates: Vec<CString>,
    pub(super) argv: Strings,
    pub(super) envp: Strings,
    pub(super) dir: Option<CString>,
}

/// Strings with the pointer list that execve wants: one pointer each, then null.
#[derive(Debug)]
pub(super) struct Strings {
    pointers: Vec<*const c_char>,
    /// Owns what the pointers point to; CString keeps its bytes on the heap, so they stay put.
    _strings: Vec<CString>,
}

// SAFETY: the pointers are to strings that the value itself owns.
unsafe impl Send for Strings {}
// SAFETY: nobody changes the strings or the pointers.
unsafe impl Sync for Strings {}

impl Strings {
    fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Self { pointers, _strings: strings }
    }

    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

impl Program {
    /// Lays out `command` with `base` as the environment that its additions go on top of.
    pub(crate) fn new(
        command: &Command,
        base: impl IntoIterator<Item = (OsString, OsString)>,
        dir: Option<&Path>,
    ) -> Result<Self> {
        let first = command.argv.first().filter(|a| !a.is_empty()).ok_or(Error::NoCommand)?;
        let mut env: Vec<(OsString, OsString)> = base.into_iter().collect();
        for (key, value) in &command.env {
            env.retain(|(k, _)| k != key);
            env.push((key.clone(), value.clone()));
        }
        let path =
            env.iter().find(|(k, _)| k == "PATH").map_or(DEFAULT_PATH, |(_, v)| v.as_bytes());
        let argv = command.argv.iter().map(|a| c_string(a.as_bytes(), "an argument"));
        let envp = env.iter().map(|(k, v)| {
            c_string(&[k.as_bytes(), b"=", v.as_bytes()].concat(), "an environment variable")
        });
        Ok(Self {
            name: command.program(),
            candidates: candidates(first, path)?,
            argv: Strings::new(argv.collect::<Result<_>>()?),
            envp: Strings::new(envp.collect::<Result<_>>()?),
            dir: dir
                .map(|d| c_string(d.as_os_str().as_bytes(), "the working directory"))
                .transpose()?,
        })
    }
}

pub(super) fn c_string(bytes: &[u8], what: &'static str) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::Nul { what })
}

/// The files that `name` may mean. An empty part of `PATH` is the working directory (`execvp(3)`).
fn candidates(name: &OsStr, path: &[u8]) -> Result<Vec<CString>> {
    if name.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(name.as_bytes(), "the program's path")?]);
    }
    let in_folder = |folder: &[u8]| {
        let folder = if folder.is_empty() { b"." } else { folder };
        let file = Path::new(&OsString::from_vec(folder.to_vec())).join(name);
        c_string(file.as_os_str().as_bytes(), "the program's path")
    };
    path.split(|b| *b == b':').map(in_folder).collect()
}

#[cfg(test)]
mod tests {
    use super::candidates;
    use std::ffi::OsStr;

    fn check(name: &str, path: &str, expected: &[&str]) {
        let found = candidates(OsStr::new(name), path.as_bytes()).unwrap();
        let found: Vec<_> = found.iter().map(|c| c.to_str().unwrap()).collect();
        assert_eq!(found, expected, "{name} in {path}");
    }

    #[test]
    fn a_bare_name_is_looked_up_in_every_folder_of_path() {
        check("ls", "/usr/bin:/bin", &["/usr/bin/ls", "/bin/ls"]);
        check("ls", ":/bin", &["./ls", "/bin/ls"]);
    }

    #[test]
    fn a_name_with_a_slash_is_a_path() {
        check("./ls", "/usr/bin:/bin", &["./ls"]);
        check("/bin/ls", "", &["/bin/ls"]);
    }
}
