//! Saved ring bytes as a source of records, for tests without rights; and the tests on them.
//!
//! `fixtures/sleeper.rings` holds what the kernel wrote while one thread slept, started a thread
//! and ran `true`. It is remade, on a machine with rights, by running this test program with
//! `saved::tests::remake --skip=remake-fixture`. Layout, in little-endian words: the events' shapes
//! (count; id, role, fields each), then rounds (count) of chunks (count; stream, CPU, length,
//! words).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::events::attr::{Fields, Role, Stream};
use crate::events::decode::{EventShape, EventShapes};
use crate::rings::chunk::Chunk;
use crate::rings::source::{EventSource, Ready};

/// Roles by the number that files have for them; only ever extended.
const ROLES: [Role; 14] = [
    Role::Maps,
    Role::Accounting,
    Role::Anchor,
    Role::SwitchStack,
    Role::SwitchDump,
    Role::Clock,
    Role::WakingThread,
    Role::WakingInterrupt,
    Role::Wakeup,
    Role::WakeupNew,
    Role::MajorFault,
    Role::MinorFault,
    Role::Switch,
    Role::Executed,
];

/// Rounds of chunks, as they were read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Saved {
    /// What samples look like.
    pub(crate) shapes: Vec<EventShape>,
    /// What each round brought.
    pub(crate) rounds: Vec<Vec<Chunk>>,
}

/// Delivers saved rounds one by one.
#[derive(Debug)]
pub(crate) struct SavedSource {
    saved: Saved,
    next: usize,
}

impl SavedSource {
    /// A source of `saved`.
    pub(crate) fn new(saved: Saved) -> Self {
        Self { saved, next: 0 }
    }

    /// Whether every round was delivered.
    pub(crate) fn is_empty(&self) -> bool {
        self.next >= self.saved.rounds.len()
    }
}

impl EventSource for SavedSource {
    fn shapes(&self) -> EventShapes {
        EventShapes::new(self.saved.shapes.clone())
    }

    fn wait(&mut self, _: Duration, _: Option<BorrowedFd<'_>>) -> io::Result<Ready> {
        Ok(Ready::All)
    }

    fn drain(&mut self, streams: &[Stream], _: &mut Vec<Vec<u64>>, out: &mut Vec<Chunk>) {
        let Some(round) = self.saved.rounds.get(self.next) else { return };
        out.extend(round.iter().filter(|chunk| streams.contains(&chunk.stream)).cloned());
        self.next += usize::from(streams.contains(&Stream::Accounting));
    }
}

impl Saved {
    /// The file's words.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = vec![self.shapes.len() as u64];
        for EventShape { id, role, fields, .. } in &self.shapes {
            let role = ROLES.iter().position(|known| known == role).expect("every role has one");
            let flags = [fields.address, fields.period, fields.callchain, fields.raw];
            let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag));
            words.extend([*id, role as u64, flags, fields.registers, fields.stack_bytes.into()]);
        }
        words.push(self.rounds.len() as u64);
        for round in &self.rounds {
            words.push(round.len() as u64);
            for Chunk { stream, cpu, words: chunk } in round {
                let stream = Stream::ALL.iter().position(|known| known == stream);
                words.push(stream.expect("every stream has one") as u64);
                words.extend([u64::from(*cpu), chunk.len() as u64]);
                words.extend(chunk);
            }
        }
        words
    }

    /// Reads a file's words.
    pub(crate) fn parse(words: &[u64]) -> Option<Self> {
        let words = &mut words.iter().copied();
        let shapes = (0..words.next()?).map(|_| parse_shape(words)).collect::<Option<_>>()?;
        let rounds = (0..words.next()?)
            .map(|_| (0..words.next()?).map(|_| parse_chunk(words)).collect::<Option<_>>())
            .collect::<Option<_>>()?;
        Some(Self { shapes, rounds })
    }
}

