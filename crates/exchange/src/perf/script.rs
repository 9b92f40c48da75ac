//! What `perf script` prints: a line of comm, pid, tid, CPU, time, period and event, most of them
//! left out by some version or option, and the frames below it, leaf first.
//!
//! ```text
//! my server  1200/1203  [001]  4103.250101:   250000 cpu-clock:pppH:
//!         ffffffff8104f45a native_write_msr+0x6 ([kernel.kallsyms])
//!             7f2a3c10 parse(char const*)+0x1a (/opt/app/server)
//! ```
//!
//! The comm is free text, so a line is read from its time outwards. Thread time is not computed
//! from text: switches in it are events like others.

use culprit_model::{Cause, Frame, FrameId, LossKind, Metric, StackId, Text, ThreadId};

use super::event::Counts;
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::{Input, whole_lines};

/// Longer lines are cut: payloads of tracepoints can be long.
const LONGEST_LINE: u64 = 1 << 16;

/// Lines that may stand before the first event.
const LINES_LOOKED_AT: usize = 200;

/// Frames of one event; perf's own limit is 127 unless told otherwise.
const DEEPEST: usize = 4096;

pub(super) fn detect(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(whole_lines(head));
    let mut lines = text.lines().take(LINES_LOOKED_AT).filter(|line| !is_skipped(line));
    lines.next().is_some_and(|line| Header::parse(line).is_some())
}

fn is_skipped(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The line that begins an event.
#[derive(Debug, PartialEq, Eq)]
struct Header<'a> {
    comm: &'a str,
    pid: Option<u32>,
    tid: u32,
    /// Nanoseconds.
    time: u64,
    period: Option<u64>,
    event: &'a str,
    /// What stands behind the event: fields of a tracepoint, or an address with its symbol.
    rest: &'a str,
}

impl<'a> Header<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (at, time) = find_time(line)?;
        let (before, after) = (line[..at].trim_end(), line[at..].split_once(':')?.1);
        let (comm, pid, tid) = who(before)?;
        let (period, after) = match after.trim_start().split_once(char::is_whitespace) {
            Some((number, rest)) if number.parse::<u64>().is_ok() => (number.parse().ok(), rest),
            _ => (None, after),
        };
        let after = after.trim_start();
        let end = after.find(": ").or_else(|| after.trim_end().strip_suffix(':').map(str::len))?;
        let event = &after[..end];
        let fits = !event.is_empty() && !event.contains(char::is_whitespace);
        let rest = after[end + 1..].trim();
        fits.then_some(Self { comm, pid, tid, time, period, event, rest })
    }
}

/// Where the time stands in a line, and the time: digits, a point, digits, a colon.
fn find_time(line: &str) -> Option<(usize, u64)> {
    let mut from = 0;
    for word in line.split(' ') {
        let at = from;
        from += word.len() + 1;
        let Some((number, _)) = word.split_once(':') else { continue };
        let Some((seconds, fraction)) = number.split_once('.') else { continue };
        if at > 0 && is_number(seconds) && is_number(fraction) && fraction.len() <= 9 {
            let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).unwrap_or(9));
            let (whole, part): (u64, u64) = (seconds.parse().ok()?, fraction.parse().ok()?);
            return Some((at, whole.checked_mul(1_000_000_000)?.checked_add(part * scale)?));
        }
    }
    None
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Comm, pid and tid of what stands before the time; a CPU in brackets and flags behind the number
/// are passed over.
fn who(before: &str) -> Option<(&str, Option<u32>, u32)> {
    /// The CPU, and the flags of the latency format.
    const BEHIND: usize = 2;
    let mut rest = before;
    for _ in 0..=BEHIND {
        let (front, word) = rest.trim_end().rsplit_once(char::is_whitespace)?;
        let ids = match word.split_once('/') {
            Some((pid, tid)) => pid.parse().ok().zip(tid.parse().ok()),
            // The idle thread is -1 in some versions.
            None => word.parse().ok().map(|tid: u32| (tid, tid)),
        };
        if let Some((pid, tid)) = ids {
            let pid = word.contains('/').then_some(pid);
            return Some((front.trim(), pid, tid)).filter(|(comm, ..)| !comm.is_empty());
        }
        rest = front;
    }
    None
}

