//! Records of the kernel that are no samples: what is mapped, who begins and ends, who runs.

use super::words::Words;

/// Kinds of the kernel's records.
pub(super) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const THROTTLE: u32 = 5;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const SWITCH: u32 = 14;
    pub(crate) const SWITCH_CPU_WIDE: u32 = 15;
    pub(crate) const NAMESPACES: u32 = 16;
    pub(crate) const KSYMBOL: u32 = 17;
    pub(crate) const CGROUP: u32 = 19;
    pub(crate) const CALLCHAIN_DEFERRED: u32 = 22;
}

/// Bits of `misc`.
pub(super) mod misc {
    /// Whose the sample or the mapping is.
    pub(crate) const CPU_MODE: u16 = 7;
    pub(crate) const KERNEL: u16 = 1;
    pub(crate) const HYPERVISOR: u16 = 3;
    pub(crate) const GUEST_KERNEL: u16 = 4;
    pub(crate) const GUEST_USER: u16 = 5;
    pub(super) const MMAP_DATA: u16 = 1 << 13;
    pub(super) const COMM_EXEC: u16 = 1 << 13;
    pub(super) const SWITCH_OUT: u16 = 1 << 13;
    pub(super) const SWITCH_PREEMPT: u16 = 1 << 14;
    pub(crate) const MMAP_BUILD_ID: u16 = 1 << 14;
    pub(crate) const LOST_TO_BPF: u16 = 1 << 15;
}

/// Executable, as `mmap` has it.
const PROT_EXEC: u32 = 4;

/// Most bytes of a build id.
const BUILD_ID: usize = 20;

/// Where the namespaces of a record are, in their order.
const PID_NAMESPACE: usize = 3;
const MOST_NAMESPACES: u64 = 16;

/// A mapping of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Map {
    pub(super) pid: i32,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) offset: u64,
    pub(super) path: String,
    pub(super) build_id: Option<Vec<u8>>,
}

/// What changes how samples are to be read, or says who ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Other {
    Map(Box<Map>),
    Comm {
        pid: i32,
        tid: i32,
        name: String,
        exec: bool,
    },
    Fork {
        task: (i32, i32),
        parent: (i32, i32),
    },
    Exit {
        pid: i32,
        tid: i32,
    },
    Switch {
        pid: i32,
        tid: i32,
        cpu: u32,
        out: bool,
        preempted: bool,
    },
    /// The pid namespace that a process is in.
    Namespaces {
        pid: i32,
        inode: u64,
    },
    Cgroup {
        id: u64,
        path: String,
    },
    /// Code that the kernel generated, or that is gone again.
    Symbol {
        address: u64,
        length: u64,
        name: String,
        gone: bool,
    },
}

impl Other {
    /// Reads a record of which `body` holds no more than its own fields. None where it is cut,
    /// and `Some(None)` where it says nothing that matters.
    pub(super) fn read(kind: u32, flags: u16, body: &[u8], little: bool) -> Option<Option<Self>> {
        let words = Words::new(body, little);
        Some(match kind {
            kind::MMAP | kind::MMAP2 => map(kind, flags, words)?.map(|m| Self::Map(Box::new(m))),
            kind::COMM => Some(comm(flags, words)?),
            kind::FORK | kind::EXIT => Some(task(kind, words)?),
            kind::NAMESPACES => namespaces(words)?,
            kind::KSYMBOL => Some(symbol(words)?),
            kind::CGROUP => Some(cgroup(words)?),
            _ => None,
        })
    }

    /// A switch of the thread that the record's end names.
    pub(super) fn switch(flags: u16, (pid, tid): (i32, i32), cpu: u32) -> Self {
        let out = flags & misc::SWITCH_OUT != 0;
        Self::Switch { pid, tid, cpu, out, preempted: flags & misc::SWITCH_PREEMPT != 0 }
    }
}

/// A mapping; none inside when it is not of code.
fn map(kind: u32, flags: u16, mut words: Words<'_>) -> Option<Option<Map>> {
    let (pid, _tid) = words.i32().zip(words.i32())?;
    let (start, length) = words.u64().zip(words.u64())?;
    let offset = words.u64()?;
    let mut build_id = None;
    let code = if kind == kind::MMAP2 {
        let file = words.take(24)?;
        if flags & misc::MMAP_BUILD_ID != 0 {
            let (size, id) = (file.first()?, file.get(4..)?);
            build_id = Some(id[..usize::from(*size).min(BUILD_ID)].to_vec());
        }
        let (protection, _flags) = words.u32().zip(words.u32())?;
        protection & PROT_EXEC != 0
    } else {
        flags & misc::MMAP_DATA == 0
    };
    let path = words.name();
    Some(code.then_some(Map { pid, start, length, offset, path, build_id }))
}

