//! Writes small flight recordings as async-profiler does, from the format's description in
//! `crates/exchange/src/jfr`: what no recorder at hand writes.

use std::collections::BTreeMap;

/// A field: name, class, and `c` for constants, `l` for lists, `n` for nanoseconds.
type Field = (&'static str, u64, &'static str);

const TEXT: u64 = 20;
const CLASS: u64 = 21;
const THREAD: u64 = 22;
const TRACE: u64 = 23;
const FRAME: u64 = 24;
const METHOD: u64 = 25;
const SYMBOL: u64 = 26;
const STATE: u64 = 27;
const KIND: u64 = 28;
const TIMESPAN: u64 = 29;
const LONG: u64 = 11;
const INT: u64 = 10;
const BOOLEAN: u64 = 4;
pub(crate) const SAMPLE: u64 = 101;
pub(crate) const WALL: u64 = 102;
pub(crate) const IN_TLAB: u64 = 103;
pub(crate) const ENTER: u64 = 104;
pub(crate) const SETTING: u64 = 105;
pub(crate) const JVM: u64 = 106;
pub(crate) const LIVE: u64 = 107;
pub(crate) const LOG: u64 = 108;
pub(crate) const RECORDING: u64 = 109;
pub(crate) const SPAN: u64 = 110;
pub(crate) const TRACED: u64 = 111;
pub(crate) const OWN: u64 = 112;
pub(crate) const COMPILED: u64 = 113;

const AT: Field = ("startTime", LONG, "");
const FOR: Field = ("duration", LONG, "n");
const BY: Field = ("eventThread", THREAD, "c");
const STACK: Field = ("stackTrace", TRACE, "c");

/// Classes by number; the numbers up to 11 are of no meaning, as all are.
const CLASSES: &[(u64, &str, &[Field])] = &[
    (BOOLEAN, "boolean", &[]),
    (INT, "int", &[]),
    (LONG, "long", &[]),
    (TEXT, "java.lang.String", &[]),
    (CLASS, "java.lang.Class", &[("classLoader", LONG, ""), ("name", SYMBOL, "c")]),
    (
        THREAD,
        "java.lang.Thread",
        &[
            ("osName", TEXT, ""),
            ("osThreadId", LONG, ""),
            ("javaName", TEXT, ""),
            ("javaThreadId", LONG, ""),
        ],
    ),
    (TRACE, "jdk.types.StackTrace", &[("truncated", BOOLEAN, ""), ("frames", FRAME, "l")]),
    (
        FRAME,
        "jdk.types.StackFrame",
        &[
            ("method", METHOD, "c"),
            ("lineNumber", INT, ""),
            ("bytecodeIndex", INT, ""),
            ("type", KIND, "c"),
        ],
    ),
    (
        METHOD,
        "jdk.types.Method",
        &[("type", CLASS, "c"), ("name", SYMBOL, "c"), ("hidden", BOOLEAN, "")],
    ),
    (SYMBOL, "jdk.types.Symbol", &[("string", TEXT, "")]),
    (STATE, "jdk.types.ThreadState", &[("name", TEXT, "")]),
    (KIND, "jdk.types.FrameType", &[("description", TEXT, "")]),
    (TIMESPAN, "jdk.jfr.Timespan", &[("value", TEXT, "")]),
    (
        SAMPLE,
        "jdk.ExecutionSample",
        &[AT, ("sampledThread", THREAD, "c"), STACK, ("state", STATE, "c")],
    ),
    (
        WALL,
        "profiler.WallClockSample",
        &[AT, ("sampledThread", THREAD, "c"), STACK, ("state", STATE, "c"), ("samples", INT, "")],
    ),
    (
        IN_TLAB,
        "jdk.ObjectAllocationInNewTLAB",
        &[
            AT,
            BY,
            STACK,
            ("objectClass", CLASS, "c"),
            ("allocationSize", LONG, ""),
            ("tlabSize", LONG, ""),
        ],
    ),
    (
        ENTER,
        "jdk.JavaMonitorEnter",
        &[AT, ("duration", LONG, "n"), BY, STACK, ("monitorClass", CLASS, "c")],
    ),
    (
        SETTING,
        "jdk.ActiveSetting",
        &[AT, ("id", LONG, ""), ("name", TEXT, ""), ("value", TEXT, "")],
    ),
    (JVM, "jdk.JVMInformation", &[AT, ("javaArguments", TEXT, ""), ("pid", LONG, "")]),
    (
        LIVE,
        "profiler.LiveObject",
        &[AT, BY, STACK, ("objectClass", CLASS, "c"), ("allocationSize", LONG, "")],
    ),
    (LOG, "profiler.Log", &[AT, ("message", TEXT, "")]),
    (RECORDING, "jdk.ActiveRecording", &[AT]),
    (SPAN, "profiler.Span", &[AT, FOR, BY, ("tag", TEXT, "")]),
    (TRACED, "jdk.MethodTrace", &[AT, FOR, BY, STACK, ("method", METHOD, "c")]),
    (OWN, "work.Request", &[AT, FOR, BY, STACK, ("path", TEXT, "")]),
    (COMPILED, "jdk.Compilation", &[AT, FOR, BY]),
];

