//! Kernel function names without what compilers append.
//!
//! The kernel's symbol table says `__mutex_lock.constprop.0` where the source says `__mutex_lock`:
//! GCC appends the name of the pass that cloned, split or outlined a function (`.constprop`,
//! `.isra`, `.part`, `.cold`), LLVM `.llvm.HASH`. No C identifier holds a dot, so everything from
//! the first dot on is such a suffix. Source: GCC `cgraphclones.cc`, LLVM ThinLTO promotion.

/// The name as the source has it.
///
/// ```
/// assert_eq!(culprit_engine::causes::source_name("__mutex_lock.constprop.0"), "__mutex_lock");
/// assert_eq!(culprit_engine::causes::source_name("do_wait"), "do_wait");
/// ```
#[must_use]
pub fn source_name(symbol: &str) -> &str {
    match symbol.find('.') {
        Some(dot) if dot > 0 => &symbol[..dot],
        _ => symbol,
    }
}
