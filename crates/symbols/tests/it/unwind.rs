//! Unwinding of real stacks: a program dumps its own registers and stack at random moments, and every
//! walk must reach the outermost frame through the functions that are known to be there.

use std::collections::HashMap;
use std::fs;

use culprit_symbols::{FileOffset, Outcome, StackDump, Truncation, Unwinder};

use crate::programs::Workshop;
use crate::recorded::{DUMPS, Dump, Process};

/// Whether the wanted names occur in this order, others in between.
fn in_order(names: &[String], wanted: &[&str]) -> bool {
    let mut names = names.iter();
    wanted.iter().all(|wanted| names.any(|name| name == wanted))
}

/// What the walks of all dumps came to.
struct Walked {
    dumps: usize,
    /// Walks in which something was guessed.
    guessed: usize,
    /// How often known callers were seen, by what is special about them.
    seen: HashMap<&'static str, usize>,
}

const CALLBACK: &str = "callback of libc";
const REALIGNED: &str = "realigned stack";
const SIGNAL: &str = "signal frame";
const CHAINS: [(&str, &[&str]); 4] = [
    (CALLBACK, &["compare", "sorting", "realigned", "middle", "outer", "loop"]),
    (REALIGNED, &["realigned", "middle", "outer", "loop"]),
    (SIGNAL, &["on_outer", "raise", "main"]),
    ("clock", &["clocks", "middle", "outer", "loop"]),
];

/// Walks all dumps; each must be complete and lead through the known callers.
fn walk(test: &str, flags: &[&str], named: bool) -> Option<Walked> {
    let workshop = Workshop::new();
    let process = Process::record(test, &workshop, flags, !named)?;
    let mut unwinder = Unwinder::new();
    let mut walked = Walked { dumps: process.dumps.len(), guessed: 0, seen: HashMap::new() };
    for (index, dump) in process.dumps.iter().enumerate() {
        let (unwound, frames) = process.unwind(&mut unwinder, dump);
        let names = process.names(&frames);
        assert_eq!(unwound.outcome, Outcome::Complete, "dump {index}: {names:?}");
        walked.guessed += usize::from(unwound.by_frame_pointer > 0);
        if !named {
            continue;
        }
        let root = if (DUMPS..2 * DUMPS).contains(&index) { "thread" } else { "main" };
        assert!(names.iter().any(|name| name == root), "dump {index}: {names:?}");
        for (what, chain) in CHAINS {
            *walked.seen.entry(what).or_default() += usize::from(in_order(&names, chain));
        }
    }
    println!("{flags:?}: {:?}, cached {:?}", walked.seen, unwinder.cached());
    Some(walked)
}

/// Walks all dumps; each kind of callers is seen.
fn check(test: &str, flags: &[&str], named: bool) {
    let Some(Walked { seen, .. }) = walk(test, flags, named) else { return };
    if named {
        assert!(seen[CALLBACK] > 0 && seen[REALIGNED] > 0, "{seen:?}");
        assert_eq!(seen[SIGNAL], DUMPS, "{seen:?}");
    }
}

const OPTIMISED: &[&str] = &["-O2", "-g", "-fomit-frame-pointer"];
const FIXED: &[&str] = &["-O0", "-no-pie"];
const STATIC: &[&str] = &["-O2", "-static"];
const STRIPPED: &[&str] = &["-O2", "-fomit-frame-pointer"];

#[test]
fn optimised_code_without_frame_pointers() {
    check("optimised_code_without_frame_pointers", OPTIMISED, true);
}

#[test]
fn unoptimised_code_at_a_fixed_address() {
    check("unoptimised_code_at_a_fixed_address", FIXED, true);
}

#[test]
fn static_program() {
    check("static_program", STATIC, true);
}

#[test]
fn stripped_program() {
    check("stripped_program", STRIPPED, false);
}

/// Guesses are rare: linkage stubs of static programs have no unwind entries.
#[test]
#[ignore = "statistical: make accuracy"]
fn guesses_are_rare_and_every_kind_of_caller_is_frequent() {
    let test = "guesses_are_rare_and_every_kind_of_caller_is_frequent";
    for (flags, named) in [(OPTIMISED, true), (FIXED, true), (STATIC, true), (STRIPPED, false)] {
        let Some(Walked { dumps, guessed, seen }) = walk(test, flags, named) else { return };
        assert!(guessed * 20 < dumps, "{guessed} stacks with guesses");
        let frequent = |what| seen[what] > DUMPS / 4;
        assert!(!named || (frequent(CALLBACK) && frequent(REALIGNED)), "{seen:?}");
    }
}