/// Values one after the other, as in an event.
#[derive(Debug, Default, Clone)]
pub(crate) struct Values(pub(crate) Vec<u8>);

impl Values {
    pub(crate) fn number(mut self, mut number: u64) -> Self {
        for _ in 0..8 {
            let low = u8::try_from(number & 0x7f).expect("seven bits");
            number >>= 7;
            if number == 0 {
                self.0.push(low);
                return self;
            }
            self.0.push(low | 0x80);
        }
        self.0.push(u8::try_from(number).expect("eight bits are left"));
        self
    }

    pub(crate) fn numbers(self, numbers: &[u64]) -> Self {
        numbers.iter().fold(self, |values, number| values.number(*number))
    }

    /// A text in the encoding that fits: nothing for an empty one, Latin-1 where that holds it.
    pub(crate) fn text(mut self, text: &str) -> Self {
        let latin: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        match latin {
            Ok(latin) if latin.is_empty() => self.0.push(1),
            Ok(latin) if !text.is_ascii() => {
                self.0.push(5);
                self = self.number(latin.len() as u64);
                self.0.extend(latin);
            }
            _ => {
                self.0.push(3);
                self = self.number(text.len() as u64);
                self.0.extend(text.as_bytes());
            }
        }
        self
    }

    /// A text by the key of a constant.
    pub(crate) fn text_constant(mut self, key: u64) -> Self {
        self.0.push(2);
        self.number(key)
    }
}

/// A chunk: a second of a clock that ticks a thousand times.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    events: Vec<u8>,
    constants: BTreeMap<u64, Vec<(u64, Values)>>,
    symbols: Vec<String>,
}

impl Chunk {
    pub(crate) fn event(&mut self, class: u64, values: Values) {
        put(&mut self.events, class, values);
    }

    pub(crate) fn constant(&mut self, class: u64, key: u64, values: Values) {
        self.constants.entry(class).or_default().push((key, values));
    }

    fn symbol(&mut self, text: &str) -> u64 {
        self.symbols.push(text.to_owned());
        let key = self.symbols.len() as u64;
        self.constant(SYMBOL, key, Values::default().text(text));
        key
    }

    pub(crate) fn class(&mut self, key: u64, name: &str) {
        let name = self.symbol(name);
        self.constant(CLASS, key, Values::default().numbers(&[0, name]));
    }

    pub(crate) fn method(&mut self, key: u64, class: u64, name: &str) {
        let name = self.symbol(name);
        self.constant(METHOD, key, Values::default().numbers(&[class, name, 0]));
    }

    pub(crate) fn thread(&mut self, key: u64, name: &str, java: bool) {
        let named = Values::default().text(name).number(key);
        let named = if java { named.text(name).number(1) } else { named.text("").number(0) };
        self.constant(THREAD, key, named);
    }

    /// Frames, leaf first: method, line and kind.
    pub(crate) fn trace(&mut self, key: u64, frames: &[(u64, u64, u64)]) {
        let values = Values::default().numbers(&[0, frames.len() as u64]);
        let add = |values: Values, frame: &(u64, u64, u64)| {
            values.numbers(&[frame.0, frame.1, 0, frame.2])
        };
        self.constant(TRACE, key, frames.iter().fold(values, add));
    }

