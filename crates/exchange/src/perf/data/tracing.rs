//! The layout of tracepoints, as the recorded kernel described them.
//!
//! perf copies the files `format` of tracefs into the file. Only scheduling is looked for; of all
//! others the name is kept, for files whose events have lost theirs. Source:
//! tools/perf/util/trace-event-info.c, which writes them.

use std::collections::BTreeMap;

use super::words::Words;

/// Bytes in front of the first text.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Most systems and events in one: more is damage.
const MOST: u32 = 1 << 16;

/// Where a field stands in a tracepoint's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The field as an unsigned number.
    pub(super) fn read(self, raw: &[u8], little: bool) -> Option<u64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut words = Words::new(bytes, little);
        match self.size {
            1 => bytes.first().map(|byte| u64::from(*byte)),
            2 => words.u16().map(u64::from),
            4 => words.u32().map(u64::from),
            8 => words.u64(),
            _ => None,
        }
    }
}

/// `sched_switch`: who leaves, in which state, and who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) prev: Field,
    pub(super) state: Field,
    pub(super) next: Field,
}

/// `sched_waking`, `sched_wakeup`: who is woken, and whether an interrupt did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wake {
    pub(super) pid: Field,
    pub(super) flags: Field,
}

/// The tracepoints of a file.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub(super) switch: Option<Switch>,
    pub(super) wake: BTreeMap<u64, Wake>,
    /// `sched:sched_switch` by its number.
    pub(super) names: BTreeMap<u64, String>,
}

impl Points {
    /// Reads what perf copied of tracefs; none when it ends early. What came before is kept.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let rest = behind_nul(rest)?;
        let (order, rest) = rest.split_first()?;
        let little = *order == 0;
        // The size of `long` and of a page.
        let mut words = Words::new(rest.get(5..)?, little);
        for _ in ["header_page", "header_event"] {
            words = Words::new(behind_nul(words.rest())?, little);
            let size = words.u64()?;
            words.take(size)?;
        }
        for _ in 0..words.u32().filter(|count| *count <= MOST)? {
            let size = words.u64()?;
            words.take(size)?;
        }
        for _ in 0..words.u32().filter(|count| *count <= MOST)? {
            let system = words.name();
            words = Words::new(behind_nul(words.rest())?, little);
            for _ in 0..words.u32().filter(|count| *count <= MOST)? {
                let size = words.u64()?;
                let text = words.take(size)?;
                self.add(&system, &String::from_utf8_lossy(text));
            }
        }
        Some(())
    }

    /// One `format` file.
    fn add(&mut self, system: &str, text: &str) {
        let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let (Some(name), Some(number)) = (line("name:"), line("ID:")) else { return };
        let Ok(number) = number.parse() else { return };
        let field = |name: &str| text.lines().find_map(|line| field(line.trim(), name));
        self.names.insert(number, format!("{system}:{name}"));
        match (system, name) {
            ("sched", "sched_switch") => {
                let places = (field("prev_pid"), field("prev_state"), field("next_pid"));
                if let (Some(prev), Some(state), Some(next)) = places {
                    self.switch = Some(Switch { prev, state, next });
                }
            }
            ("sched", "sched_waking" | "sched_wakeup") => {
                if let Some((pid, flags)) = field("pid").zip(field("common_flags")) {
                    self.wake.insert(number, Wake { pid, flags });
                }
            }
            _ => {}
        }
    }
}

/// A field of that name: `field:pid_t pid;  offset:24;  size:4;  signed:1;`.
fn field(line: &str, name: &str) -> Option<Field> {
    let mut parts = line.strip_prefix("field:")?.split(';').map(str::trim);
    if parts.next()?.split_whitespace().next_back()? != name {
        return None;
    }
    let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
    let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
    Some(Field { offset, size })
}

fn behind_nul(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.get(end + 1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_the_recorded_kernels_description() {
        let format = "name: sched_switch\nID: 316\nformat:\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
            \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
            \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";
        let mut points = Points::default();
        points.add("sched", format);
        let switch = points.switch.expect("a switch");
        assert_eq!(switch.prev, Field { offset: 24, size: 4 });
        let mut raw = [0; 60];
        raw[56] = 9;
        assert_eq!(switch.next.read(&raw, true), Some(9));
        assert_eq!(switch.next.read(&raw[..58], true), None);
        assert_eq!(points.names[&316], "sched:sched_switch");
    }

    #[test]
    fn a_copy_of_tracefs_is_read_up_to_where_it_is_cut() {
        let text = "name: sched_waking\nID: 7\nformat:\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        let mut bytes = MAGIC.to_vec();
        bytes.extend(b"0.6\0\0\x08\0\x10\0\0");
        for name in [&b"header_page\0"[..], b"header_event\0"] {
            bytes.extend(name);
            bytes.extend(3_u64.to_le_bytes());
            bytes.extend(b"abc");
        }
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(b"sched\0");
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
        let mut points = Points::default();
        assert_eq!(points.read(&bytes), Some(()));
        assert!(points.wake.contains_key(&7));
        for end in 0..bytes.len() {
            assert_eq!(Points::default().read(&bytes[..end]), None, "{end}");
        }
    }
}
