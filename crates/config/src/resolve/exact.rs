//! Names for which code takes no other spelling of a key.
//!
//! `@Value("${shop.max-size}")` takes `shop.maxSize` of a file, too: the name is in lower case with dashes.
//! `@Value("${shop.maxSize}")` takes only this spelling, and the variable `SHOP_MAXSIZE`. So it is a key of its own
//! where files spell it in another way.
//!
//! The rule is that of `ConfigurationPropertySourcesPropertyResolver`, for names that are no canonical ones.

use std::collections::BTreeSet;

use super::keys::{identity as relaxed_identity, key_of, relaxed_variables};
use crate::asks::ANY;
use crate::profile::{Case, Profile};
use crate::provenance::SourceKind;
use crate::sources::Loaded;

/// The names of code that are no other spelling of what files set.
pub(super) fn exact_keys(profile: &Profile, loaded: &[Loaded]) -> BTreeSet<String> {
    if profile.keys.case != Case::Relaxed {
        return BTreeSet::new();
    }
    let keys = |is_wanted: fn(SourceKind) -> bool| {
        let sources = loaded.iter().filter(move |one| is_wanted(one.source.kind));
        let entries = sources.flat_map(|one| &one.contents.entries);
        entries.map(|entry| key_of(profile, &entry.path))
    };
    let asked = keys(|kind| kind == SourceKind::CodeDefault);
    let mut exact: BTreeSet<String> =
        asked.filter(|key| !key.ends_with(ANY) && !is_canonical(key)).collect();
    if exact.is_empty() {
        return exact;
    }
    let variable = |key: &str| relaxed_variables(key)[0].clone();
    let is_set = |kind| matches!(kind, SourceKind::File | SourceKind::Arguments);
    let spelled: Vec<String> = keys(is_set).collect();
    exact.retain(|name| {
        spelled.iter().any(|key| {
            let same = relaxed_identity(profile, key) == relaxed_identity(profile, name);
            key != name && (same || variable(key) == variable(name))
        })
    });
    exact
}

/// Lower case, with dashes: other spellings are taken for it.
fn is_canonical(key: &str) -> bool {
    key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.[]".contains(c))
}

/// What tells a name apart from all keys with other spellings.
pub(super) fn identity(name: &str) -> String {
    format!("={name}")
}

/// Whether an assignment sets a name: by this spelling, or as the variable of this name.
pub(super) fn sets(name: &str, key: &str, written: &str) -> bool {
    let of_variable = || name.replace(['.', '-'], "_");
    key == name || written == of_variable() || written == of_variable().to_uppercase()
}
