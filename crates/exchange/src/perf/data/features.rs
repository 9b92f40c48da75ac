//! What perf writes about the machine, the events and the files: sections behind the records of a
//! file, records among others in a pipe.
//!
//! Source: tools/perf/Documentation/perf.data-file-format.txt.

use culprit_kernel::{Attr, Order, Words, words};

use super::tracing::Points;

/// Numbers of the sections that are read.
mod number {
    pub(super) const TRACING_DATA: u32 = 1;
    pub(super) const BUILD_ID: u32 = 2;
    pub(super) const HOSTNAME: u32 = 3;
    pub(super) const OS_RELEASE: u32 = 4;
    pub(super) const ARCH: u32 = 6;
    pub(super) const CPUS: u32 = 7;
    pub(super) const COMMAND: u32 = 11;
    pub(super) const EVENTS: u32 = 12;
    pub(super) const CLOCK_DATA: u32 = 29;
}

/// Most words of a command and most events: more is damage.
const MOST: u32 = 1 << 16;

/// Bytes of a build id, and where in its record the length stands when `misc` says that it does.
const BUILD_ID: u64 = 24;
const MOST_BUILD_ID: usize = 20;
const HAS_LENGTH: u16 = 1 << 15;

/// One event as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) attr: Option<Attr>,
    pub(super) name: String,
    pub(super) ids: Vec<u64>,
}

/// The recorder's clock beside the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockData {
    pub(super) wall: u64,
    pub(super) clock: u64,
}

/// What is known of where the file was made.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) build_ids: Vec<(String, Vec<u8>)>,
    pub(super) host: String,
    pub(super) kernel: String,
    pub(super) arch: String,
    pub(super) cpus: u32,
    pub(super) command: Vec<String>,
    pub(super) events: Vec<Described>,
    pub(super) points: Points,
    pub(super) clock: Option<ClockData>,
    /// Sections of which a part was read, or nothing.
    pub(super) damaged: u64,
}

/// Whether a section says anything that is kept.
pub(super) fn is_read(feature: u32) -> bool {
    use number as n;
    matches!(
        feature,
        n::TRACING_DATA
            | n::BUILD_ID
            | n::HOSTNAME
            | n::OS_RELEASE
            | n::ARCH
            | n::CPUS
            | n::COMMAND
            | n::EVENTS
            | n::CLOCK_DATA
    )
}

impl Facts {
    /// Reads one section.
    pub(super) fn add(&mut self, feature: u32, bytes: &[u8], order: Order) {
        let mut words = Words::new(bytes, order);
        let whole = match feature {
            number::TRACING_DATA => self.points.read(bytes),
            number::BUILD_ID => self.read_build_ids(words),
            number::HOSTNAME => words.string().map(|text| self.host = text),
            number::OS_RELEASE => words.string().map(|text| self.kernel = text),
            number::ARCH => words.string().map(|text| self.arch = text),
            number::CPUS => words.u32().zip(words.u32()).map(|(_, online)| self.cpus = online),
            number::COMMAND => self.read_command(&mut words),
            number::EVENTS => self.read_events(&mut words, order),
            number::CLOCK_DATA => self.read_clock(&mut words),
            _ => Some(()),
        };
        self.damaged += u64::from(whole.is_none());
    }

    fn read_command(&mut self, words: &mut Words<'_>) -> Option<()> {
        let count = words.u32().filter(|count| *count <= MOST)?;
        for _ in 0..count {
            self.command.push(words.string()?);
        }
        Some(())
    }

    fn read_events(&mut self, words: &mut Words<'_>, order: Order) -> Option<()> {
        let count = words.u32().filter(|count| *count <= MOST)?;
        let length = words.u32()?;
        for _ in 0..count {
            let attr = Attr::read(words.take(u64::from(length))?, order)?;
            let ids = words.u32()?;
            let name = words.string()?;
            let ids = words.list(u64::from(ids))?.iter().collect();
            self.events.push(Described { attr: Some(attr), name, ids });
        }
        Some(())
    }

    fn read_clock(&mut self, words: &mut Words<'_>) -> Option<()> {
        let (_version, _clock) = words.u32().zip(words.u32())?;
        let (wall, clock) = words.u64().zip(words.u64())?;
        self.clock = Some(ClockData { wall, clock });
        Some(())
    }

    /// Records of build ids, one behind the other.
    fn read_build_ids(&mut self, mut words: Words<'_>) -> Option<()> {
        while !words.rest().is_empty() {
            let (_kind, misc, size) = (words.u32()?, words.u16()?, words.u16()?);
            let body = words.take(u64::from(size).checked_sub(8)?)?;
            self.add_build_id(misc, Words::new(body, Order::Little))?;
        }
        Some(())
    }

    /// The body of one record of a build id: a process, the id, the file.
    pub(super) fn add_build_id(&mut self, misc: u16, mut body: Words<'_>) -> Option<()> {
        body.u32()?;
        let id = body.take(BUILD_ID)?;
        let length = match misc & HAS_LENGTH {
            0 => MOST_BUILD_ID,
            _ => usize::from(*id.get(MOST_BUILD_ID)?).min(MOST_BUILD_ID),
        };
        self.build_ids.push((words::text(body.rest()), id[..length].to_vec()));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Vec<u8> {
        let mut bytes = u32::try_from(text.len() + 1).expect("short").to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn sections_that_are_cut_say_so_and_keep_what_was_whole() {
        let mut command = vec![2, 0, 0, 0];
        command.extend(string("perf"));
        command.extend(string("record"));
        let mut facts = Facts::default();
        facts.add(number::COMMAND, &command, Order::Little);
        assert_eq!(
            (facts.command.as_slice(), facts.damaged),
            (&["perf", "record"].map(String::from)[..], 0)
        );
        let mut cut = Facts::default();
        cut.add(number::COMMAND, &command[..14], Order::Little);
        assert_eq!((cut.command.len(), cut.damaged), (1, 1));
        cut.add(number::EVENTS, &[0xff; 64], Order::Little);
        cut.add(number::BUILD_ID, &[0xff; 64], Order::Little);
        cut.add(number::CLOCK_DATA, &[0; 8], Order::Little);
        assert_eq!(cut.damaged, 4);
    }

    #[test]
    fn build_ids_may_be_shorter_than_their_place() {
        let mut body = vec![0; 4];
        body.extend([7; 16]);
        body.extend([0, 0, 0, 0, 16, 0, 0, 0]);
        body.extend(b"/bin/x\0\0");
        let mut facts = Facts::default();
        facts.add_build_id(HAS_LENGTH, Words::new(&body, Order::Little)).expect("a build id");
        facts.add_build_id(0, Words::new(&body, Order::Little)).expect("a build id");
        assert_eq!(facts.build_ids[0], ("/bin/x".to_owned(), vec![7; 16]));
        assert_eq!(facts.build_ids[1].1.len(), 20);
    }
}
