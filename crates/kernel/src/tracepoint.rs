//! Fields of tracepoints, found by the kernel's own description.
//!
//! A tracepoint's record is described by the file `format` of tracefs: offsets move between kernels, so they are
//! read, never assumed. Source: Documentation/trace/events.rst.

use crate::words::Order;

/// Bits of a tracepoint's flags: it stood in an interrupt (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` in
/// include/linux/trace_events.h).
const INTERRUPT: u32 = 0x08 | 0x10;

/// A tracepoint and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its name within its group.
    pub name: String,
    /// Its number, by which it is opened.
    pub id: u64,
    fields: Vec<(String, Field)>,
}

/// Where a field lies in a tracepoint's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Offset in bytes.
    pub offset: usize,
    /// Length in bytes.
    pub size: usize,
}

/// Where `sched_switch` keeps what it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchFields {
    prev: Field,
    state: Field,
    next: Field,
}

/// What `sched_switch` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switched {
    /// The thread that left; 0 for the idle loop.
    pub prev: i32,
    /// The thread that came; 0 for the idle loop.
    pub next: i32,
    /// The state of the thread that left: R where it was able to run.
    pub state: char,
}

/// Where `sched_waking` and `sched_wakeup` keep what they tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeFields {
    tid: Field,
    cpu: Field,
    flags: Field,
}

/// What `sched_waking` and `sched_wakeup` tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Woken {
    /// The thread that is woken.
    pub tid: i32,
    /// The CPU on whose queue it is put.
    pub cpu: u32,
    /// The tracepoint's flags.
    pub flags: u32,
}

impl Tracepoint {
    /// Reads a `format` file; none where it has no name or number.
    pub fn parse(text: &str) -> Option<Self> {
        let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let (name, id) = (line("name:")?.to_owned(), line("ID:")?.parse().ok()?);
        Some(Self { name, id, fields: text.lines().filter_map(parse_field).collect() })
    }

    /// The field `name`.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }
}

/// `field:pid_t pid;  offset:24;  size:4;  signed:1;`
fn parse_field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let name = declaration.split_whitespace().next_back()?.split('[').next()?;
    let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
    let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
    Some((name.to_owned(), Field { offset, size }))
}

impl Field {
    /// The field's value in a record of this machine, as an unsigned number of at most eight bytes.
    #[inline]
    pub fn read(self, raw: &[u8]) -> Option<u64> {
        self.read_as(raw, Order::NATIVE)
    }

    /// The same in a record of either order of bytes.
    #[inline]
    pub fn read_as(self, raw: &[u8], order: Order) -> Option<u64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut word = [0; 8];
        match order {
            Order::Little => {
                word.get_mut(..bytes.len())?.copy_from_slice(bytes);
                Some(u64::from_le_bytes(word))
            }
            Order::Big => {
                word.get_mut(8_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
                Some(u64::from_be_bytes(word))
            }
        }
    }
}

impl SwitchFields {
    /// The fields by their names; none where one is not there.
    pub fn of(point: &Tracepoint) -> Option<Self> {
        Some(Self {
            prev: point.field("prev_pid")?,
            state: point.field("prev_state")?,
            next: point.field("next_pid")?,
        })
    }

    /// What a record tells; none where it is cut.
    #[inline]
    pub fn read(&self, raw: &[u8], order: Order) -> Option<Switched> {
        Some(Switched {
            prev: tid(self.prev.read_as(raw, order)?)?,
            next: tid(self.next.read_as(raw, order)?)?,
            state: letter(self.state.read_as(raw, order)?),
        })
    }
}

impl WakeFields {
    /// The fields by their names; none where one is not there.
    pub fn of(point: &Tracepoint) -> Option<Self> {
        Some(Self {
            tid: point.field("pid")?,
            cpu: point.field("target_cpu")?,
            flags: point.field("common_flags")?,
        })
    }

    /// What a record tells; none where it is cut.
    #[inline]
    pub fn read(&self, raw: &[u8], order: Order) -> Option<Woken> {
        Some(Woken {
            tid: tid(self.tid.read_as(raw, order)?)?,
            cpu: u32::try_from(self.cpu.read_as(raw, order)?).ok()?,
            flags: u32::try_from(self.flags.read_as(raw, order)?).ok()?,
        })
    }
}

impl Woken {
    /// Whether an interrupt did it, and not the thread that runs.
    pub fn in_interrupt(self) -> bool {
        self.flags & INTERRUPT != 0
    }
}

fn tid(field: u64) -> Option<i32> {
    i32::try_from(field).ok()
}

/// The letter of `prev_state`: one bit a state, and one above them for a thread that was preempted
/// (include/trace/events/sched.h, `__trace_sched_switch_state`).
fn letter(prev_state: u64) -> char {
    match prev_state & 0xff {
        0 => 'R',
        bits => ['S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'][bits.trailing_zeros() as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\nprint fmt: \"prev_comm=%s\"\n";

    #[test]
    fn fields_are_found_by_the_kernels_own_description() {
        let point = Tracepoint::parse(SWITCH).expect("a tracepoint");
        assert_eq!((point.name.as_str(), point.id), ("sched_switch", 316));
        assert_eq!(point.field("prev_comm"), Some(Field { offset: 8, size: 16 }));
        assert_eq!(point.field("prio"), None);
        let fields = SwitchFields::of(&point).expect("its fields");
        for order in [Order::Little, Order::Big] {
            let mut raw = [0_u8; 64];
            let low = |at: usize, size: usize| if order == Order::Big { at + size - 1 } else { at };
            raw[low(24, 4)] = 7;
            raw[low(32, 8)] = 2;
            raw[low(56, 4)] = 9;
            let told = Switched { prev: 7, next: 9, state: 'D' };
            assert_eq!(fields.read(&raw, order), Some(told));
            assert_eq!(fields.read(&raw[..58], order), None);
        }
        // A field of more than eight bytes is no number.
        assert_eq!(Field { offset: 8, size: 16 }.read(&[0; 64]), None);
        assert_eq!(Tracepoint::parse("name: x\n"), None);
        assert_eq!(WakeFields::of(&point), None);
    }

    #[test]
    fn a_thread_that_could_run_on_was_preempted() {
        let letters: String = [0, 0x100, 1, 2, 4, 8, 0x10, 0x20, 0x80].map(letter).iter().collect();
        assert_eq!(letters, "RRSDTtXZI");
    }
}
