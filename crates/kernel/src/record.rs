//! Records that are no samples: what is mapped, who begins and ends, who runs, what was lost.
//!
//! Source: `enum perf_event_type` in include/uapi/linux/perf_event.h.

use crate::layout::{Layout, Trailer, task};
use crate::words::{Order, Words};
use crate::{Malformed, Task};

/// Kinds of the kernel's records (`PERF_RECORD_`).
#[expect(missing_docs, reason = "the kernel's names, as perf_event_open(2) explains them")]
pub mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
    pub const NAMESPACES: u32 = 16;
    pub const KSYMBOL: u32 = 17;
    pub const CGROUP: u32 = 19;
    pub const CALLCHAIN_DEFERRED: u32 = 22;
}

/// Bits of [`Header::misc`] (`PERF_RECORD_MISC_`).
mod misc {
    pub(super) const CPU_MODE: u16 = 7;
    pub(super) const MMAP_DATA: u16 = 1 << 13;
    pub(super) const COMM_EXEC: u16 = 1 << 13;
    pub(super) const SWITCH_OUT: u16 = 1 << 13;
    pub(super) const SWITCH_PREEMPT: u16 = 1 << 14;
    pub(super) const MMAP_BUILD_ID: u16 = 1 << 14;
    pub(super) const LOST_TO_BPF: u16 = 1 << 15;
}

/// Executable, as `mmap` has it.
const PROT_EXEC: u32 = 4;

/// Most bytes of a build id.
const BUILD_ID: usize = 20;

/// Where the namespaces of a record are, in their order.
const PID_NAMESPACE: usize = 3;
const MOST_NAMESPACES: u64 = 16;

/// Whose code ran, or is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nobody says.
    Unknown,
    /// The kernel's.
    Kernel,
    /// A process's.
    User,
    /// A hypervisor's.
    Hypervisor,
    /// The kernel's of a virtual machine.
    GuestKernel,
    /// A process's in a virtual machine.
    GuestUser,
}

/// What a record begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What is told: see [`kind`]. perf has kinds of its own from 64 on.
    pub kind: u32,
    /// More about it.
    pub misc: u16,
    /// Bytes of the record, with the header.
    pub size: u16,
}

/// What tells mapped files apart. The same file has other numbers in another container's overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MappedFile {
    /// Major number in the lower half, minor number in the upper half.
    pub device: u64,
    /// Number of the file in its file system.
    pub inode: u64,
    /// Tells files apart that had the same inode one after the other; zero where the file system has none.
    pub generation: u64,
}

/// A new mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Map<'a> {
    /// Who mapped.
    pub task: Task,
    /// First address.
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset of the first byte in the file, in bytes.
    pub offset: u64,
    /// Whether it is of code.
    pub executable: bool,
    /// The file; none for what is no file, and where the record has the build id in its place.
    pub file: Option<MappedFile>,
    /// The build id of the file, where it was asked for.
    pub build_id: Option<&'a [u8]>,
    /// Path as seen from the process's root, or `[vdso]`, `//anon`, ...
    pub path: &'a [u8],
}

/// What a record says that is no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A thread got onto a CPU: that of the [`Trailer`].
    SwitchIn,
    /// A thread left a CPU.
    SwitchOut {
        /// It was still able to run.
        preempted: bool,
    },
    /// A thread or process was created.
    Fork {
        /// The new one.
        child: Task,
        /// The one that made it.
        parent: Task,
    },
    /// A thread ended.
    Exit(Task),
    /// A thread has a new name.
    Comm {
        /// Whose name.
        task: Task,
        /// Because its process executed a program.
        exec: bool,
        /// The name, without its NUL.
        name: &'a [u8],
    },
    /// A new mapping.
    Map(Map<'a>),
    /// The ring was full: so many records are missing before this one.
    Lost(u64),
    /// So many samples were lost, by the kernel's own count.
    LostSamples(u64),
    /// Sampling was throttled.
    Throttle,
    /// The pid namespace that a process is in.
    Namespace {
        /// The process.
        pid: i32,
        /// The namespace, by its inode.
        inode: u64,
    },
    /// A cgroup by its number.
    Cgroup {
        /// The number.
        id: u64,
        /// Where it is in its hierarchy.
        path: &'a [u8],
    },
    /// Code that the kernel generated, or that is gone again.
    Symbol {
        /// First address.
        address: u64,
        /// Length in bytes.
        length: u64,
        /// What the kernel calls it.
        name: &'a [u8],
        /// It is gone.
        gone: bool,
    },
    /// The user's part of a call chain that a sample before lacks.
    DeferredChain,
    /// Something that nobody here needs.
    Other,
}

