//! Files and other places that code came from.

use crate::column::table;
use crate::text::Text;

table! {
    /// A source of code: an executable or library, `[kernel]`, a kernel module, `[vdso]`, generated
    /// code. Ordered by first use.
    Module in "modules" {
        /// Short name: the file's base name, `[kernel]`, `[vdso]`, `[jit]`.
        name: Text,
        /// Path as the process that mapped it sees it; equal to `name` for code that is not a file.
        path: Text,
        /// Build id, lower-case hex; none when the file carries none.
        build_id: Option<Text>,
        /// True when the file has a symbol table or debug information.
        symbols: bool,
        /// True when the file has line information.
        lines: bool,
    }
}

/// Names in brackets that stand for code in user space. All others are the kernel, its modules, and what a
/// call into it is about (`[lock]`, `[file]`).
const USERS: [&str; 7] =
    ["[vdso]", "[vsyscall]", "[uprobes]", "[jit]", "[asyncio]", "[ruby]", "[php]"];

impl Module {
    /// Whether it is the kernel or a module of it.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        is_kernel_module(&self.name) || self.path.ends_with(".ko")
    }
}

/// Whether a module of this short name is the kernel (`[kernel]`) or a module of it (`[overlay]`).
#[must_use]
pub fn is_kernel_module(name: &str) -> bool {
    name.starts_with('[') && !USERS.contains(&name)
}
