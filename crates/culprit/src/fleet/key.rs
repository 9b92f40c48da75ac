//! What recordings are grouped by: a fact that each of them has about itself.

use std::fmt;

use culprit_model::{Meta, Recording};
use culprit_record::HOST_FACT;

use crate::output::Output;

/// How facts from `record --label` are named in a recording.
pub(crate) const LABEL_FACT: &str = "label.";
/// The label that a version is read from.
const VERSION_LABEL: &str = "version";
/// Characters of a build id that tell builds apart: 48 bits.
const BUILD_ID_CHARACTERS: usize = 12;
/// The group of recordings that do not have the fact.
const UNKNOWN: &str = "(unknown)";
/// ns in a day.
const DAY: u64 = 86_400_000_000_000;

/// What recordings are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FleetKey {
    /// The machine that recorded, by its name.
    Host,
    /// The image of the container that it ran in.
    Image,
    /// The label `version`; else the build id of the recorded program.
    Version,
    /// The day on which the recording began, in UTC.
    Day,
    /// A label of `record --label`.
    Label(String),
}

/// Reads `--by`.
///
/// # Errors
/// When it is no name.
pub(crate) fn fleet_key(text: &str) -> Result<FleetKey, String> {
    match text {
        "host" => Ok(FleetKey::Host),
        "image" => Ok(FleetKey::Image),
        "version" => Ok(FleetKey::Version),
        "day" => Ok(FleetKey::Day),
        "" => Err("give host, image, version, day, or the name of a label".to_owned()),
        name => Ok(FleetKey::Label(name.to_owned())),
    }
}

impl fmt::Display for FleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Image => "image",
            Self::Version => "version",
            Self::Day => "day",
            Self::Label(name) => name,
        })
    }
}

impl FleetKey {
    /// The group that a recording is in.
    pub(crate) fn group(&self, recording: &Recording) -> String {
        let meta = &recording.meta;
        let found = match self {
            Self::Host => fact(meta, HOST_FACT),
            Self::Image => image(meta),
            Self::Version => {
                fact(meta, &format!("{LABEL_FACT}{VERSION_LABEL}")).or_else(|| build_id(recording))
            }
            Self::Day => day(meta.start.realtime),
            Self::Label(name) => fact(meta, &format!("{LABEL_FACT}{name}")),
        };
        found.unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// Says that no recording has the label, which is probably a slip; none where one has it.
    pub(crate) fn warn_of_unknown<'a>(
        &self,
        mut groups: impl Iterator<Item = &'a String>,
        output: &Output,
    ) {
        let Self::Label(name) = self else { return };
        if groups.all(|group| group == UNKNOWN) {
            output.warn(&format!(
                "warning: no recording has the label `{name}`\nhint: `record --label {name}=VALUE` sets it; host, \
                 image, version and day need no label\n"
            ));
        }
    }

    /// The frame that stands for a group: begins with one of the engine's `GROUP_KINDS`.
    pub(crate) fn frame(&self, group: &str) -> String {
        match self {
            Self::Host => format!("Host {group}"),
            Self::Image => format!("Image {group}"),
            Self::Version => format!("Version {group}"),
            Self::Day => format!("Day {group}"),
            Self::Label(name) => format!("Label {name}={group}"),
        }
    }
}

fn fact(meta: &Meta, name: &str) -> Option<String> {
    let (_, value) = meta.place_facts.iter().find(|(known, _)| known == name)?;
    Some(value.clone())
}

/// The image of a place such as `docker:app:2.1,cpus=1`; the place's kind where it has none.
fn image(meta: &Meta) -> Option<String> {
    let place = meta.place.split(',').next().unwrap_or_default();
    match place.split_once(':') {
        Some(("docker" | "podman", image)) => Some(image.to_owned()),
        // Which image a running container is of, the recording does not say.
        Some(("container", _)) => None,
        _ => Some("(no image)".to_owned()),
    }
}

/// The build id of the program that was recorded.
fn build_id(recording: &Recording) -> Option<String> {
    let process = recording.meta.root_process?;
    let exe = &recording.processes.get(process.index())?.exe;
    let module = recording.modules.iter().find(|module| module.path == *exe)?;
    Some(module.build_id.as_ref()?.chars().take(BUILD_ID_CHARACTERS).collect())
}

/// The day in UTC of ns since 1970; none for the start of the clock, which imports without a date have.
fn day(realtime: u64) -> Option<String> {
    if realtime == 0 {
        return None;
    }
    // Days of the proleptic Gregorian calendar from days since 1970, by Howard Hinnant
    // ("chrono-Compatible Low-Level Date Algorithms"): eras of 400 years that begin in March.
    let days = realtime / DAY + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    Some(format!("{year:04}-{month:02}-{date:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, date) in [
            (1, "1970-01-02"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_513, "2026-03-01"),
            (20_818, "2026-12-31"),
        ] {
            assert_eq!(day(days * DAY + 5).as_deref(), Some(date));
        }
        assert_eq!(day(0), None);
    }

    #[test]
    fn groups_are_facts_of_the_recording() {
        let mut recording = testing::recording();
        for key in ["host", "version", "day", "team"] {
            assert_eq!(fleet_key(key).unwrap().group(&recording), UNKNOWN, "{key}");
        }
        let facts = [(HOST_FACT, "web-1"), ("label.version", "2.1"), ("label.team", "shop")];
        recording.meta.place_facts =
            facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        recording.meta.place = "docker:registry:5000/app:2.1,cpus=1".to_owned();
        for (key, frame) in [
            ("host", "Host web-1"),
            ("version", "Version 2.1"),
            ("image", "Image registry:5000/app:2.1"),
            ("team", "Label team=shop"),
        ] {
            let key = fleet_key(key).unwrap();
            let frame_of = key.frame(&key.group(&recording));
            assert_eq!(frame_of, frame);
            let kinds = culprit_engine::fleet::GROUP_KINDS;
            assert!(kinds.iter().any(|kind| frame_of.starts_with(kind)), "{frame}");
        }
        for (place, image) in
            [("host", "(no image)"), ("sandbox", "(no image)"), ("container:web", UNKNOWN)]
        {
            recording.meta.place = place.to_owned();
            assert_eq!(FleetKey::Image.group(&recording), image);
        }
    }

    #[test]
    fn without_a_label_the_build_is_the_version() {
        let mut recording = testing::recording();
        recording.processes[0].exe = "/srv/app".into();
        recording.modules[0].path = "/srv/app".into();
        recording.modules[0].build_id = Some("0123456789abcdef".into());
        assert_eq!(FleetKey::Version.group(&recording), "0123456789ab");
    }
}
