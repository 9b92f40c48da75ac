//! Writes small EventPipe traces from the format's specification (microsoft/perfview
//! `NetTraceFormat_v5.md`, `NetTraceFormat.md`, `UniversalProviders.md`).

use std::collections::BTreeMap;

/// An event to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    /// Whose it is, and who wrote it.
    pub(crate) thread: u64,
    pub(crate) capture: u64,
    pub(crate) stack: u32,
    pub(crate) time: u64,
    pub(crate) payload: Vec<u8>,
    /// The activity that it belongs to and one that this is related to, until version 5.
    pub(crate) activity: [u8; 16],
    pub(crate) related: [u8; 16],
    /// The number of its list of labels, since version 6.
    pub(crate) labels: u32,
}

/// A trace under writing.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) bytes: Vec<u8>,
    version: u32,
    sequences: BTreeMap<u64, u32>,
    opcodes: BTreeMap<u32, u8>,
    /// Headers are written in full in every version.
    pub(crate) plain: bool,
}

/// 29 February 2024, 12:00:00.005 as the eight parts of a Windows `SYSTEMTIME`.
const DATE: [u16; 8] = [2024, 2, 4, 29, 12, 0, 0, 5];

impl Trace {
    /// Of a clock that stands at 1,000,000 and ticks a million times in a second.
    pub(crate) fn new(version: u32) -> Self {
        let mut trace = Self {
            bytes: b"Nettrace".to_vec(),
            version,
            sequences: BTreeMap::new(),
            opcodes: BTreeMap::new(),
            plain: false,
        };
        let mut body: Vec<u8> = DATE.iter().flat_map(|part| part.to_le_bytes()).collect();
        body.extend([1_000_000_u64, 1_000_000].iter().flat_map(|number| number.to_le_bytes()));
        body.extend(words(&[8]));
        if version < 6 {
            trace.bytes.extend(words(&[20]));
            trace.bytes.extend(b"!FastSerialization.1");
            body.extend(words(&[4711, 2, 0]));
        } else {
            trace.bytes.extend(words(&[0, 6, 0, 2]));
            trace.bytes.truncate(8 + 12);
            body.extend(words(&[2]));
            for pair in [("HardwareThreadCount", "2"), ("ExpectedCPUSamplingRate", "1000000")] {
                body.extend([text(pair.0), text(pair.1)].concat());
            }
        }
        trace.block("Trace", 1, &body);
        trace
    }

    fn block(&mut self, name: &str, kind: u8, body: &[u8]) {
        if self.version >= 6 {
            let size = u32::try_from(body.len()).expect("a small block");
            self.bytes.extend((size | u32::from(kind) << 24).to_le_bytes());
            self.bytes.extend(body);
            return;
        }
        self.bytes.extend([5, 5, 1]);
        let length = u32::try_from(name.len()).expect("a name");
        self.bytes.extend(words(&[self.version, self.version, length]));
        self.bytes.extend(name.as_bytes());
        self.bytes.push(6);
        if name != "Trace" {
            self.bytes.extend(words(&[u32::try_from(body.len()).expect("a small block")]));
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        }
        self.bytes.extend(body);
        self.bytes.push(6);
    }

    /// The opcode of a type that is described later; version 4 has no room for it.
    pub(crate) fn opcode(&mut self, kind: u32, opcode: u8) {
        self.opcodes.insert(kind, opcode);
    }

