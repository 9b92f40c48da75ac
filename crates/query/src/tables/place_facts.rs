//! `place_facts`: what recordings know about the places that they were made in.

use culprit_model::{Meta, Text, table};

table! {
    /// A fact about the place of a recording. In the order in which they were found.
    PlaceFact in "place_facts" {
        /// What it is about.
        name: Text,
        /// What was found.
        value: Text,
    }
}

/// The facts of a recording.
pub(crate) fn facts(meta: &Meta) -> Vec<PlaceFact> {
    let facts = meta.place_facts.iter();
    facts
        .map(|(name, value)| PlaceFact { name: name.as_str().into(), value: value.as_str().into() })
        .collect()
}