fn parse_shape(words: &mut impl Iterator<Item = u64>) -> Option<EventShape> {
    let (id, role) = (words.next()?, *ROLES.get(usize::try_from(words.next()?).ok()?)?);
    let flags = words.next()?;
    let flag = |bit: u32| flags >> bit & 1 == 1;
    let fields = Fields {
        address: flag(0),
        period: flag(1),
        callchain: flag(2),
        raw: flag(3),
        registers: words.next()?,
        stack_bytes: u32::try_from(words.next()?).ok()?,
    };
    Some(EventShape::new(id, role, fields))
}

fn parse_chunk(words: &mut impl Iterator<Item = u64>) -> Option<Chunk> {
    let stream = *Stream::ALL.get(usize::try_from(words.next()?).ok()?)?;
    let cpu = u32::try_from(words.next()?).ok()?;
    let length = usize::try_from(words.next()?).ok()?;
    let chunk: Vec<u64> = words.take(length).collect();
    (chunk.len() == length).then_some(Chunk { stream, cpu, words: chunk })
}

mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use culprit_model::{MarkKind, Meta, Recording, SwitchKind};
    use culprit_recording::{SpoolOptions, SpoolWriter};
    use proptest::prelude::*;

    use super::*;
    use crate::events::handle::Context;
    use crate::events::sets::{EventChoice, Stacks};
    use crate::events::worker::{Worker, kernel_symbols};
    use crate::rings::perf::{Attachment, PerfSource, RingSizes};
    use crate::rings::reader::{Opener, Reader, SampleRates};
    use crate::session::Crew;
    use crate::session::ladder::{Rights, online_cpus};

    fn fixture() -> Vec<u64> {
        let bytes: &[u8] = include_bytes!("../../fixtures/sleeper.rings");
        bytes
            .chunks_exact(8)
            .filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
            .collect()
    }

    /// Sends saved rounds through reader, sorter, handler and file, as a real recording goes.
    fn replay(saved: Saved) -> Recording {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("replayed.culprit");
        let spool = SpoolWriter::create(&path, &Meta::default(), SpoolOptions::default());
        let crew = Crew::new(SampleRates::default());
        let context = Context { switch_stacks: true, ..Context::default() };
        let source = SavedSource::new(saved);
        let kernel = std::thread::spawn(kernel_symbols);
        let spool = spool.expect("a writable folder");
        let worker = Worker::new(context, source.shapes(), spool, crew.wires, kernel);
        let stop = Arc::clone(&crew.stop_reader);
        let mut reader = Reader::new(source, Opener::default(), Vec::new(), crew.lines);
        while !reader.source().is_empty() {
            reader.round(false);
        }
        stop.give();
        drop(crew.readings);
        drop(reader.run());
        worker.run();
        culprit_recording::open(&path).expect("it was just written").recording
    }

    #[test]
    fn saved_rings_become_the_rows_of_what_was_done() {
        let recording = replay(Saved::parse(&fixture()).expect("our own file"));
        let outs: Vec<_> =
            recording.switches.iter().filter(|row| row.kind == SwitchKind::Out).collect();
        assert!(outs.len() >= 10, "ten sleeps, {} switches out", outs.len());
        assert!(outs.iter().all(|row| row.stack.is_some()), "every wait has a stack");
        let mut inside = vec![None; recording.threads.len()];
        for switch in &recording.switches {
            let enters = switch.kind == SwitchKind::In;
            assert_ne!(inside[switch.thread.index()].replace(enters), Some(enters), "{switch:?}");
        }
        let executed = recording.marks.iter().find(|mark| mark.kind == MarkKind::Exec);
        assert!(executed.is_some_and(|mark| mark.text.ends_with("/true")), "{:?}", recording.marks);
        assert!(recording.processes.iter().any(|row| row.name.as_str() == "true"));
        assert!(recording.threads.iter().any(|row| row.name.as_str() == "helper"));
        assert!(recording.modules.iter().any(|row| row.path.ends_with("/true")));
    }

    #[test]
    fn a_file_of_rings_is_read_as_it_was_written() {
        let words = fixture();
        assert_eq!(Saved::parse(&words).map(|saved| saved.words()), Some(words.clone()));
        assert_eq!(Saved::parse(&words[..words.len() - 1]), None);
    }

    /// A machine with counters writes such records; this one may have none.
    #[test]
    fn samples_of_counters_become_costs() {
        use crate::events::extras::Hardware;
        let fields = Fields { period: true, callchain: true, ..Fields::default() };
        let shape = |id, counter| EventShape::new(id, Role::Hardware(counter), fields);
        let shapes = vec![shape(7, Hardware::Cycles), shape(8, Hardware::Instructions)];
        // header (type 9, in user code, 9 words), event, thread 40 of process 30, time, period, two
        // addresses behind the marker of user code
        let record = |event: u64, time: u64, period: u64| {
            let header = 9 | 2 << 32 | (9 * 8) << 48;
            let user = (-512_i64).cast_unsigned();
            [header, event, 40 << 32 | 30, time, period, 3, user, 0x1000, 0x2000]
        };
        let records = [record(7, 100, 5000), record(8, 200, 2000), record(7, 300, 4000)];
        let words = records.concat();
        let chunk = Chunk { stream: Stream::Samples, cpu: 0, words };
        let recording = replay(Saved { shapes, rounds: vec![vec![chunk]] });
        let told: Vec<_> = recording
            .costs
            .iter()
            .map(|row| (row.metric.to_string(), row.value, row.count))
            .collect();
        let expected = [("cycles".to_owned(), 9000, 2), ("instructions".to_owned(), 2000, 1)];
        assert_eq!(told, expected, "{:?}", recording.losses);
        assert!(recording.costs.iter().all(|row| row.stack.is_some()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Damaged rings make other rows or losses, and never a panic.
        #[test]
        fn damaged_rings_are_no_danger(
            hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..40)
        ) {
            let mut saved = Saved::parse(&fixture()).expect("our own file");
            for (at, value) in hits {
                let mut chunks: Vec<_> = saved.rounds.iter_mut().flatten().collect();
                let chunk = at.get_mut(&mut chunks);
                if !chunk.words.is_empty() {
                    let word = at.index(chunk.words.len());
                    chunk.words[word] = value;
                }
            }
            replay(saved);
        }
    }

    /// Makes the fixture anew, when the test program is asked to.
    #[test]
    fn remake() {
        if !std::env::args().any(|word| word == "--skip=remake-fixture") {
            return;
        }
        let cpus = online_cpus().expect("/sys");
        let rights = Rights::probe(cpus[0]);
        let choice = EventChoice {
            kernel: true,
            frequency: 999,
            stacks: Stacks::FramePointers,
            waker_stacks: false,
            wakers: None,
            most_samples: u32::MAX,
            paced: false,
        };
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let attachment = Attachment::Threads(vec![own]);
        let sizes = RingSizes::wanted(cpus.len());
        let events = choice.events();
        let events: Vec<_> = events.into_iter().filter(|spec| ROLES.contains(&spec.role)).collect();
        let mut source = PerfSource::open(&events, &attachment, &cpus, sizes, rights.features)
            .expect("this takes rights");
        source.start().expect("they are open");
        let mut rounds = Vec::new();
        for round in 0..3 {
            if round == 1 {
                let helper = std::thread::Builder::new().name("helper".to_owned());
                let pause = || std::thread::sleep(Duration::from_millis(1));
                helper.spawn(pause).expect("room").join().expect("it only sleeps");
                #[expect(clippy::disallowed_methods, reason = "the fixture wants an execve")]
                std::process::Command::new("true").status().expect("it is everywhere");
            }
            for _ in 0..4 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut chunks = Vec::new();
            source.drain(&Stream::ALL, &mut Vec::new(), &mut chunks);
            rounds.push(chunks);
        }
        source.stop();
        let saved = Saved { shapes: source.shape_list(), rounds };
        let bytes: Vec<u8> = saved.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sleeper.rings");
        std::fs::write(path, bytes).expect("the checkout can be written");
    }
}
