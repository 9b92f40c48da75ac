//! Functions that allocate, by name: what they are asked for stands in their arguments.
//!
//! The table holds what C and C++ programs call, and the names under which allocators that replace
//! those of the C library are linked into programs. Everything else (Rust's system allocator, `new`
//! of libstdc++, `strdup`, runtimes) comes to these. An allocator calls its own functions, too:
//! `realloc` of nothing is `malloc`, `new` is `malloc`; such a hit inside another is not counted
//! again (`Handler::allocated`).

use culprit_symbols::FunctionPlace;

use super::{Hit, Moment, Purpose, Site};

/// Which arguments tell how many bytes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllocCall {
    /// One argument is the number of bytes.
    Bytes(u8),
    /// Two arguments multiplied are.
    Product(u8, u8),
}

use AllocCall::{Bytes, Product};

/// Names after which each of the C library's functions may be called in a program of its own.
const PREFIXES: [&str; 7] = ["", "__libc_", "je_", "_rjem_", "tc_", "mi_", "rpmalloc_"];

/// The functions of the C library (malloc(3), posix_memalign(3)).
const FUNCTIONS: [(&str, AllocCall); 8] = [
    ("malloc", Bytes(0)),
    ("calloc", Product(0, 1)),
    ("realloc", Bytes(1)),
    ("memalign", Bytes(1)),
    ("aligned_alloc", Bytes(1)),
    ("posix_memalign", Bytes(2)),
    ("valloc", Bytes(0)),
    ("pvalloc", Bytes(0)),
];

/// `operator new` in the names of the Itanium C++ ABI: plain, array, not throwing, aligned.
const NEW: [&str; 8] = [
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
];

/// What a function of this name is asked for; none for others.
fn call(name: &str) -> Option<AllocCall> {
    if NEW.contains(&name) {
        return Some(Bytes(0));
    }
    PREFIXES.iter().find_map(|prefix| {
        let rest = name.strip_prefix(prefix)?;
        FUNCTIONS.iter().find(|(known, _)| *known == rest).map(|(_, call)| *call)
    })
}

/// Whether a function of this name allocates.
pub(super) fn is_known(name: &str) -> bool {
    call(name).is_some()
}

/// The sites among a file's functions, which are ordered by place. `new` is only probed in a file
/// that allocates by itself: elsewhere it comes to the C library's `malloc`.
pub(super) fn sites(places: Vec<FunctionPlace>) -> Vec<Site> {
    let allocates = places.iter().any(|place| !NEW.contains(&place.name.as_str()));
    let mut sites: Vec<Site> = Vec::new();
    for place in places {
        let Some(call) = call(&place.name).filter(|_| allocates) else { continue };
        if sites.last().is_some_and(|last| last.place.offset == place.offset) {
            continue; // another name of the same code
        }
        let purpose = Purpose::Allocation(call);
        sites.push(Site { place, moment: Moment::Entry, listeners: None, purpose });
    }
    sites
}

impl AllocCall {
    /// The bytes that a hit asks for; none when its arguments were not recorded.
    pub(crate) fn bytes(self, hit: &Hit<'_>) -> Option<u64> {
        match self {
            Bytes(at) => hit.argument(at.into()),
            Product(a, b) => Some(hit.argument(a.into())?.saturating_mul(hit.argument(b.into())?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use culprit_symbols::FileOffset;

    use super::*;

    fn place(name: &str, offset: u64) -> FunctionPlace {
        FunctionPlace { offset: FileOffset(offset), name: name.to_owned(), size: 16 }
    }

    fn names(places: Vec<FunctionPlace>) -> Vec<String> {
        sites(places).into_iter().map(|site| site.place.name).collect()
    }

    #[test]
    fn functions_of_several_allocators_are_known() {
        assert_eq!(call("calloc"), Some(Product(0, 1)));
        assert_eq!(call("__libc_memalign"), Some(Bytes(1)));
        assert_eq!(call("_rjem_posix_memalign"), Some(Bytes(2)));
        assert_eq!(call("_Znwm"), Some(Bytes(0)));
        assert_eq!(call("xmalloc"), None);
        assert_eq!(call("free"), None);
    }

    #[test]
    fn a_function_of_two_names_is_probed_once() {
        assert_eq!(
            names(vec![place("__libc_malloc", 16), place("malloc", 16), place("calloc", 32)]),
            ["__libc_malloc", "calloc"]
        );
    }

    #[test]
    fn new_is_probed_where_it_does_not_come_to_the_c_library() {
        assert_eq!(names(vec![place("_Znwm", 16)]), Vec::<String>::new());
        assert_eq!(names(vec![place("_Znwm", 16), place("tc_malloc", 32)]), ["_Znwm", "tc_malloc"]);
    }
}
