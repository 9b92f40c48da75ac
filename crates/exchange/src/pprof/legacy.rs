//! The form that gperftools' CPU profiler writes (gperftools `docs/cpuprofile-fileformat.html`):
//! words of the machine, then its mappings as text.
//!
//! ```text
//! 0 3 0 PERIOD 0          header: its words, the version, microseconds between samples
//! COUNT DEPTH PC...       a stack that was seen so often, leaf first
//! 0 1 0                   the end
//! 00400000-00500000 r-xp 00000000 08:01 1 /opt/app
//! ```

use std::fs::File;

use culprit_model::{Frame, FrameId, LossKind, Metric, ModuleId};
use culprit_symbols::{Avma, FileOffset, ModuleImage};
use rustc_hash::FxHashMap;

use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;

/// Words of a header; there are three in all files so far.
const MOST_HEADER: u64 = 64;
/// Frames of a stack; the profiler keeps 254.
const DEEPEST: usize = 1 << 16;

/// How words are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Encoding {
    width: usize,
    little: bool,
}

const ENCODINGS: [Encoding; 4] = [
    Encoding { width: 8, little: true },
    Encoding { width: 8, little: false },
    Encoding { width: 4, little: true },
    Encoding { width: 4, little: false },
];

/// Words of a file.
#[derive(Debug, Clone, Copy)]
struct Words<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
}

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let Encoding { width, little } = self.encoding;
        let (word, rest) = self.bytes.split_at_checked(width)?;
        self.bytes = rest;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if little { word.iter().rev().fold(0, add) } else { word.iter().fold(0, add) })
    }

    /// The period in microseconds, behind the header.
    fn header(&mut self) -> Option<u64> {
        let (zero, length, version) = (self.next()?, self.next()?, self.next()?);
        let (period, padding) = (self.next()?, self.next()?);
        for _ in 3..length.min(MOST_HEADER) {
            self.next()?;
        }
        let fits = zero == 0 && (3..=MOST_HEADER).contains(&length) && version == 0;
        let usual = (1..=60_000_000).contains(&period) && padding == 0;
        (fits && usual).then_some(period)
    }
}

fn encoding(head: &[u8]) -> Option<(Words<'_>, u64)> {
    ENCODINGS.into_iter().find_map(|encoding| {
        let mut words = Words { bytes: head, encoding };
        let period = words.header()?;
        Some((words, period))
    })
}

pub(super) fn detect(head: &[u8]) -> bool {
    encoding(head).is_some()
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let bytes = input.bytes()?;
    let (mut words, period) = encoding(&bytes).ok_or("its header is malformed")?;
    let mut stacks: Vec<(u64, Vec<u64>)> = Vec::new();
    let ended = loop {
        let (Some(count), Some(depth)) = (words.next(), words.next()) else { break false };
        let Some(depth) = usize::try_from(depth).ok().filter(|depth| *depth <= DEEPEST) else {
            break false;
        };
        let stack: Vec<u64> = std::iter::from_fn(|| words.next()).take(depth).collect();
        if stack.len() != depth {
            break false;
        }
        if count == 0 && stack == [0] {
            break true;
        }
        stacks.push((count, stack));
    };
    if stacks.is_empty() && !ended {
        return Err("it contains no complete stack".to_owned());
    }
    if !ended {
        builder.lose(LossKind::FileDamaged, 1, "the file ends before its last stack");
    }
    let maps = builder.text(if ended { words.bytes } else { &[] });
    let mut code = Code::new(&maps, builder);
    let mut lost = 0;
    for (count, stack) in stacks {
        let period = period.saturating_mul(1000);
        let Some(value) = count.checked_mul(period) else {
            lost += 1;
            continue;
        };
        // Callers are return addresses: the call is in front of them.
        let places = stack.iter().enumerate().map(|(at, pc)| pc.saturating_sub(u64::from(at > 0)));
        let places: Vec<u64> = places.collect();
        let frames = places.iter().rev().flat_map(|place| code.frames(*place, builder));
        let frames: Vec<FrameId> = frames.collect();
        let stack = builder.stack(frames);
        builder.add(Amount { count, ..Amount::at(stack, Metric::Cpu, value) });
    }
    if lost > 0 {
        builder.lose(LossKind::RecordsMalformed, lost, "counts that are too large");
    }
    Ok(())
}

/// A mapped file.
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    module: ModuleId,
    path: String,
    /// None until it is asked for.
    image: Option<Option<ModuleImage>>,
}

/// The mappings, and the frames that were asked for.
struct Code {
    mappings: Vec<Mapping>,
    known: FxHashMap<u64, Vec<FrameId>>,
}

impl Code {
    fn new(maps: &str, builder: &mut Builder) -> Self {
        let mappings = maps.lines().filter_map(|line| mapping(line, builder)).collect();
        Self { mappings, known: FxHashMap::default() }
    }

