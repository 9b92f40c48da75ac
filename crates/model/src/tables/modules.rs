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