impl Header {
    /// Bytes of a header.
    pub const BYTES: usize = 8;

    /// Reads a header; none where there is no room for one.
    #[inline]
    pub fn read(words: &mut Words<'_>) -> Option<Self> {
        Some(Self { kind: words.u32()?, misc: words.u16()?, size: words.u16()? })
    }

    /// Whether it is that of a sample.
    #[inline]
    pub fn is_sample(self) -> bool {
        self.kind == kind::SAMPLE
    }

    /// Whether a thread got onto a CPU or left it.
    #[inline]
    pub fn is_switch(self) -> bool {
        matches!(self.kind, kind::SWITCH | kind::SWITCH_CPU_WIDE)
    }

    /// Whose code ran when a sample was taken, or whose a mapping is.
    #[inline]
    pub fn mode(self) -> Mode {
        match self.misc & misc::CPU_MODE {
            1 => Mode::Kernel,
            2 => Mode::User,
            3 => Mode::Hypervisor,
            4 => Mode::GuestKernel,
            5 => Mode::GuestUser,
            _ => Mode::Unknown,
        }
    }

    /// The same for a reader that did not ask for build ids. If another listener asked, the kernel marks the record
    /// for all, although this one has the file's numbers (`perf_event_mmap_output`, kernel/events/core.c).
    #[must_use]
    #[inline]
    pub fn without_build_id(self) -> Self {
        match self.kind {
            kind::MMAP2 => Self { misc: self.misc & !misc::MMAP_BUILD_ID, ..self },
            _ => self,
        }
    }

    fn has(self, bit: u16) -> bool {
        self.misc & bit != 0
    }
}

impl<'a> Record<'a> {
    /// Reads a record that is no sample, and its end. `body` is without the header.
    ///
    /// # Errors
    /// When its content contradicts its size.
    #[inline]
    pub fn read(
        header: Header,
        body: &'a [u8],
        order: Order,
        layout: &Layout,
    ) -> Result<(Self, Trailer), Malformed> {
        let (own, trailer) = layout.split(body, order);
        let words = Words::new(own, order);
        Self::read_own(header, words).map(|record| (record, trailer)).ok_or(Malformed)
    }

    #[inline]
    fn read_own(header: Header, mut words: Words<'a>) -> Option<Self> {
        Some(match header.kind {
            kind::SWITCH | kind::SWITCH_CPU_WIDE if header.has(misc::SWITCH_OUT) => {
                Self::SwitchOut { preempted: header.has(misc::SWITCH_PREEMPT) }
            }
            kind::SWITCH | kind::SWITCH_CPU_WIDE => Self::SwitchIn,
            kind::MMAP | kind::MMAP2 => Self::Map(map(header, words)?),
            kind::COMM => {
                let (task, exec) = (task(&mut words)?, header.has(misc::COMM_EXEC));
                Self::Comm { task, exec, name: words.name() }
            }
            kind::FORK => {
                let (child, parent) = child_and_parent(words)?;
                Self::Fork { child, parent }
            }
            kind::EXIT => Self::Exit(child_and_parent(words)?.0),
            kind::LOST => Self::Lost(words.u64().and_then(|_id| words.u64())?),
            kind::LOST_SAMPLES if !header.has(misc::LOST_TO_BPF) => Self::LostSamples(words.u64()?),
            kind::THROTTLE => Self::Throttle,
            kind::NAMESPACES => namespace(words)?,
            kind::KSYMBOL => symbol(words)?,
            kind::CGROUP => Self::Cgroup { id: words.u64()?, path: words.name() },
            kind::CALLCHAIN_DEFERRED => Self::DeferredChain,
            _ => Self::Other,
        })
    }
}

