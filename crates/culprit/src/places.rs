//! Places as the user names them, and their errors with the way out.

use culprit_place::{Place, PlaceSpec};

use crate::failure::{Failure, chain};
use crate::settings::{engine_named_by, of_places};

/// The place that a text names.
///
/// # Errors
/// When it names none.
pub(crate) fn spec(text: &str) -> Result<PlaceSpec, Failure> {
    text.parse().map_err(|error: culprit_place::SpecError| failure(&error.into()))
}

/// Makes a place ready for commands.
///
/// # Errors
/// When it cannot be had here.
pub(crate) fn open(spec: &PlaceSpec) -> Result<Box<dyn Place>, Failure> {
    culprit_place::open(spec, &of_places()).map_err(|error| failure(&error))
}

/// Removes what runs that were killed have left behind. What cannot be removed now does not keep
/// this run from its work; the next one tries again.
pub(crate) fn sweep() {
    let _later = culprit_place::sweep(&of_places());
}

/// A place's error as users see it: its sentence, its hints, the exit code of its kind.
pub(crate) fn failure(error: &culprit_place::Error) -> Failure {
    let what = chain(error);
    let failure =
        if error.is_refusal() { Failure::refused(what) } else { Failure::bad_input(what) };
    let named = match error {
        culprit_place::Error::EngineUnavailable { engine, .. } => engine_named_by(*engine),
        _ => None,
    };
    let named =
        named.map(|name| format!("`{name}` sets this socket; unset it to use the default sockets"));
    failure.hints(named).hints(error.hints())
}

/// A place's facts as a recording keeps them: name and value.
///
/// # Errors
/// When the place cannot tell them.
pub(crate) fn facts(place: &dyn Place) -> Result<Vec<(String, String)>, Failure> {
    let facts = place.facts().map_err(|error| failure(&error))?;
    let mut rows = Vec::new();
    let mut add = |name: &str, value: String| rows.push((name.to_owned(), value));
    for (part, system) in [("work", &facts.work), ("root", &facts.root)] {
        if let Some(system) = system {
            // Type and number alone: rules read these words, and a path could hold any.
            add(&format!("{part}.fs"), format!("{} {:#x}", system.kind, system.magic));
            add(&format!("mount.{part}"), system.mount_point.display().to_string());
            let options = mount_options(&system.options);
            if !options.is_empty() {
                add(&format!("options.{part}"), options);
            }
        }
    }
    add("folder", facts.work_dir.display().to_string());
    add("kernel", facts.kernel.clone());
    add("cpus", facts.cpus.to_string());
    if let Some((time, period)) = facts.cpu_quota_ns {
        add("cpu-quota", format!("{time} ns in {period} ns"));
    }
    if let Some(bytes) = facts.memory_limit_bytes {
        add("memory-limit", format!("{bytes} bytes"));
    }
    add("seccomp", facts.seccomp.to_string());
    add("network", facts.network.clone());
    for note in facts.notes {
        add("note", note);
    }
    Ok(rows)
}

/// Mount options without those that are another path in every place: an overlay's layers.
fn mount_options(options: &[String]) -> String {
    let mut kept: Vec<&str> = options.iter().map(String::as_str).collect();
    kept.retain(|option| !option.contains('/') && !option.is_empty());
    let mut seen = Vec::new();
    // What holds for the mount and its file system stands there twice.
    kept.retain(|option| {
        !seen.contains(option) && {
            seen.push(*option);
            true
        }
    });
    kept.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_options_are_told_once_and_without_paths() {
        let options = ["rw", "relatime", "rw", "lowerdir=/a:/b", "xino=off"].map(str::to_owned);
        assert_eq!(mount_options(&options), "rw,relatime,xino=off");
    }
}
