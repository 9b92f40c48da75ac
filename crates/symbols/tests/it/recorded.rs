//! A process that is gone, as a recorder would know it: what was mapped where, and copies of registers and
//! stacks that the process took of itself (`programs/dumper.c`).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use culprit_symbols::{
    Arch, Avma, CodeAddress, FileOffset, ImageCache, ModuleImage, Registers, StackDump,
    UnwindSpace, Unwinder, Unwound, vdso_image,
};

use crate::programs::{Workshop, run};

/// Dumps of each part of the dumper: main thread, second thread, inside a signal handler.
pub(crate) const DUMPS: usize = 150;

/// One copy of registers and stack.
pub(crate) struct Dump {
    pub(crate) registers: Registers,
    pub(crate) base: Avma,
    pub(crate) bytes: Vec<u8>,
}

impl Dump {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("a dump");
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .take(17)
            .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
            .collect();
        let mut registers = Registers::new(Arch::X86_64, words[0], words[8], words[7]);
        for (number, &value) in (0u8..).zip(&words[1..]) {
            registers.set(number, value);
        }
        Self { registers, base: Avma(words[8]), bytes: bytes[17 * 8..].to_vec() }
    }

    pub(crate) fn stack(&self) -> StackDump<'_> {
        StackDump { base: self.base, bytes: &self.bytes }
    }
}

/// A process that is gone: what was mapped where.
pub(crate) struct Process {
    pub(crate) space: UnwindSpace,
    pub(crate) mappings: Vec<(u64, u64, u64, Arc<ModuleImage>)>,
    pub(crate) dumps: Vec<Dump>,
}

impl Process {
    /// Runs the dumper and reads what it left.
    pub(crate) fn record(
        test: &str,
        workshop: &Workshop,
        flags: &[&str],
        strip: bool,
    ) -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            println!("skipped: {test}: the dumping program knows only x86-64");
            return None;
        }
        let binary = workshop.compile(test, "dumper.c", "dumper", flags)?;
        if strip {
            run("strip", &[binary.to_str().expect("UTF-8")]).expect("binutils");
        }
        let folder = workshop.path("dumps");
        fs::create_dir_all(&folder).expect("a temporary folder");
        let arguments = [folder.to_str().expect("UTF-8"), &DUMPS.to_string()];
        run(binary.to_str().expect("UTF-8"), &arguments).expect("the dumper runs");
        let mut process =
            Self { space: UnwindSpace::new(), mappings: Vec::new(), dumps: Vec::new() };
        process.map(&fs::read_to_string(folder.join("maps")).expect("maps"));
        process.dumps =
            (0..3 * DUMPS).map(|n| Dump::read(&folder.join(format!("dump.{n}")))).collect();
        Some(process)
    }

    fn map(&mut self, maps: &str) {
        let mut cache = ImageCache::new();
        let hex = |word: &str| u64::from_str_radix(word, 16).expect("hexadecimal");
        for line in maps.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (start, end) = words[0].split_once('-').expect("a range");
            let (start, end, offset) = (hex(start), hex(end), hex(words[2]));
            if !words[1].contains('x') || words.len() < 6 {
                continue;
            }
            let image = match words[5] {
                "[vdso]" => Arc::new(vdso_image().expect("mapped here too")),
                path if path.starts_with('/') => {
                    let file = fs::File::open(path).expect("still there");
                    cache.open(file, path, None, &mut |_| None).expect("a library opens")
                }
                _ => continue,
            };
            assert!(self.space.add_module(Avma(start), end - start, FileOffset(offset), &image));
            self.mappings.push((start, end, offset, image));
        }
    }

    pub(crate) fn unwind(
        &self,
        unwinder: &mut Unwinder,
        dump: &Dump,
    ) -> (Unwound, Vec<CodeAddress>) {
        let mut frames = Vec::new();
        let unwound = unwinder.unwind(&self.space, dump.registers, dump.stack(), &mut frames);
        (unwound, frames)
    }

    /// Outermost (not inlined) function at each frame.
    pub(crate) fn names(&self, frames: &[CodeAddress]) -> Vec<String> {
        let name = |frame: &CodeAddress| {
            let address = frame.lookup();
            let mapping =
                self.mappings.iter().find(|(start, end, ..)| (*start..*end).contains(&address.0));
            let Some((start, _, offset, image)) = mapping else { return "?!?".to_owned() };
            let svma = image
                .svma_in_mapping(address, Avma(*start), FileOffset(*offset))
                .expect("mapped code");
            let symbols = image.symbolize(svma);
            symbols
                .frames
                .last()
                .and_then(|frame| frame.function.as_deref())
                .unwrap_or("?")
                .to_owned()
        };
        frames.iter().map(name).collect()
    }
}