    pub(crate) fn words(&mut self) {
        for (key, kind) in
            [(0, "Interpreted"), (1, "JIT compiled"), (2, "Inlined"), (3, "Native"), (5, "Kernel")]
        {
            self.constant(KIND, key, Values::default().text(kind));
        }
        for (key, state) in [(1, "STATE_RUNNABLE"), (2, "STATE_SLEEPING")] {
            self.constant(STATE, key, Values::default().text(state));
        }
        self.constant(TEXT, 7, Values::default().text("work.Main serve 8"));
    }

    pub(crate) fn bytes(&self, start: u64) -> Vec<u8> {
        let mut body = vec![0; 68];
        let metadata = body.len() as u64;
        put(&mut body, 0, metadata_event());
        body.extend(&self.events);
        let checkpoint = body.len() as u64;
        let mut values = Values::default().numbers(&[1000, 0, 0]);
        values.0.push(1);
        values = values.number(self.constants.len() as u64);
        for (class, constants) in &self.constants {
            values = values.numbers(&[*class, constants.len() as u64]);
            for (key, of) in constants {
                values = values.number(*key);
                values.0.extend(&of.0);
            }
        }
        put(&mut body, 1, values);
        let numbers = [body.len() as u64, checkpoint, metadata, start, 1_000_000_000, 1000, 1000];
        let mut header = b"FLR\0\0\x02\0\0".to_vec();
        header.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        header.extend([0, 0, 0, 1]);
        body[..68].copy_from_slice(&header);
        body
    }
}

/// Adds an event: its size with itself, its class, its values.
fn put(to: &mut Vec<u8>, class: u64, values: Values) {
    let mut event = Values::default().number(class);
    event.0.extend(values.0);
    let size = (1..6).find(|own| {
        let size = Values::default().number(event.0.len() as u64 + own);
        size.0.len() as u64 == *own
    });
    to.extend(Values::default().number(event.0.len() as u64 + size.expect("a size")).0);
    to.extend(event.0);
}

/// The tree of elements that describes the classes, with its table of strings.
fn metadata_event() -> Values {
    let mut strings = Vec::new();
    let classes = CLASSES.iter().map(|(id, name, fields)| {
        let fields = fields.iter().map(field).collect();
        element("class", &[("id", &id.to_string()), ("name", name)], fields)
    });
    let metadata = element("metadata", &[], classes.collect());
    let root =
        element("root", &[], vec![metadata, element("region", &[("locale", "en_US")], vec![])]);
    let tree = root(&mut strings);
    let head = Values::default().numbers(&[1000, 0, 1, strings.len() as u64]);
    let mut values = strings.iter().fold(head, |values, text| values.text(text));
    values.0.extend(tree.0);
    values
}

fn field((name, class, flags): &Field) -> Write {
    let class = class.to_string();
    let mut attributes = vec![("name", *name), ("class", &class)];
    if flags.contains('c') {
        attributes.push(("constantPool", "true"));
    }
    if flags.contains('l') {
        attributes.push(("dimension", "1"));
    }
    let span = TIMESPAN.to_string();
    let nanoseconds = [("class", span.as_str()), ("value", "NANOSECONDS")];
    let annotations = if flags.contains('n') {
        vec![element("annotation", &nanoseconds, vec![])]
    } else {
        vec![]
    };
    element("field", &attributes, annotations)
}

/// Writes an element, and its strings into the table.
type Write = Box<dyn Fn(&mut Vec<String>) -> Values>;

fn element(name: &str, attributes: &[(&str, &str)], children: Vec<Write>) -> Write {
    let name = name.to_owned();
    let attributes: Vec<(String, String)> =
        attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Box::new(move |strings| {
        let mut at = |text: &String| {
            let known = strings.iter().position(|known| known == text);
            known.unwrap_or_else(|| {
                strings.push(text.clone());
                strings.len() - 1
            }) as u64
        };
        let mut values = Values::default().numbers(&[at(&name), attributes.len() as u64]);
        for (key, value) in &attributes {
            values = values.numbers(&[at(key), at(value)]);
        }
        values = values.number(children.len() as u64);
        for child in &children {
            values.0.extend(child(strings).0);
        }
        values
    })
}