/// A frame as printed.
struct Printed<'a> {
    address: u64,
    symbol: &'a str,
    module: &'a str,
}

/// `7f2a3c10 parse(char const*)+0x1a (/opt/app/server)`; none when the line is no frame.
fn frame(line: &str) -> Option<Printed<'_>> {
    let (address, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let address = u64::from_str_radix(address, 16).ok()?;
    let rest = rest.trim();
    let (symbol, module) = match rest.rfind(" (").or_else(|| rest.starts_with('(').then_some(0)) {
        Some(at) if rest.ends_with(')') => {
            let module = rest[at..].trim_start().strip_prefix('(')?.strip_suffix(')')?;
            (rest[..at].trim(), module)
        }
        _ => (rest, ""),
    };
    Some(Printed { address, symbol: without_offset(symbol), module })
}

fn without_offset(symbol: &str) -> &str {
    match symbol.rsplit_once("+0x") {
        Some((name, offset)) if u64::from_str_radix(offset, 16).is_ok() => name,
        _ => symbol,
    }
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let mut script = Script::new(builder);
    input.lines(LONGEST_LINE, |line| script.line(line))?;
    script.finish()
}

/// The event under reading.
struct Open {
    thread: ThreadId,
    time: u64,
    metric: Metric,
    value: u64,
    /// The event as a leaf frame, where it must be told apart.
    leaf: Option<FrameId>,
    frames: Vec<FrameId>,
    kernel: bool,
}

struct Script<'a> {
    builder: &'a mut Builder,
    open: Option<Open>,
    events: u64,
    malformed: u64,
    switches: u64,
    cut: u64,
}

impl<'a> Script<'a> {
    fn new(builder: &'a mut Builder) -> Self {
        Self { builder, open: None, events: 0, malformed: 0, switches: 0, cut: 0 }
    }

    fn line(&mut self, line: &str) {
        if is_skipped(line) {
            return self.close();
        }
        // Other records, where they were asked for: switches, mappings, forks.
        if line.contains(" PERF_RECORD_") {
            return self.close();
        }
        let indented = line.starts_with([' ', '\t']);
        if self.open.is_some()
            && indented
            && let Some(printed) = frame(line)
        {
            return self.frame(&printed);
        }
        match Header::parse(line) {
            Some(header) => {
                self.close();
                self.begin(&header);
            }
            // Source lines and registers stand below a frame.
            None if self.open.is_some() && indented => {}
            None => self.malformed += 1,
        }
    }

    fn begin(&mut self, header: &Header<'_>) {
        self.events += 1;
        let pid = header.pid.unwrap_or(header.tid);
        // A process has its main thread's name.
        let process = self.builder.process(pid, if pid == header.tid { header.comm } else { "" });
        let thread = self.builder.thread(process, header.tid, header.comm);
        let counts = Counts::of(header.event);
        let (metric, value) = counts.value(header.period);
        let leaf = counts.named.then(|| self.builder.named(&format!("[event]!{}", header.event)));
        self.switches += u64::from(header.event == "sched:sched_switch");
        let (time, frames) = (header.time, Vec::new());
        self.open = Some(Open { thread, time, metric, value, leaf, frames, kernel: false });
        if !counts.named
            && let Some(printed) = frame(header.rest)
        {
            self.frame(&printed);
        }
    }

    fn frame(&mut self, printed: &Printed<'_>) {
        let frame = self.intern(printed);
        let Some(open) = &mut self.open else { return };
        if open.frames.is_empty() {
            open.kernel = is_kernel(printed.module);
        }
        if open.frames.len() < DEEPEST {
            open.frames.push(frame);
        } else {
            self.cut += 1;
        }
    }

    fn intern(&mut self, printed: &Printed<'_>) -> FrameId {
        let inlined = printed.module == "inlined";
        let module = match printed.module {
            "" | "inlined" | "[unknown]" => None,
            kernel if is_image(kernel) => Some(self.builder.module_named("[kernel]", "[kernel]")),
            path => Some(self.builder.module(path)),
        };
        let function = match printed.symbol {
            "" | "[unknown]" => "?",
            name => name,
        };
        let _ = printed.address;
        self.builder.frame(Frame {
            module,
            function: Text::from(function),
            address: None,
            file: None,
            line: None,
            inlined,
            instruction: None,
        })
    }

