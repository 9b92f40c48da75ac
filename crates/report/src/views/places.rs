//! Where functions are: their file, and the first line of them that the recording knows.
//!
//! A recording knows the lines at which code ran or called, not those at which functions begin. The first of
//! these lines leads a reader to the function, and is the same whatever a view shows of a recording.

use std::collections::BTreeMap;

use culprit_engine::own::source_function;
use culprit_model::{FrameId, Recording};

/// A function's file and a line of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionPlace {
    /// The source file, as the line information has it.
    pub file: String,
    /// The first line in it that is known of the function.
    pub line: u32,
}

impl FunctionPlace {
    /// `app.py:31`: without the folders, which tables have no room for.
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }
}

/// The places of a recording's functions, by the names that views show.
#[derive(Debug, Default)]
pub struct FunctionPlaces(BTreeMap<String, FunctionPlace>);

impl FunctionPlaces {
    /// Linear in frames.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let mut files: BTreeMap<String, BTreeMap<&str, (usize, u32)>> = BTreeMap::new();
        for frame in (0..recording.frames.len()).map(FrameId::from_index) {
            let source = source_function(recording, frame);
            let (Some(file), Some(line)) = (source.file, source.line) else { continue };
            let name = recording.frame_name(frame);
            let seen = files.entry(name).or_default().entry(file).or_insert((0, line));
            *seen = (seen.0 + 1, seen.1.min(line));
        }
        // Functions of one name can be in several files: the one with most places stands for them.
        let place = |files: BTreeMap<&str, (usize, u32)>| {
            let (file, (_, line)) = files.into_iter().max_by_key(|(_, (count, _))| *count)?;
            Some(FunctionPlace { file: file.to_owned(), line })
        };
        Self(files.into_iter().filter_map(|(name, files)| Some((name, place(files)?))).collect())
    }

    /// The place of a name; none for what is no function, and where no line is known.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FunctionPlace> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_at_the_first_line_that_is_known_of_it() {
        let mut recording = crate::testing::recording();
        let name = recording.frame_name(FrameId::from_index(0));
        let first = recording.frames[0].clone();
        for (file, line) in [("/srv/app.py", 12), ("/srv/app.py", 9), ("/srv/other.py", 3)] {
            let (file, line) = (Some(file.into()), Some(line));
            recording.frames.push(culprit_model::Frame { file, line, ..first.clone() });
        }
        (recording.frames[0].file, recording.frames[0].line) = (None, None);
        let places = FunctionPlaces::of(&recording);
        let place = places.get(&name).unwrap();
        assert_eq!((place.file.as_str(), place.line), ("/srv/app.py", 9));
        assert_eq!(place.label(), "app.py:9");
    }
}
