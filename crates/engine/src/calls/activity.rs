//! Activities in views: told apart by their names and the names of those that they are part of.

use culprit_model::{ActivityId, Recording, Text};
use rustc_hash::FxHashMap;

use super::query::Query;

/// The frame above what threads did for activities.
pub(super) const ACTIVITIES: &str = "(Activities)";
/// The frame above what threads did for none.
pub(super) const NO_ACTIVITY: &str = "(Non-Activities)";

/// No path: the thread worked on no activity.
const NONE: u32 = u32::MAX;

/// The names of activities as a prefix tree, and where each activity is in it.
#[derive(Debug, Clone, Default)]
pub(super) struct ActivityPaths {
    /// The path above and the name; a path comes after the one above it.
    paths: Vec<(u32, Text)>,
    /// The path of each activity.
    of: Vec<u32>,
}

impl ActivityPaths {
    pub(super) fn of(recording: &Recording) -> Self {
        let mut made = Self::default();
        let mut known: FxHashMap<(u32, Text), u32> = FxHashMap::default();
        for (at, activity) in recording.activities.iter().enumerate() {
            // Parents come first; what a damaged file says otherwise has none.
            let parent = activity.parent.filter(|parent| parent.index() < at);
            let above = parent.map_or(NONE, |parent| made.of[parent.index()]);
            let paths = &mut made.paths;
            let path = *known.entry((above, activity.name.clone())).or_insert_with(|| {
                paths.push((above, activity.name.clone()));
                u32::try_from(paths.len() - 1).unwrap_or(NONE)
            });
            made.of.push(path);
        }
        made
    }

    /// True when there is any.
    pub(super) fn any(&self) -> bool {
        !self.of.is_empty()
    }

    /// The place of each path in preorder.
    pub(super) fn places(&self) -> Vec<u32> {
        let above: Vec<u32> = self.paths.iter().map(|(above, _)| *above).collect();
        super::trie::places(&above)
    }

    /// The path without what is directly part of something of its own name.
    pub(super) fn outermost_of_name(&self, mut path: u32) -> u32 {
        let entry = |path: u32| self.paths.get(path as usize);
        while let Some((above, name)) = entry(path) {
            if entry(*above).is_none_or(|(_, outer)| outer != name) {
                break;
            }
            path = *above;
        }
        path
    }

    /// The path of an activity.
    pub(super) fn path_of(&self, id: ActivityId) -> u32 {
        self.of.get(id.index()).copied().unwrap_or(NONE)
    }

    /// The path above one and its frame; none for no path.
    pub(super) fn frame(&self, path: u32) -> Option<(u32, String)> {
        self.paths.get(path as usize).map(|(above, name)| (*above, format!("Activity {name}")))
    }

    /// Which paths a filter keeps: one entry a path.
    pub(super) fn kept(&self, query: &Query) -> Vec<bool> {
        let all = query.keeps_all_activities();
        let mut kept: Vec<bool> = Vec::with_capacity(self.paths.len());
        for (above, name) in &self.paths {
            let above = kept.get(*above as usize).copied().unwrap_or(false);
            kept.push(all || above || query.keeps_activity(name));
        }
        kept
    }
}
