//! Records that no perf on this machine writes at will: losses, hardware traces, guests, generated
//! kernel code, in both orders of bytes.

use culprit_exchange::{Format, read_bytes};
use culprit_model::{LossKind, Recording};

/// `sample_type`: where, who, when and the call chain.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5;

/// Whose frames follow in a chain.
const KERNEL: u64 = 0_u64.wrapping_sub(128);
const GUEST_KERNEL: u64 = 0_u64.wrapping_sub(2176);

/// What perf writes into a pipe, in one order of bytes.
struct Pipe {
    little: bool,
    bytes: Vec<u8>,
}

impl Pipe {
    /// A pipe with one event: the CPU clock each millisecond.
    fn new(little: bool) -> Self {
        Self::with_flags(little, 0)
    }

    /// The same with bits of the attributes' flags, as a machine of little end has them.
    fn with_flags(little: bool, flags: u64) -> Self {
        let magic = u64::from_le_bytes(*b"PERFILE2");
        let mut pipe = Self { little, bytes: Vec::new() };
        pipe.bytes = pipe.longs(&[magic, 16]);
        let mut attr = [pipe.int(1), pipe.int(64)].concat();
        attr.extend(pipe.longs(&[0, 1_000_000, SAMPLE_TYPE, 0, flags, 0, 0]));
        pipe.record(64, 0, &attr);
        pipe
    }

    fn int(&self, value: u32) -> Vec<u8> {
        if self.little { value.to_le_bytes().to_vec() } else { value.to_be_bytes().to_vec() }
    }

    fn longs(&self, values: &[u64]) -> Vec<u8> {
        let bytes = |value: &u64| {
            if self.little { value.to_le_bytes() } else { value.to_be_bytes() }
        };
        values.iter().flat_map(bytes).collect()
    }

    fn record(&mut self, kind: u32, misc: u16, body: &[u8]) {
        let size = u16::try_from(body.len() + 8).expect("a small record");
        let short =
            |value: u16| if self.little { value.to_le_bytes() } else { value.to_be_bytes() };
        let head = [self.int(kind), short(misc).to_vec(), short(size).to_vec()].concat();
        self.bytes.extend(head);
        self.bytes.extend_from_slice(body);
    }

    fn sample(&mut self, misc: u16, time: u64, chain: &[u64]) {
        let leaf = chain.last().copied().unwrap_or(0);
        let mut body = self.longs(&[leaf]);
        body.extend([self.int(7), self.int(8)].concat());
        body.extend(self.longs(&[time, chain.len() as u64]));
        body.extend(self.longs(chain));
        self.record(9, misc, &body);
    }

    fn read(&self) -> Recording {
        let read = read_bytes("pipe", self.bytes.clone(), None).expect("a pipe");
        assert_eq!(read.format, Format::PerfData);
        read.recording
    }
}

fn count(recording: &Recording, kind: LossKind, word: &str) -> u64 {
    let of = |loss: &&culprit_model::Loss| loss.kind == kind && loss.detail.contains(word);
    recording.losses.iter().filter(of).map(|loss| loss.count).sum()
}

/// The leaf's name of each row.
fn leaves(recording: &Recording) -> Vec<String> {
    let leaf = |stack| recording.stack(stack).next();
    let rows = recording.costs.iter().filter_map(|cost| leaf(cost.stack?));
    rows.map(|frame| recording.frame_name(frame)).collect()
}

#[test]
fn every_loss_is_a_row() {
    for little in [true, false] {
        let mut pipe = Pipe::new(little);
        pipe.sample(2, 100, &[0x1000]);
        pipe.record(2, 0, &pipe.longs(&[1, 30]));
        pipe.record(13, 0, &pipe.longs(&[4]));
        // What a program of the user's filtered out is no loss.
        pipe.record(13, 1 << 15, &pipe.longs(&[1000]));
        pipe.record(5, 0, &pipe.longs(&[100, 1, 1]));
        let trace = pipe.longs(&[4096, 0, 0, 0, 0]);
        pipe.record(71, 0, &trace);
        pipe.bytes.extend([0xee; 4096]);
        pipe.record(9, 2, &[0; 8]);
        pipe.record(200, 0, &[0xff; 40]);
        pipe.sample(2, 200, &[0x1000]);
        let recording = pipe.read();
        assert_eq!(recording.costs.len(), 2, "little: {little}");
        let times: Vec<_> = recording.costs.iter().map(|cost| cost.time.0).collect();
        assert_eq!(times, [0, 100]);
        assert!(recording.costs.iter().all(|cost| cost.value == 1_000_000));
        assert_eq!(count(&recording, LossKind::SamplesLost, "records that perf lost"), 30);
        assert_eq!(count(&recording, LossKind::SamplesLost, "LOST_SAMPLES"), 4);
        assert_eq!(count(&recording, LossKind::SamplingThrottled, ""), 1);
        assert_eq!(count(&recording, LossKind::DetailLeftOut, "AUX"), 4096);
        assert_eq!(count(&recording, LossKind::RecordsMalformed, ""), 1);
    }
}

