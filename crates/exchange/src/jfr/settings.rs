//! What the recorder was told to do, as far as weights depend on it.

use rustc_hash::FxHashMap;

/// async-profiler's own intervals, where none was asked for, ns (`engine.h`, `wallClock.cpp`).
const CPU_INTERVAL: u64 = 10_000_000;
const WALL_INTERVAL: u64 = 50_000_000;

/// async-profiler's events whose interval is a time.
const TIMES: &[&str] = &["cpu", "itimer", "ctimer", "wall"];

/// The settings of events, by the event's name and the setting's.
#[derive(Debug, Default)]
pub(super) struct Settings(FxHashMap<(String, String), String>);

impl Settings {
    pub(super) fn set(&mut self, event: &str, name: String, value: String) {
        self.0.insert((event.to_owned(), name), value);
    }

    fn of(&self, event: &str, name: &str) -> Option<&str> {
        self.0.get(&(event.to_owned(), name.to_owned())).map(String::as_str)
    }

    /// Between two looks for an event, ns; none where that is not told or no time.
    pub(super) fn period(&self, event: &str) -> Option<u64> {
        if let Some(period) = self.of(event, "period").and_then(span) {
            return Some(period);
        }
        let interval: u64 = self.of(event, "interval")?.parse().ok()?;
        let default = if self.looks_at_the_clock() { WALL_INTERVAL } else { CPU_INTERVAL };
        let counted = self.event().is_none_or(|event| TIMES.contains(&event));
        counted.then_some(if interval == 0 { default } else { interval })
    }

    /// Between two looks of async-profiler at all threads, ns.
    pub(super) fn wall(&self) -> Option<u64> {
        let told = self.of("jdk.ExecutionSample", "wall").and_then(|value| value.parse().ok());
        match told {
            Some(0) => Some(WALL_INTERVAL),
            Some(interval) => Some(interval),
            None => self.period("jdk.ExecutionSample"),
        }
    }

    /// What async-profiler sampled.
    fn event(&self) -> Option<&str> {
        self.of("jdk.ActiveRecording", "event")
    }

    /// Whether async-profiler's samples are of all threads, running or not.
    pub(super) fn looks_at_the_clock(&self) -> bool {
        self.event() == Some("wall")
    }
}

/// `20 ms` in nanoseconds.
fn span(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|span| *span > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(all: &[(&str, &str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (event, name, value) in all {
            settings.set(event, (*name).to_owned(), (*value).to_owned());
        }
        settings
    }

    #[test]
    fn periods_of_the_jdk_and_of_async_profiler() {
        const SAMPLE: &str = "jdk.ExecutionSample";
        let period = |all: &[(&str, &str, &str)]| settings(all).period(SAMPLE);
        assert_eq!(period(&[(SAMPLE, "period", "20 ms")]), Some(20_000_000));
        assert_eq!(period(&[(SAMPLE, "period", "everyChunk")]), None);
        assert_eq!(period(&[("jdk.CPULoad", "period", "1 s")]), None);
        assert_eq!(period(&[(SAMPLE, "interval", "0")]), Some(CPU_INTERVAL));
        let cycles = [(SAMPLE, "interval", "999"), ("jdk.ActiveRecording", "event", "cycles")];
        assert_eq!(period(&cycles), None);
        let wall = [(SAMPLE, "interval", "0"), ("jdk.ActiveRecording", "event", "wall")];
        assert_eq!(period(&wall), Some(WALL_INTERVAL));
        assert_eq!(settings(&[(SAMPLE, "wall", "7")]).wall(), Some(7));
    }
}