/// How many walks of a program without unwind entries of its own, as Go and JIT compilers make them, are
/// complete, and how many there are.
fn without_entries(test: &str) -> Option<(usize, usize)> {
    let workshop = Workshop::new();
    let flags = ["-O1", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"];
    let process = Process::record(test, &workshop, &flags, false)?;
    let mut unwinder = Unwinder::new();
    let mut complete = 0;
    for (index, dump) in process.dumps.iter().enumerate() {
        let (unwound, frames) = process.unwind(&mut unwinder, dump);
        let names = process.names(&frames);
        if unwound.outcome != Outcome::Complete {
            // Between `push` and `mov` of a function that libc called, nothing says where the caller is.
            assert_eq!(
                unwound.outcome,
                Outcome::Truncated(Truncation::NoRow),
                "dump {index}: {names:?}"
            );
            continue;
        }
        complete += 1;
        assert!(unwound.by_frame_pointer > 0, "dump {index}: {names:?}");
        // A function interrupted at its entry hides its caller, but not the callers of that.
        let root = ["main", "thread"].map(|root| in_order(&names, &[root]));
        assert!(root.contains(&true), "dump {index}: {names:?}");
    }
    Some((complete, process.dumps.len()))
}

#[test]
fn code_without_unwind_entries_follows_frame_pointers() {
    let counts = without_entries("code_without_unwind_entries_follows_frame_pointers");
    assert!(counts.is_none_or(|(complete, _)| complete > 0), "{counts:?}");
}

#[test]
#[ignore = "statistical: make accuracy"]
fn nearly_all_code_without_unwind_entries_follows_frame_pointers() {
    let test = "nearly_all_code_without_unwind_entries_follows_frame_pointers";
    let Some((complete, all)) = without_entries(test) else { return };
    assert!(complete * 100 >= all * 95, "{complete} of {all}");
}

/// A dump that is too short says so, and what it gives is the beginning of the whole.
#[test]
fn a_short_dump_gives_the_inner_frames() {
    let test = "a_short_dump_gives_the_inner_frames";
    let workshop = Workshop::new();
    let Some(process) = Process::record(test, &workshop, &["-O2"], false) else { return };
    let mut unwinder = Unwinder::new();
    for dump in &process.dumps {
        let (_, whole) = process.unwind(&mut unwinder, dump);
        for length in [0, 8, 64, 512] {
            let bytes = &dump.bytes[..length.min(dump.bytes.len())];
            let stack = StackDump { base: dump.base, bytes };
            let mut frames = Vec::new();
            let unwound = unwinder.unwind(&process.space, dump.registers, stack, &mut frames);
            assert!(whole.starts_with(&frames), "{length} bytes: {frames:?} of {whole:?}");
            let end = matches!(unwound.outcome, Outcome::Truncated(Truncation::StackEnd { .. }));
            assert!(end || frames.len() == whole.len(), "{length} bytes: {unwound:?}");
        }
    }
}

/// The same stacks through framehop: both must find the same frames, up to those that are beyond it (signal
/// frames and realigned stacks, after which it stops or follows the frame pointer somewhere).
#[test]
fn framehop_finds_the_same_frames_as_far_as_it_can() {
    let test = "framehop_finds_the_same_frames_as_far_as_it_can";
    let workshop = Workshop::new();
    let flags = ["-O2", "-g", "-fomit-frame-pointer"];
    let Some(process) = Process::record(test, &workshop, &flags, false) else { return };
    let other = framehop_unwinder(&process);
    let (mut unwinder, mut cache) = (Unwinder::new(), framehop::x86_64::CacheX86_64::<_>::new());
    let (mut equal, mut further) = (0, 0);
    for (index, dump) in process.dumps.iter().enumerate() {
        let (_, frames) = process.unwind(&mut unwinder, dump);
        let names = process.names(&frames);
        let ours: Vec<u64> = frames.iter().map(|frame| frame.address().0).collect();
        let theirs = framehop_walk(&other, &mut cache, dump);
        let common = ours.iter().zip(&theirs).take_while(|(one, other)| one == other).count();
        let beyond = names[..common].iter().any(|name| name == "realigned" || name == "on_outer");
        assert!(
            common == theirs.len() || beyond,
            "dump {index}: {names:?}\n{ours:x?}\n{theirs:x?}"
        );
        equal += usize::from(ours == theirs);
        further += usize::from(common < ours.len());
    }
    println!("{equal} stacks are equal, {further} go further than framehop's");
    assert!(equal > 0);
}

type Framehop = framehop::x86_64::UnwinderX86_64<Vec<u8>>;

fn framehop_unwinder(process: &Process) -> Framehop {
    use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
    use object::{Object, ObjectSection};
    let mut unwinder = Framehop::new();
    for (start, end, offset, image) in
        process.mappings.iter().filter(|(.., image)| image.path().starts_with('/'))
    {
        let bytes = fs::read(image.path()).expect("still there");
        let file = object::File::parse(bytes.as_slice()).expect("ELF");
        let range = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address() + section.size())
        };
        let data = |name: &str| Some(file.section_by_name(name)?.data().ok()?.to_vec());
        let svma = image.mapping_svma(FileOffset(*offset)).expect("code");
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            ..Default::default()
        };
        let base = start.wrapping_sub(svma.0);
        unwinder.add_module(Module::new(image.path().to_owned(), *start..*end, base, sections));
    }
    unwinder
}

/// The frames as far as framehop goes.
fn framehop_walk(
    unwinder: &Framehop,
    cache: &mut framehop::x86_64::CacheX86_64,
    dump: &Dump,
) -> Vec<u64> {
    use framehop::Unwinder as _;
    let registers = &dump.registers;
    let value = |number| registers.get(number).expect("all were dumped");
    let pointer = registers.instruction_pointer().0;
    let start = framehop::x86_64::UnwindRegsX86_64::new(pointer, value(7), value(6));
    let mut read = |address: u64| {
        let at = usize::try_from(address.checked_sub(dump.base.0).ok_or(())?).map_err(|_| ())?;
        let bytes = dump.bytes.get(at..).and_then(|bytes| bytes.first_chunk()).ok_or(())?;
        Ok(u64::from_le_bytes(*bytes))
    };
    let mut frames = unwinder.iter_frames(pointer, start, cache, &mut read);
    let mut found = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        found.push(frame.address());
    }
    found
}
