//! The layout of tracepoints, as the recorded kernel described them.
//!
//! perf copies the files `format` of tracefs into the file. Only scheduling is looked for; of all
//! others the name is kept, for files whose events have lost theirs. Source:
//! tools/perf/util/trace-event-info.c, which writes them.

use std::collections::BTreeMap;

use culprit_kernel::tracepoint::{SwitchFields, Tracepoint, WakeFields};
use culprit_kernel::{Order, Words, words::text};

/// Bytes in front of the first text.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Most systems and events in one: more is damage.
const MOST: u32 = 1 << 16;

/// The tracepoints of a file.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub(super) switch: Option<SwitchFields>,
    pub(super) wake: BTreeMap<u64, WakeFields>,
    /// `sched:sched_switch` by its number.
    pub(super) names: BTreeMap<u64, String>,
}

impl Points {
    /// Reads what perf copied of tracefs; none when it ends early. What came before is kept.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let rest = behind_nul(rest)?;
        let (order, rest) = rest.split_first()?;
        let order = if *order == 0 { Order::Little } else { Order::Big };
        // The size of `long` and of a page.
        let mut words = Words::new(rest.get(5..)?, order);
        for _ in ["header_page", "header_event"] {
            words = Words::new(behind_nul(words.rest())?, order);
            let size = words.u64()?;
            words.take(size)?;
        }
        for _ in 0..words.u32().filter(|count| *count <= MOST)? {
            let size = words.u64()?;
            words.take(size)?;
        }
        for _ in 0..words.u32().filter(|count| *count <= MOST)? {
            let system = text(words.rest());
            words = Words::new(behind_nul(words.rest())?, order);
            for _ in 0..words.u32().filter(|count| *count <= MOST)? {
                let size = words.u64()?;
                let format = words.take(size)?;
                self.add(&system, &String::from_utf8_lossy(format));
            }
        }
        Some(())
    }

    /// One `format` file.
    fn add(&mut self, system: &str, format: &str) {
        let Some(point) = Tracepoint::parse(format) else { return };
        self.names.insert(point.id, format!("{system}:{}", point.name));
        match (system, point.name.as_str()) {
            ("sched", "sched_switch") => self.switch = SwitchFields::of(&point).or(self.switch),
            ("sched", "sched_waking" | "sched_wakeup") => {
                self.wake.extend(WakeFields::of(&point).map(|fields| (point.id, fields)));
            }
            _ => {}
        }
    }
}

fn behind_nul(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.get(end + 1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_tracefs_is_read_up_to_where_it_is_cut() {
        let text = "name: sched_waking\nID: 7\nformat:\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
            \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
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
