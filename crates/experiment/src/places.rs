//! The places of an experiment: opened when they are needed, removed together.

use std::ffi::OsString;

use culprit_place::{Place, PlaceSpec, Settings};

use crate::error::{Error, Result};

/// Places by their position.
#[derive(Debug)]
pub struct Places {
    specs: Vec<PlaceSpec>,
    settings: Settings,
    open: Vec<Option<Box<dyn Place>>>,
}

impl Places {
    /// None is opened yet. What runs that were killed have left behind is swept first.
    #[must_use]
    pub fn new(specs: Vec<PlaceSpec>, settings: Settings) -> Self {
        // What cannot be removed now does not keep this run from its work; the next one tries again.
        let _later = culprit_place::sweep(&settings);
        let open = specs.iter().map(|_| None).collect();
        Self { specs, settings, open }
    }

    /// The place, ready for commands.
    ///
    /// # Errors
    /// When it cannot be had here.
    pub fn get(&mut self, at: usize) -> Result<&dyn Place> {
        let place = match &mut self.open[at] {
            Some(place) => place,
            none => none.insert(culprit_place::open(&self.specs[at], &self.settings)?),
        };
        Ok(&**place)
    }

    /// The variables with which commands begin in the places that are open, by position.
    #[must_use]
    pub fn environments(&self) -> Vec<(usize, Vec<(OsString, OsString)>)> {
        let open = self.open.iter().enumerate();
        open.filter_map(|(at, place)| Some((at, place.as_ref()?.environment().ok()?))).collect()
    }

    /// Removes everything that was made for them; what could not be, by position.
    #[must_use]
    pub fn remove(self) -> Vec<(usize, Error)> {
        let open = self.open.into_iter().enumerate();
        open.filter_map(|(at, place)| Some((at, place?.remove().err()?.into()))).collect()
    }
}

/// What a place is called in prose, given all places that it is named with: its name without
/// options, where that tells it apart.
#[must_use]
pub fn place_label(all: &[PlaceSpec], at: usize) -> String {
    let bare = |spec: &PlaceSpec| {
        let name = spec.to_string();
        name.split(',').next().unwrap_or(&name).to_owned()
    };
    let own = bare(&all[at]);
    if all.iter().filter(|other| bare(other) == own).count() == 1 {
        own
    } else {
        all[at].to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_called_by_as_little_as_tells_them_apart() {
        let all = ["host", "docker:x,cpus=1", "docker:y,cpus=1", "docker:y,cpus=2"]
            .map(|text| text.parse().unwrap());
        let labels: Vec<String> = (0..4).map(|place| place_label(&all, place)).collect();
        assert_eq!(labels, ["host", "docker:x", "docker:y,cpus=1", "docker:y,cpus=2"]);
    }
}