fn comm(flags: u16, mut words: Words<'_>) -> Option<Other> {
    let (pid, tid) = words.i32().zip(words.i32())?;
    Some(Other::Comm { pid, tid, name: words.name(), exec: flags & misc::COMM_EXEC != 0 })
}

fn task(kind: u32, mut words: Words<'_>) -> Option<Other> {
    let (pid, parent) = words.i32().zip(words.i32())?;
    let (tid, maker) = words.i32().zip(words.i32())?;
    Some(match kind {
        kind::FORK => Other::Fork { task: (pid, tid), parent: (parent, maker) },
        _ => Other::Exit { pid, tid },
    })
}

fn namespaces(mut words: Words<'_>) -> Option<Option<Other>> {
    let (pid, _tid) = words.i32().zip(words.i32())?;
    let count = words.u64().filter(|count| *count <= MOST_NAMESPACES)?;
    let links = words.list(count * 2)?;
    let inode = links.iter().nth(PID_NAMESPACE * 2 + 1);
    Some(inode.filter(|inode| *inode != 0).map(|inode| Other::Namespaces { pid, inode }))
}

fn symbol(mut words: Words<'_>) -> Option<Other> {
    let address = words.u64()?;
    let length = words.u32()?;
    let (_kind, flags) = words.u16().zip(words.u16())?;
    let gone = flags & 1 != 0;
    Some(Other::Symbol { address, length: u64::from(length), name: words.name(), gone })
}

fn cgroup(mut words: Words<'_>) -> Option<Other> {
    let id = words.u64()?;
    Some(Other::Cgroup { id, path: words.name() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64], text: &str) -> Vec<u8> {
        let numbers = words.iter().flat_map(|word| word.to_le_bytes());
        numbers.chain(text.bytes()).chain([0]).collect()
    }

    #[test]
    fn mappings_of_code_have_their_build_id() {
        let id = 20 | 0xaaaa << 32;
        let words = [8 << 32 | 7, 0x1000, 0x200, 0x40, id, u64::MAX, u64::MAX, 5];
        let body = bytes(&words, "/bin/x");
        let read = Other::read(kind::MMAP2, misc::MMAP_BUILD_ID, &body, true);
        let Some(Some(Other::Map(map))) = read else { panic!("no mapping: {read:?}") };
        assert_eq!(
            (map.pid, map.start, map.offset, map.path.as_str()),
            (7, 0x1000, 0x40, "/bin/x")
        );
        assert_eq!(map.build_id.as_ref().map(Vec::len), Some(20));
        let data = bytes(&[8 << 32 | 7, 0x1000, 0x200, 0x40, 0, 0, 0, 3], "/bin/x");
        assert_eq!(Other::read(kind::MMAP2, 0, &data, true), Some(None));
        for end in 0..64 {
            assert_eq!(Other::read(kind::MMAP2, 0, &body[..end], true), None, "{end}");
        }
    }

    #[test]
    fn what_is_not_mapped_is_read_too() {
        let comm = bytes(&[8 << 32 | 7], "cat");
        let expected = Other::Comm { pid: 7, tid: 8, name: "cat".to_owned(), exec: true };
        assert_eq!(Other::read(kind::COMM, misc::COMM_EXEC, &comm, true), Some(Some(expected)));
        let fork = bytes(&[1 << 32 | 2, 1 << 32 | 2, 9], "");
        let expected = Other::Fork { task: (2, 2), parent: (1, 1) };
        assert_eq!(Other::read(kind::FORK, 0, &fork, true), Some(Some(expected)));
        let mut links = vec![7 << 32 | 7, 7];
        links.extend((0..14).map(|at| at + 100));
        let expected = Other::Namespaces { pid: 7, inode: 107 };
        let read = Other::read(kind::NAMESPACES, 0, &bytes(&links, ""), true);
        assert_eq!(read, Some(Some(expected)));
        links[1] = u64::MAX;
        assert_eq!(Other::read(kind::NAMESPACES, 0, &bytes(&links, ""), true), None);
        let code = bytes(&[0xffff_0000, 1 << 32 | 64], "bpf_prog_1");
        let read = Other::read(kind::KSYMBOL, 0, &code, true);
        assert!(matches!(read, Some(Some(Other::Symbol { length: 64, gone: false, .. }))));
    }
}
