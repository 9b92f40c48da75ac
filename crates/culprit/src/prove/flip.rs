//! Whether another value of a variable changes what a command puts out.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::Arc;

use culprit_place::{Command, Exit, Place, Stdio};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::failure::{Context as _, Failure};
use crate::places;
use crate::session::Control;

/// What the comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlipEffect {
    /// Only the run with the other value differs.
    Changed,
    /// All runs are the same.
    Same,
    /// Two runs with the same values differ.
    Unstable,
}

/// Output and end of one run.
type Ran = (Vec<u8>, Exit);

/// Runs the command twice as it is, and once with the other value.
///
/// # Errors
/// When it cannot be started.
pub(super) fn compare(
    place: &dyn Place,
    words: &[String],
    (name, value): &(String, String),
    control: &Control,
) -> Result<FlipEffect, Failure> {
    let first = run(place, words, None, control)?;
    let flipped = run(place, words, Some((name.as_str(), value.as_str())), control)?;
    let second = run(place, words, None, control)?;
    Ok(verdict(&first, &second, &flipped))
}

fn verdict(first: &Ran, second: &Ran, flipped: &Ran) -> FlipEffect {
    if first != second {
        FlipEffect::Unstable
    } else if first == flipped {
        FlipEffect::Same
    } else {
        FlipEffect::Changed
    }
}

fn run(
    place: &dyn Place,
    words: &[String],
    set: Option<(&str, &str)>,
    control: &Control,
) -> Result<Ran, Failure> {
    let memory = memfd_create("output", MemfdFlags::CLOEXEC).map(File::from);
    let file = Arc::new(memory.or_refused(|| "cannot keep the command's output".to_owned())?);
    let mut command = Command::new(words.iter().cloned());
    command.stdout = Stdio::File(Arc::clone(&file));
    command.stderr = Stdio::File(Arc::clone(&file));
    command.env.extend(set.map(|(name, value)| (name.into(), value.into())));
    let failed = |error: culprit_place::Error| places::failure(&error);
    let running = Arc::new(place.hold(&command, None).map_err(failed)?.start().map_err(failed)?);
    let exit = control.next().watch(&running, None).map_err(failed)?;
    let Some(exit) = exit else {
        return Err(Failure::interrupted("ended before the comparison was complete"));
    };
    let mut output = Vec::new();
    let mut file = &*file;
    file.rewind().or_refused(|| "cannot read the command's output".to_owned())?;
    file.read_to_end(&mut output).or_refused(|| "cannot read the command's output".to_owned())?;
    Ok((output, exit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stable_command_proves_an_effect() {
        let ran = |text: &str, code: i32| (text.as_bytes().to_vec(), Exit::Code(code));
        assert_eq!(verdict(&ran("a", 0), &ran("a", 0), &ran("b", 0)), FlipEffect::Changed);
        assert_eq!(verdict(&ran("a", 0), &ran("a", 0), &ran("a", 1)), FlipEffect::Changed);
        assert_eq!(verdict(&ran("a", 0), &ran("a", 0), &ran("a", 0)), FlipEffect::Same);
        assert_eq!(verdict(&ran("a", 0), &ran("c", 0), &ran("b", 0)), FlipEffect::Unstable);
    }
}