    /// The event ends: one amount at its stack.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let frames = open.frames.iter().rev().copied().chain(open.leaf);
        let stack: Option<StackId> = self.builder.stack(frames.collect::<Vec<_>>());
        let cause = match open.metric {
            Metric::Cpu if open.kernel => Some(Cause::CpuKernel),
            Metric::Cpu => Some(Cause::CpuUser),
            _ => None,
        };
        self.builder.add(Amount {
            time: open.time,
            thread: Some(open.thread),
            cause,
            ..Amount::at(stack, open.metric, open.value)
        });
    }

    fn finish(mut self) -> Result<(), Refusal> {
        self.close();
        if self.events == 0 {
            return Err("no line of it begins an event".to_owned());
        }
        let builder = self.builder;
        if self.malformed > 0 {
            builder.lose(LossKind::RecordsMalformed, self.malformed, "lines that are no event");
        }
        if self.cut > 0 {
            let what = "frames beyond the 4096 nearest to the leaf";
            builder.lose(LossKind::StacksTruncated, self.cut, what);
        }
        if self.switches > 0 {
            let what = "switches are counted as events: the text does not tell whether all were \
                        recorded, so no times are computed from them";
            builder.lose(LossKind::DetailLeftOut, self.switches, what);
        }
        for process in 0..builder.recording().processes.len() {
            name_after_a_thread(builder, process);
        }
        Ok(())
    }
}

/// A process whose main thread was not seen is called after its first thread that was.
fn name_after_a_thread(builder: &mut Builder, process: usize) {
    let recording = builder.recording();
    if recording.processes[process].name.is_empty() {
        let mut threads = recording.threads.iter();
        let name = threads.find(|thread| thread.process.index() == process);
        if let Some(name) = name.map(|thread| thread.name.clone()) {
            recording.processes[process].name = name;
        }
    }
}

/// The kernel's own image, as perf calls it.
fn is_image(module: &str) -> bool {
    module.starts_with("[kernel.")
        || module.starts_with("[guest.kernel")
        || module.contains("/vmlinux")
}

fn is_kernel(module: &str) -> bool {
    let user = matches!(module, "[vdso]" | "[vsyscall]" | "[heap]" | "[stack]" | "[unknown]");
    is_image(module) || (module.starts_with('[') && !user) || module.contains(".ko")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_many_layouts() {
        for (line, comm, pid, tid, time, period, event) in [
            (
                "perf  1234 [000] 12.345678:     250000 cpu-clock:pppH: ",
                "perf",
                None,
                1234,
                12_345_678_000,
                Some(250_000),
                "cpu-clock:pppH",
            ),
            (
                "  my server (x) 12/13 [001] 1.5: cycles:",
                "my server (x)",
                Some(12),
                13,
                1_500_000_000,
                None,
                "cycles",
            ),
            (
                "a 7 1.000000001: 1 sched:sched_switch: prev_comm=a prev_pid=7",
                "a",
                None,
                7,
                1_000_000_001,
                Some(1),
                "sched:sched_switch",
            ),
            (
                "a b 7 [002] d..2. 1.25:  page-faults:  7f00 main+0x4 (/bin/a)",
                "a b",
                None,
                7,
                1_250_000_000,
                None,
                "page-faults",
            ),
        ] {
            let header = Header::parse(line).expect(line);
            assert_eq!(
                (header.comm, header.pid, header.tid, header.time, header.period, header.event),
                (comm, pid, tid, time, period, event)
            );
        }
        assert_eq!(Header::parse("main;a 1"), None);
        assert_eq!(Header::parse("Total 12 1.5 seconds"), None);
    }

    #[test]
    fn frames_lose_their_offset() {
        let printed =
            frame("\t 7f2a parse(char const*, a (*)(int))+0x1a (/opt/my app/server)").unwrap();
        assert_eq!(
            (printed.symbol, printed.module),
            ("parse(char const*, a (*)(int))", "/opt/my app/server")
        );
        let printed = frame("  ffff [unknown] ([unknown])").unwrap();
        assert_eq!((printed.symbol, printed.module), ("[unknown]", "[unknown]"));
        assert!(frame("  main.c:12").is_none());
    }
}