    /// The frames at an address, outermost first.
    fn frames(&mut self, address: u64, builder: &mut Builder) -> Vec<FrameId> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let frames = self.find(address, builder);
        self.known.insert(address, frames.clone());
        frames
    }

    fn find(&mut self, address: u64, builder: &mut Builder) -> Vec<FrameId> {
        let within = |mapping: &&mut Mapping| (mapping.start..mapping.end).contains(&address);
        let Some(mapping) = self.mappings.iter_mut().find(within) else {
            builder.lose(
                LossKind::AddressesUnknown,
                1,
                "addresses outside all mappings of the file",
            );
            return vec![builder.function(None, &format!("{address:#x}"), "", None)];
        };
        let module = Some(mapping.module);
        let image = mapping.image.get_or_insert_with(|| open(&mapping.path, builder)).as_ref();
        let place = image.and_then(|image| {
            let offset = FileOffset(mapping.offset);
            let place = image.svma_in_mapping(Avma(address), Avma(mapping.start), offset)?;
            let names = image.symbolize(place).frames;
            names.iter().any(|name| name.function.is_some()).then_some(names)
        });
        let Some(names) = place else {
            builder.lose(LossKind::SymbolsMissing, 1, &mapping.path);
            let offset = (address - mapping.start).wrapping_add(mapping.offset);
            return vec![builder.function(module, &format!("{offset:#x}"), "", None)];
        };
        let outermost = names.len().saturating_sub(1);
        let frames = names.iter().enumerate().rev().map(|(at, name)| {
            let function = name.function.as_deref().unwrap_or("?");
            builder.frame(Frame {
                file: name.file.as_deref().map(Into::into),
                line: name.line,
                inlined: at < outermost,
                ..Frame::new(module, function, None)
            })
        });
        frames.collect()
    }
}

/// `00400000-00500000 r-xp 00000000 08:01 1    /opt/app`
fn mapping(line: &str, builder: &mut Builder) -> Option<Mapping> {
    let (range, rest) = line.trim_start().split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut rest = rest.splitn(5, ' ');
    let (_rights, offset) = (rest.next()?, rest.next()?);
    let path = rest.nth(2)?.trim();
    if path.is_empty() {
        return None;
    }
    let (start, end, offset) = (hex(start)?, hex(end)?, hex(offset)?);
    let module = builder.module(path);
    Some(Mapping { start, end, offset, module, path: path.to_owned(), image: None })
}

/// The file that is there now. The profile does not say which build it was.
fn open(path: &str, builder: &mut Builder) -> Option<ModuleImage> {
    let file = File::open(path).ok().filter(|_| path.starts_with('/'));
    let mut image = file.and_then(|file| ModuleImage::open(file, path, None).ok());
    if let Some(image) = &mut image {
        image.attach_debug_files(&mut |path| File::open(path).ok());
    }
    let (kind, what) = match image {
        Some(_) => (
            LossKind::NamesAmbiguous,
            format!("{path}: names come from the current file, which may be another build"),
        ),
        None => (LossKind::ModulesUnreadable, format!("{path}: missing on this machine")),
    };
    builder.lose(kind, 1, &what);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(encoding: Encoding, words: &[u64]) -> Vec<u8> {
        let word = |word: &u64| {
            let bytes = word.to_le_bytes();
            let mut bytes = bytes[..encoding.width].to_vec();
            if !encoding.little {
                bytes.reverse();
            }
            bytes
        };
        words.iter().flat_map(word).collect()
    }

    #[test]
    fn words_of_every_machine_are_read() {
        for encoding in ENCODINGS {
            let mut bytes = file(
                encoding,
                &[0, 3, 0, 10_000, 0, 2, 2, 0x40_1136, 0x40_1200, 1, 1, 0x99_0000, 0, 1, 0],
            );
            bytes.extend(b"00400000-00500000 r-xp 00000000 08:01 1   /no/such app\n");
            let recording = crate::read_bytes("x", bytes, None).expect("a profile").recording;
            let stacks = recording.costs.iter().map(|cost| {
                let frames = recording.stack(cost.stack.unwrap());
                let names: Vec<_> = frames.map(|frame| recording.frame_name(frame)).collect();
                (cost.metric, cost.value, names.join(" "))
            });
            let expected = [
                (Metric::Cpu, 20_000_000, "such app!0x1136 such app!0x11ff".to_owned()),
                (Metric::Cpu, 10_000_000, "0x990000".to_owned()),
            ];
            assert_eq!(stacks.collect::<Vec<_>>(), expected, "{encoding:?}");
        }
    }

    #[test]
    fn a_file_without_its_end_is_read_in_part() {
        let encoding = ENCODINGS[0];
        let bytes = file(encoding, &[0, 3, 0, 10_000, 0, 2, 1, 0x40_1136, 1, 9, 1]);
        let recording = crate::read_bytes("x", bytes, None).expect("a profile").recording;
        assert_eq!(recording.costs.len(), 1);
        assert!(recording.losses.iter().any(|loss| loss.kind == LossKind::FileDamaged));
        assert!(!detect(&file(encoding, &[0, 3, 1, 10_000, 0])) && !detect(&[0; 64]));
    }
}