/// `{u32 pid, tid; u64 address, length, offset; char path[]}`, and between offset and path in the second kind
/// `{u32 major, minor; u64 inode, generation; u32 protection, flags}`. A build id stands in place of the file as
/// `{u8 size; u8 reserved[3]; u8 id[20]}`.
fn map(header: Header, mut words: Words<'_>) -> Option<Map<'_>> {
    let task = task(&mut words)?;
    let (address, length, offset) = (words.u64()?, words.u64()?, words.u64()?);
    let (mut file, mut build_id) = (None, None);
    let executable = if header.kind == kind::MMAP2 {
        let mut numbers = Words::new(words.take(24)?, words.order());
        if header.has(misc::MMAP_BUILD_ID) {
            let (size, id) = (numbers.rest().first()?, numbers.rest().get(4..)?);
            build_id = Some(&id[..usize::from(*size).min(BUILD_ID)]);
        } else {
            let (device, inode) = (numbers.u64()?, numbers.u64()?);
            let generation = numbers.u64()?;
            file = (inode != 0).then_some(MappedFile { device, inode, generation });
        }
        let (protection, _flags) = (words.u32()?, words.u32()?);
        protection & PROT_EXEC != 0
    } else {
        !header.has(misc::MMAP_DATA)
    };
    Some(Map { task, address, length, offset, executable, file, build_id, path: words.name() })
}

/// `{u32 pid, ppid; u32 tid, ptid; u64 time}`
fn child_and_parent(mut words: Words<'_>) -> Option<(Task, Task)> {
    let (pid, parent) = (words.i32()?, words.i32()?);
    let (tid, maker) = (words.i32()?, words.i32()?);
    Some((Task { pid, tid }, Task { pid: parent, tid: maker }))
}

/// `{u32 pid, tid; u64 count; {u64 device, inode} namespaces[count]}`
fn namespace(mut words: Words<'_>) -> Option<Record<'_>> {
    let pid = task(&mut words)?.pid;
    let count = words.u64().filter(|count| *count <= MOST_NAMESPACES)?;
    let links = words.list(count * 2)?;
    let inode = links.iter().nth(PID_NAMESPACE * 2 + 1).filter(|inode| *inode != 0);
    Some(inode.map_or(Record::Other, |inode| Record::Namespace { pid, inode }))
}

/// `{u64 address; u32 length; u16 kind, flags; char name[]}`
fn symbol(mut words: Words<'_>) -> Option<Record<'_>> {
    let (address, length) = (words.u64()?, words.u32()?);
    let (_kind, flags) = (words.u16()?, words.u16()?);
    let (length, gone) = (u64::from(length), flags & 1 != 0);
    Some(Record::Symbol { address, length, name: words.name(), gone })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::sample;

    fn bytes(words: &[u64], text: &str) -> Vec<u8> {
        let numbers = words.iter().flat_map(|word| word.to_le_bytes());
        numbers.chain(text.bytes()).chain([0]).collect()
    }

    /// What a record of events without trailers says.
    fn read(kind: u32, misc: u16, body: &[u8]) -> Result<Record<'_>, Malformed> {
        let header = Header { kind, misc, size: 0 };
        let read = Record::read(header, body, Order::Little, &Layout::new(sample::IP, false));
        read.map(|(record, _)| record)
    }

    fn mapped(misc: u16, body: &[u8]) -> Map<'_> {
        match read(kind::MMAP2, misc, body) {
            Ok(Record::Map(map)) => map,
            other => panic!("no mapping: {other:?}"),
        }
    }

    #[test]
    fn mappings_have_their_file_or_its_build_id() {
        let id = 20 | 0xaaaa << 32;
        let words = [8 << 32 | 7, 0x1000, 0x200, 0x40, id, u64::MAX, u64::MAX, 5];
        let body = bytes(&words, "/bin/x");
        let map = mapped(misc::MMAP_BUILD_ID, &body);
        assert_eq!((map.address, map.length, map.offset), (0x1000, 0x200, 0x40));
        assert_eq!((map.path, map.executable, map.file), (&b"/bin/x"[..], true, None));
        assert_eq!(map.build_id.map(<[u8]>::len), Some(20));
        for end in 0..64 {
            assert_eq!(read(kind::MMAP2, 0, &body[..end]), Err(Malformed), "{end}");
        }
        let data = bytes(&[8 << 32 | 7, 0x1000, 0x200, 0x40, 8, 9, 1, 3], "/bin/x");
        let map = mapped(0, &data);
        let file = MappedFile { device: 8, inode: 9, generation: 1 };
        assert_eq!((map.file, map.executable, map.build_id), (Some(file), false, None));
        // Another listener asked for the build id; this one did not, and has the file's numbers.
        let marked = Header { kind: kind::MMAP2, misc: misc::MMAP_BUILD_ID, size: 0 };
        assert_eq!(marked.without_build_id().misc, 0);
    }

    #[test]
    fn mappings_of_the_first_kind_say_whether_they_are_of_data() {
        let body = bytes(&[8 << 32 | 7, 0x1000, 0x200, 0x40], "/bin/x");
        let executable = |misc| match read(kind::MMAP, misc, &body) {
            Ok(Record::Map(map)) => map.executable,
            other => panic!("no mapping: {other:?}"),
        };
        assert!(executable(0) && !executable(misc::MMAP_DATA));
    }

    #[test]
    fn who_begins_and_ends_is_read() {
        let (one, two) = (Task { pid: 1, tid: 1 }, Task { pid: 2, tid: 3 });
        let comm = bytes(&[3 << 32 | 2], "cat");
        let expected = Record::Comm { task: two, exec: true, name: b"cat" };
        assert_eq!(read(kind::COMM, misc::COMM_EXEC, &comm), Ok(expected));
        let fork = bytes(&[1 << 32 | 2, 1 << 32 | 3, 9], "");
        let expected = Record::Fork { child: two, parent: one };
        assert_eq!(read(kind::FORK, 0, &fork), Ok(expected));
        assert_eq!(read(kind::EXIT, 0, &fork), Ok(Record::Exit(two)));
        assert_eq!(read(kind::EXIT, 0, &fork[..12]), Err(Malformed));
    }

    #[test]
    fn a_switch_is_of_whom_its_end_names() {
        let layout = Layout::new(sample::TID | sample::TIME, true);
        let body = bytes(&[3 << 32 | 2, 50], "");
        let read = |misc| {
            let header = Header { kind: kind::SWITCH, misc, size: 0 };
            Record::read(header, &body[..16], Order::Little, &layout)
        };
        let trailer = Trailer { task: Task { pid: 2, tid: 3 }, time: 50, cpu: None };
        assert_eq!(read(0), Ok((Record::SwitchIn, trailer)));
        let out = Record::SwitchOut { preempted: true };
        assert_eq!(read(misc::SWITCH_OUT | misc::SWITCH_PREEMPT), Ok((out, trailer)));
    }

    #[test]
    fn namespaces_and_generated_code_are_read() {
        let mut links = vec![7 << 32 | 7, 7];
        links.extend((0..14).map(|at| at + 100));
        let expected = Record::Namespace { pid: 7, inode: 107 };
        assert_eq!(read(kind::NAMESPACES, 0, &bytes(&links, "")), Ok(expected));
        links[1] = u64::MAX;
        assert_eq!(read(kind::NAMESPACES, 0, &bytes(&links, "")), Err(Malformed));
        let code = bytes(&[0xffff_0000, 1 << 32 | 64], "bpf_prog_1");
        let read = read(kind::KSYMBOL, 0, &code);
        assert!(matches!(read, Ok(Record::Symbol { length: 64, gone: false, .. })));
    }
}
