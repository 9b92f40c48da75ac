//! The places of a comparison: opened when they are needed, removed together.

use std::ffi::OsString;

use culprit_place::{Place, PlaceSpec};

use crate::failure::Failure;
use crate::places;

/// Places by their position.
#[derive(Debug)]
pub(crate) struct Places {
    specs: Vec<PlaceSpec>,
    open: Vec<Option<Box<dyn Place>>>,
}

impl Places {
    /// None is opened yet. What runs that were killed have left behind is swept first.
    pub(crate) fn new(specs: Vec<PlaceSpec>) -> Self {
        places::sweep();
        let open = specs.iter().map(|_| None).collect();
        Self { specs, open }
    }

    /// The place, ready for commands.
    ///
    /// # Errors
    /// When it cannot be had here.
    pub(crate) fn get(&mut self, at: usize) -> Result<&dyn Place, Failure> {
        let place = match &mut self.open[at] {
            Some(place) => place,
            none => none.insert(places::open(&self.specs[at])?),
        };
        Ok(&**place)
    }

    /// The variables with which commands begin in the places that are open, by position.
    pub(crate) fn environments(&self) -> Vec<(usize, Vec<(OsString, OsString)>)> {
        let open = self.open.iter().enumerate();
        open.filter_map(|(at, place)| Some((at, place.as_ref()?.environment().ok()?))).collect()
    }

    /// Removes everything that was made for them; what could not be, by position.
    pub(crate) fn remove(self) -> Vec<(usize, Failure)> {
        let open = self.open.into_iter().enumerate();
        open.filter_map(|(at, place)| Some((at, place?.remove().err()?)))
            .map(|(at, error)| (at, places::failure(&error)))
            .collect()
    }
}
