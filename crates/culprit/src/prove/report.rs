//! What the hooks in language runtimes report: one line of JSON for each place that asks for a name.

use culprit_config::CodePlace;
use serde::Deserialize;

/// How a name was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Use {
    /// The hook was loaded.
    Hello,
    /// The value was asked for.
    Get,
    /// Only whether it is set.
    In,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Report {
    /// The process.
    pub(super) pid: u32,
    /// What was done.
    #[serde(rename = "use")]
    pub(super) used: Use,
    /// The variable.
    #[serde(default)]
    pub(super) name: String,
    /// How often, so far.
    #[serde(default)]
    pub(super) count: u64,
    /// The language's interface: `os.environ`, `System.getenv`.
    #[serde(default)]
    pub(super) through: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    function: String,
    /// Whether the line is one of a library.
    #[serde(default)]
    library: bool,
}

impl Report {
    /// The line of the program that asked.
    pub(super) fn place(&self) -> CodePlace {
        let (function, file) = (self.function.clone(), self.file.clone());
        CodePlace { function, file, line: self.line, is_library: self.library }
    }
}

/// Reads a report. A line that is not whole is left out.
pub(super) fn parse(text: &str) -> Vec<Report> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_lines() {
        let line =
            r#"{"pid":7,"use":"get","name":"A","count":2,"file":"a.py","line":3,"function":"f"}"#;
        let reports = parse(&format!("{line}\nbroken\n{{\"pid\":8,\"use\":\"hello\"}}\n"));
        let found: Vec<_> = reports.iter().map(|one| (one.pid, one.used, one.count)).collect();
        assert_eq!(found, [(7, Use::Get, 2), (8, Use::Hello, 0)]);
        assert_eq!(reports.first().map(|one| one.place().line), Some(3));
    }
}
