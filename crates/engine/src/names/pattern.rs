//! Functions' names: kernel functions without what compilers append, and patterns of names.
//!
//! The kernel's symbol table says `__mutex_lock.constprop.0` where the source says `__mutex_lock`:
//! GCC appends the name of the pass that cloned, split or outlined a function (`.constprop`,
//! `.isra`, `.part`, `.cold`), LLVM `.llvm.HASH`. No C identifier holds a dot, so everything from
//! the first dot on is such a suffix. Source: GCC `cgraphclones.cc`, LLVM ThinLTO promotion.

/// The name as the source has it.
///
/// ```
/// assert_eq!(culprit_engine::names::source_name("__mutex_lock.constprop.0"), "__mutex_lock");
/// assert_eq!(culprit_engine::names::source_name("do_wait"), "do_wait");
/// ```
#[must_use]
pub fn source_name(symbol: &str) -> &str {
    match symbol.find('.') {
        Some(dot) if dot > 0 => &symbol[..dot],
        _ => symbol,
    }
}

/// Whether `name` is what `pattern` says; `*` stands for any text, also none.
#[must_use]
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    // Most of the many names that each pattern is held against differ from it in the first letter.
    let begins = pattern.as_bytes().first().copied().filter(|first| *first != b'*');
    if begins.is_some() && begins != name.as_bytes().first().copied() {
        return false;
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(inner) = last.replace(part) {
            match rest.find(inner) {
                Some(at) => rest = &rest[at + inner.len()..],
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_ends_and_insides() {
        assert!(matches("do_fsync", "do_fsync"));
        assert!(!matches("do_fsync", "do_fsync2"));
        assert!(!matches("do_fsync", "") && matches("", "") && matches("*", ""));
        assert!(matches("tcp_*", "tcp_recvmsg"));
        assert!(matches("*_sys_read", "__x64_sys_read"));
        assert!(!matches("*_sys_read", "__x64_sys_readv"));
        assert!(matches(
            "*Mutex*lock_contended*",
            "std::sys::sync::mutex::futex::Mutex::lock_contended"
        ));
        assert!(matches("a*b*a", "aba"));
        assert!(!matches("a*b*a", "ab"));
    }
}
