//! `/tmp/perf-PID.map`: one line a function, `START SIZE NAME` with hexadecimal numbers.
//!
//! Written by Node (`--perf-basic-prof`), Java (`jcmd PID Compiler.perfmap`), .NET, CPython 3.12+ and
//! many small runtimes. PID is the process's own number in its namespace, and the file lies in its `/tmp`.
//! Source: tools/perf/Documentation/jit-interface.txt.

use std::sync::Arc;

use super::{JitCode, JitEntry};

/// Reads a perf map. Lines that do not fit are counted ([`JitCode::skipped`]): the runtime may be writing
/// the last one at this moment. Names need not be UTF-8.
pub fn parse_perf_map(text: &[u8]) -> JitCode {
    let mut code = JitCode::default();
    let no_lines = Arc::from([]);
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        match parse_line(line) {
            Some((start, end, name)) => {
                code.add(JitEntry {
                    start,
                    end,
                    since_ns: None,
                    name,
                    lines: Arc::clone(&no_lines),
                });
            }
            None => code.skipped += 1,
        }
    }
    code
}

fn parse_line(line: &[u8]) -> Option<(u64, u64, Arc<str>)> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.splitn(3, ' ');
    let start = hex(words.next()?)?;
    let size = hex(words.next()?)?;
    let name = words.next()?.trim_end_matches('\r');
    (!name.is_empty()).then_some((start, start.checked_add(size)?, name.into()))
}

fn hex(word: &str) -> Option<u64> {
    let word = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(word, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Avma;

    #[test]
    fn lines_become_functions() {
        let map = b"7f00 10 LazyCompile:~add /app/index.js:3\n\
                    0x8000 0x20 void [App] App.Main(string[])::Run\n\
                    bad line\n\
                    9000 0 empty\n\
                    ffffffffffffffff 10 overflow\n\
                    9100 10 name\xff\n\
                    a000 1";
        let code = parse_perf_map(map);
        assert_eq!(code.len(), 3);
        assert_eq!(code.skipped(), 4);
        let name = |address| code.lookup(Avma(address), None).map(|symbol| symbol.name.to_string());
        assert_eq!(name(0x7f0f).as_deref(), Some("LazyCompile:~add /app/index.js:3"));
        assert_eq!(name(0x801f).as_deref(), Some("void [App] App.Main(string[])::Run"));
        assert_eq!(name(0x9101).as_deref(), Some("name\u{fffd}"));
        assert_eq!(name(0x7f10), None);
    }
}