    /// Types: number, provider, id, name, fields.
    pub(crate) fn types(&mut self, types: &[(u32, &str, u32, &str, &[&str])]) {
        if self.version >= 6 {
            let mut body = 0_u16.to_le_bytes().to_vec();
            for (number, provider, id, name, fields) in types {
                let mut row = [number_of((*number).into()), text(provider)].concat();
                row.extend([number_of((*id).into()), text(name)].concat());
                row.extend(u16::try_from(fields.len()).expect("few").to_le_bytes());
                for field in *fields {
                    let field = [text(field), vec![21]].concat();
                    row.extend(sized(&field));
                }
                let facts = match self.opcodes.get(number) {
                    // A text of the message, keywords, and behind them the opcode.
                    Some(opcode) => {
                        [vec![4], text("done"), vec![3], vec![0; 8], vec![1, *opcode]].concat()
                    }
                    None => vec![],
                };
                row.extend(sized(&facts));
                body.extend(sized(&row));
            }
            return self.block("MetadataBlock", 3, &body);
        }
        let rows = types.iter().map(|(number, provider, id, name, fields)| {
            let mut payload = words(&[*number]);
            payload.extend(wide(provider));
            payload.extend(words(&[*id]));
            payload.extend(wide(name));
            payload.extend([0; 8]);
            payload.extend(words(&[0, 4, u32::try_from(fields.len()).expect("few")]));
            for field in *fields {
                // Whole numbers; an object, of one of these, has its fields before its name.
                let object = [words(&[1, 1, 10]), wide("Part")].concat();
                payload.extend(if *field == "Object" { object } else { words(&[10]) });
                payload.extend(wide(field));
            }
            if self.version == 5 {
                // Tags: fields of a second kind, the opcode.
                if let Some(opcode) = self.opcodes.get(number) {
                    payload.extend([words(&[4]), vec![2], words(&[0])].concat());
                    payload.extend([words(&[1]), vec![1, *opcode]].concat());
                } else {
                    payload.extend([1, 0, 0, 0, 1, 0]);
                }
            }
            Event { payload, ..Event::default() }
        });
        let rows: Vec<Event> = rows.collect();
        let body = self.events_body(&rows);
        self.block("MetadataBlock", 3, &body);
    }

    /// Stacks from a number on, leaf first.
    pub(crate) fn stacks(&mut self, first: u32, stacks: &[&[u64]]) {
        let mut body = words(&[first, u32::try_from(stacks.len()).expect("few")]);
        for stack in stacks {
            body.extend(words(&[u32::try_from(8 * stack.len()).expect("few")]));
            body.extend(stack.iter().flat_map(|address| address.to_le_bytes()));
        }
        self.block("StackBlock", 5, &body);
    }

    /// Threads of version 6: position, process, number, name.
    pub(crate) fn threads(&mut self, threads: &[(u64, u64, u64, &str)]) {
        let mut body = Vec::new();
        for (at, process, number, name) in threads {
            let mut row = number_of(*at);
            if !name.is_empty() {
                row.extend([vec![1], text(name)].concat());
            }
            row.extend([vec![2], number_of(*process), vec![3], number_of(*number)].concat());
            row.extend([vec![4], text("key"), text("value")].concat());
            body.extend(sized(&row));
        }
        self.block("", 6, &body);
    }

    /// Lists of labels from a number on, each label as it is written but for the bit of the last.
    pub(crate) fn labels(&mut self, first: u32, lists: &[&[Vec<u8>]]) {
        let mut body = words(&[first, u32::try_from(lists.len()).expect("few")]);
        for list in lists {
            for (at, label) in list.iter().enumerate() {
                let mut label = label.clone();
                label[0] |= if at + 1 == list.len() { 0x80 } else { 0 };
                body.extend(label);
            }
        }
        self.block("", 8, &body);
    }

    pub(crate) fn events(&mut self, events: &[Event]) {
        let body = self.events_body(events);
        self.block("EventBlock", 2, &body);
    }

    /// Numbers that were counted by threads until here.
    pub(crate) fn sequence_point(&mut self, time: u64, threads: &[(u64, u32)]) {
        let mut body = time.to_le_bytes().to_vec();
        let count = u32::try_from(threads.len()).expect("few");
        body.extend(if self.version >= 6 { words(&[1, count]) } else { words(&[count]) });
        for (thread, sequence) in threads {
            if self.version >= 6 {
                body.extend([number_of(*thread), number_of((*sequence).into())].concat());
            } else {
                body.extend(thread.to_le_bytes());
                body.extend(words(&[*sequence]));
            }
        }
        self.block("SPBlock", 4, &body);
        if self.version >= 6 {
            self.sequences.clear();
        }
    }

