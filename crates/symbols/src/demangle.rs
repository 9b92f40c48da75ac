//! Linker names to readable ones: Rust (legacy and v0, without hash) and C++ (Itanium).
//!
//! A name is never shortened beyond what its own language calls noise (the Rust hash, v0 crate
//! disambiguators): `{closure#0}`, `{lambda(int)#1}` and clone suffixes stay, because two functions that
//! look the same in a tree but are not are worse than a long name. What cannot be demangled comes back
//! as it was.

use std::borrow::Cow;

/// Longest name that is demangled. Real names stay below some 10 KiB; a hostile one of a megabyte can
/// expand without bound through back references. Longer ones are shown as they are.
const LONGEST_MANGLED: usize = 64 * 1024;

/// Longest readable name; see [`LONGEST_MANGLED`] for why there is a limit at all.
const LONGEST_READABLE: usize = 256 * 1024;

/// The readable form of a linker name; the name itself when it is not mangled or cannot be read.
///
/// ```
/// use culprit_symbols::demangle;
/// assert_eq!(demangle("_ZN4core3fmt5Write9write_str17h0123456789abcdefE"), "core::fmt::Write::write_str");
/// assert_eq!(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int, std::allocator<int> >::push_back(int const&)");
/// assert_eq!(demangle("main"), "main");
/// ```
pub fn demangle(name: &str) -> Cow<'_, str> {
    if name.len() > LONGEST_MANGLED {
        return Cow::Borrowed(name);
    }
    rust(name).or_else(|| cpp(name)).map_or(Cow::Borrowed(name), Cow::Owned)
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    write_bounded(format_args!("{demangled:#}"))
}

fn cpp(name: &str) -> Option<String> {
    // `_Z` is the ABI's prefix; `__Z` and `___Z` are its spellings where the linker adds underscores.
    if !name.trim_start_matches('_').starts_with('Z') || !name.starts_with('_') {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    let mut out = Bounded(String::new());
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(out.0)
}

fn write_bounded(args: std::fmt::Arguments<'_>) -> Option<String> {
    let mut out = Bounded(String::new());
    std::fmt::write(&mut out, args).ok()?;
    Some(out.0)
}

/// A string that refuses to grow past [`LONGEST_READABLE`].
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > LONGEST_READABLE {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_each_language() {
        let cases = [
            // Rust, legacy: hash gone, generic arguments and closures kept.
            ("_ZN3foo3bar17h05af221e174051e9E", "foo::bar"),
            (
                "_ZN3foo3bar28_$u7b$$u7b$closure$u7d$$u7d$17h05af221e174051e9E",
                "foo::bar::{{closure}}",
            ),
            (
                "_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h05af221e174051e9E",
                "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
            ),
            ("_ZN3foo3bar17h05af221e174051e9E.llvm.1234567890", "foo::bar"),
            // Rust, v0: crate disambiguator gone.
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RNCNvCs4fqI2P2rA04_4main4main0B3_", "main::main::{closure#0}"),
            // C++: templates, operators, lambdas, constructors, clones.
            ("_ZN9wikipedia7article6formatEv", "wikipedia::article::format()"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                "std::vector<int, std::allocator<int> >::push_back(int&&)",
            ),
            ("_ZN1AlsERKS_", "A::operator<<(A const&)"),
            ("_ZN1AcviEv", "A::operator int()"),
            ("_ZN3FooC1Ei", "Foo::Foo(int)"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"),
            ("_Z3addi.part.0", "add(int) [clone .part.0]"),
            // C and assembler: untouched.
            ("main", "main"),
            ("__libc_start_main", "__libc_start_main"),
            ("work.constprop.0", "work.constprop.0"),
            ("_Zinvalid$$", "_Zinvalid$$"),
            ("", ""),
        ];
        for (mangled, readable) in cases {
            assert_eq!(demangle(mangled), readable, "{mangled}");
        }
    }

    #[test]
    fn a_bomb_of_back_references_stays_small() {
        // Each S_ doubles the text of the one before.
        let mut name = "_Z1fIiE".to_owned();
        name.push_str(&"St4pairIS_S_E".repeat(4000));
        assert!(demangle(&name).len() <= LONGEST_READABLE);
        let long = "_ZN".repeat(LONGEST_MANGLED);
        assert_eq!(demangle(&long), long);
    }
}