#[test]
fn guests_are_told_apart_and_generated_kernel_code_has_its_name() {
    for little in [true, false] {
        let mut pipe = Pipe::new(little);
        let mut symbol = pipe.longs(&[0xffff_ffff_c000_0000]);
        symbol.extend(pipe.int(64));
        symbol.extend([0; 4]);
        symbol.extend(b"bpf_prog_1\0\0\0\0\0\0");
        pipe.record(17, 0, &symbol);
        pipe.sample(1, 100, &[KERNEL, 0xffff_ffff_c000_0010]);
        pipe.sample(4, 200, &[GUEST_KERNEL, 0xffff_ffff_8100_0000]);
        let recording = pipe.read();
        assert_eq!(leaves(&recording), ["[bpf]!bpf_prog_1", "[guest.kernel]!?"]);
        assert_eq!(count(&recording, LossKind::AddressesUnknown, "guest"), 1);
    }
}

#[test]
fn processes_are_what_they_execute_and_threads_end() {
    let mut pipe = Pipe::new(true);
    let task = |pipe: &Pipe, pid: u32, tid: u32| [pipe.int(pid), pipe.int(tid)].concat();
    let comm = |pipe: &mut Pipe, name: &[u8; 8], misc| {
        let body = [task(pipe, 7, 7), name.to_vec()].concat();
        pipe.record(3, misc, &body);
    };
    comm(&mut pipe, b"sh\0\0\0\0\0\0", 0);
    comm(&mut pipe, b"cat\0\0\0\0\0", 1 << 13);
    // Thread 8 of process 7, begun by 7.
    let body = [task(&pipe, 7, 7), task(&pipe, 8, 7), pipe.longs(&[50])].concat();
    pipe.record(7, 0, &body);
    pipe.sample(2, 100, &[0x1000]);
    let recording = pipe.read();
    let names: Vec<_> =
        recording.threads.iter().map(|row| (row.tid.0, row.name.as_str())).collect();
    assert_eq!(names, [(7, "cat"), (8, "cat")]);
    assert_eq!(recording.processes.len(), 1);
}

#[test]
fn a_file_of_records_without_end_is_read_up_to_where_it_is_cut() {
    let mut pipe = Pipe::new(true);
    for at in 0..50 {
        pipe.sample(2, at, &[0x1000, 0x2000, 0x3000]);
    }
    let whole = pipe.bytes.len();
    for end in 0..whole {
        let read = read_bytes("cut", pipe.bytes[..end].to_vec(), Some(Format::PerfData));
        let Ok(read) = read else { continue };
        assert!(read.recording.costs.len() <= 50);
        let cut =
            count(&read.recording, LossKind::FileDamaged, "the rest of the records is unreadable");
        assert_eq!(cut, u64::from(!(whole - end).is_multiple_of(64)), "{end}");
    }
}

/// The kernel leaves the flag of a build id set for listeners who did not ask for one.
#[test]
fn mappings_have_a_build_id_only_where_the_event_asked_for_it() {
    let build_id_of = |flags| {
        let mut pipe = Pipe::with_flags(true, flags);
        let mut body = [pipe.int(7), pipe.int(7), pipe.longs(&[0x1000, 0x1000, 0])].concat();
        body.extend(pipe.longs(&[20 | 0xabab << 32, 0xabab, 0xabab]));
        body.extend([pipe.int(5), pipe.int(0)].concat());
        body.extend(b"/bin/none-such\0\0");
        pipe.record(10, 2 | 1 << 14, &body);
        pipe.sample(2, 100, &[0x1010]);
        let modules = pipe.read().modules;
        let module = modules.into_iter().find(|module| module.name.as_str() == "none-such");
        module.expect("it is mapped").build_id.is_some()
    };
    assert!(build_id_of(1 << 34));
    assert!(!build_id_of(0));
}
