//! Which file a descriptor stands for, as far as the calls tell.

use rustc_hash::FxHashMap;

/// Calls whose first argument is a descriptor of which a path may be known.
const BY_DESCRIPTOR: &[&str] = &[
    "close",
    "copy_file_range",
    "fadvise64",
    "fallocate",
    "fchmod",
    "fchown",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flock",
    "fstat",
    "fstat64",
    "fstatfs",
    "fsync",
    "ftruncate",
    "getdents",
    "getdents64",
    "ioctl",
    "llseek",
    "_llseek",
    "lseek",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readv",
    "sendfile",
    "sync_file_range",
    "write",
    "writev",
    "dup",
    "dup2",
    "dup3",
];

/// Calls that name a file by a path, their first text.
const BY_PATH: &[&str] = &[
    "access",
    "acct",
    "chdir",
    "chmod",
    "chown",
    "chroot",
    "creat",
    "execve",
    "execveat",
    "faccessat",
    "faccessat2",
    "fchmodat",
    "fchownat",
    "getxattr",
    "lchown",
    "lgetxattr",
    "link",
    "linkat",
    "listxattr",
    "lstat",
    "lstat64",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "mount",
    "name_to_handle_at",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "readlink",
    "readlinkat",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "setxattr",
    "stat",
    "stat64",
    "statfs",
    "statx",
    "swapon",
    "symlink",
    "symlinkat",
    "truncate",
    "umount2",
    "unlink",
    "unlinkat",
    "utime",
    "utimensat",
    "utimes",
];

/// The descriptors of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Files(FxHashMap<u32, String>);

impl Files {
    /// The path that a call is about; none where it is about none, or where that is not known.
    pub(super) fn path(&self, name: &str, arguments: &str) -> Option<String> {
        let path = first_text(arguments).filter(|path| !path.is_empty());
        let descriptor = || {
            descriptor(arguments).and_then(|(number, path)| {
                path.map(str::to_owned).or_else(|| self.0.get(&number).cloned())
            })
        };
        if BY_PATH.contains(&name) {
            // `newfstatat(3, "", ...)` is about the descriptor.
            return path.map(str::to_owned).or_else(descriptor);
        }
        if BY_DESCRIPTOR.contains(&name) {
            return descriptor();
        }
        // With -y the descriptors of all other calls have their paths too.
        descriptor_path(arguments).map(str::to_owned)
    }

    /// Takes notice of what a call that succeeded did to the descriptors.
    pub(super) fn note(&mut self, name: &str, arguments: &str, result: &str, path: Option<&str>) {
        let returned = descriptor(result).map(|(number, _)| number);
        match (name, returned, path) {
            (
                "open" | "openat" | "openat2" | "creat" | "dup" | "dup2" | "dup3",
                Some(to),
                Some(path),
            ) => {
                self.0.insert(to, path.to_owned());
            }
            ("fcntl", Some(to), Some(path)) if arguments.contains("F_DUPFD") => {
                self.0.insert(to, path.to_owned());
            }
            ("close", Some(_), _) => {
                if let Some((closed, _)) = descriptor(arguments) {
                    self.0.remove(&closed);
                }
            }
            _ => {}
        }
    }
}

/// The first text in quotes.
fn first_text(arguments: &str) -> Option<&str> {
    let start = arguments.find('"')? + 1;
    let mut escaped = false;
    let end = arguments[start..].find(|letter| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    })?;
    Some(&arguments[start..start + end])
}

/// The descriptor that arguments or results begin with, and its path where `-y` tells it: `3`,
/// `3</etc/passwd>`.
fn descriptor(arguments: &str) -> Option<(u32, Option<&str>)> {
    let digits = arguments.bytes().take_while(u8::is_ascii_digit).count();
    let number = arguments[..digits].parse().ok()?;
    Some((number, descriptor_path(arguments)))
}

fn descriptor_path(arguments: &str) -> Option<&str> {
    let rest = arguments.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == arguments.len() {
        return None;
    }
    Some(rest.strip_prefix('<')?.split_once('>')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_have_the_path_that_they_were_opened_with() {
        let mut files = Files::default();
        let open = r#"AT_FDCWD, "/etc/passwd", O_RDONLY"#;
        let path = files.path("openat", open);
        assert_eq!(path.as_deref(), Some("/etc/passwd"));
        files.note("openat", open, "3", path.as_deref());
        assert_eq!(files.path("read", "3, \"abc\", 12").as_deref(), Some("/etc/passwd"));
        assert_eq!(
            files.path("newfstatat", "3, \"\", {}, AT_EMPTY_PATH").as_deref(),
            Some("/etc/passwd")
        );
        files.note("close", "3", "0", None);
        assert_eq!(files.path("read", "3, \"abc\", 12"), None);
        assert_eq!(files.path("openat", r#"3, "a\"b", 0"#).as_deref(), Some(r#"a\"b"#));
        assert_eq!(files.path("write", "1</dev/null>, \"x\", 1").as_deref(), Some("/dev/null"));
        assert_eq!(files.path("getpid", ""), None);
        assert_eq!(files.path("kill", "1, SIGTERM"), None);
    }
}