    /// A block of a kind that no reader knows.
    pub(crate) fn unknown(&mut self) {
        self.block("LaterBlock", 77, b"whatever");
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.extend(if self.version >= 6 { vec![0; 4] } else { vec![1] });
        self.bytes
    }

    fn events_body(&mut self, events: &[Event]) -> Vec<u8> {
        // Version 4 is written without compressed headers, and others where that is asked for.
        let compressed = self.version != 4 && !self.plain;
        let mut body = [20, u16::from(compressed)].map(u16::to_le_bytes).concat();
        body.extend([0; 16]);
        let mut before = Event::default();
        let mut sequence = 0;
        for event in events {
            let counted = event.kind != 0 || self.version >= 6;
            let own = self.sequences.entry(event.capture).or_default();
            *own += u32::from(counted);
            let own = *own;
            if compressed {
                let next = u32::from(counted) + sequence;
                body.extend(self.compressed(event, &before, (own, next)));
            } else {
                body.extend(self.plain(event, own));
            }
            (before, sequence) = (event.clone(), own);
        }
        body
    }

    fn plain(&self, event: &Event, sequence: u32) -> Vec<u8> {
        let mut body = words(&[event.kind | 1 << 31, sequence]);
        body.extend([event.thread, event.capture].iter().flat_map(|number| number.to_le_bytes()));
        body.extend(words(&[1, event.stack]));
        body.extend(event.time.to_le_bytes());
        if self.version < 6 {
            body.extend([event.activity, event.related].concat());
        } else {
            body.extend(words(&[event.labels]));
        }
        body.extend(words(&[u32::try_from(event.payload.len()).expect("small")]));
        body.extend(&event.payload);
        if self.version < 6 {
            body.resize(body.len().next_multiple_of(4), 0);
        }
        [words(&[u32::try_from(body.len()).expect("small")]), body].concat()
    }

    /// Says only what differs from the event before.
    fn compressed(&self, event: &Event, before: &Event, (own, next): (u32, u32)) -> Vec<u8> {
        let mut flags = 64;
        let mut body = Vec::new();
        if event.kind != before.kind {
            flags |= 1;
            body.extend(number_of(event.kind.into()));
        }
        if event.capture != before.capture || own != next {
            flags |= 2;
            body.extend(number_of(own.wrapping_sub(next).into()));
            body.extend([number_of(event.capture), number_of(1)].concat());
        }
        if event.thread != before.thread {
            flags |= 4;
            body.extend(number_of(event.thread));
        }
        if event.stack != before.stack {
            flags |= 8;
            body.extend(number_of(event.stack.into()));
        }
        body.extend(number_of(event.time.wrapping_sub(before.time)));
        if event.activity != before.activity && self.version < 6 {
            flags |= 16;
            body.extend(event.activity);
        }
        if event.related != before.related && self.version < 6 {
            flags |= 32;
            body.extend(event.related);
        }
        if event.labels != before.labels && self.version >= 6 {
            flags |= 16;
            body.extend(number_of(event.labels.into()));
        }
        if event.payload.len() != before.payload.len() {
            flags |= 128;
            body.extend(number_of(event.payload.len() as u64));
        }
        [vec![flags], body, event.payload.clone()].concat()
    }
}

pub(crate) fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// UTF-16 that ends with a zero.
pub(crate) fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// UTF-8 behind its length in groups of seven bits.
pub(crate) fn text(text: &str) -> Vec<u8> {
    [number_of(text.len() as u64), text.as_bytes().to_vec()].concat()
}

/// Bytes behind their length in 16 bits.
pub(crate) fn sized(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("small").to_le_bytes();
    [length.as_slice(), bytes].concat()
}

/// A number in groups of seven bits.
pub(crate) fn number_of(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

pub(crate) fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number_of(*number)).collect()
}
