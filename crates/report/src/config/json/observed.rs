//! What `--observed FILE` of other commands takes of a result of `config prove`.

use culprit_config::{Assignment, Configuration, SourceKind};
use serde::Deserialize;

/// A result that was written to a file.
#[derive(Debug, Clone, Deserialize)]
pub struct ObservedDocument {
    /// The command that was observed.
    pub subject: String,
    /// The variables that were set.
    pub variables: Vec<ObservedVariable>,
    /// The files that it opened, or looked for.
    #[serde(default)]
    files: Vec<ObservedFile>,
    /// What could not be observed.
    #[serde(default)]
    gaps: Vec<ObservedGap>,
}

/// A variable of such a result.
#[derive(Debug, Clone, Deserialize)]
pub struct ObservedVariable {
    /// Its name.
    pub name: String,
    /// What is proved.
    pub grade: String,
    /// How often.
    pub count: u64,
}

/// A file of such a result.
#[derive(Debug, Clone, Deserialize)]
struct ObservedFile {
    path: String,
    opened: u64,
    read_bytes: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct ObservedGap {
    kind: String,
}

impl ObservedDocument {
    /// The row of a variable.
    pub fn find(&self, name: &str) -> Option<&ObservedVariable> {
        self.variables.iter().find(|one| one.name == name)
    }

    /// What is known of the reading of an assignment: the grade of its variable, or what became of its
    /// file. None if it was not observed.
    pub fn read_of(&self, of: &Configuration, one: &Assignment) -> Option<&str> {
        let source = of.sources.get(one.source)?;
        if source.kind != SourceKind::File {
            return self.find(&one.written).map(|found| found.grade.as_str());
        }
        let is_it = |path: &str| {
            let rest = path.strip_suffix(source.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let mut files = self.files.iter().filter(|file| is_it(&file.path)).peekable();
        if files.peek().is_none() {
            let has_gap = self.files.is_empty() || self.gaps.iter().any(|gap| gap.kind == "files");
            return (!has_gap).then_some("file not opened");
        }
        let (opened, read) = files
            .fold((0, 0), |(opened, read), file| (opened + file.opened, read + file.read_bytes));
        Some(match (opened, read) {
            (0, _) => "file not opened",
            (_, 0) => "file opened, not read",
            _ => "file read",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_config::{Redactor, Request, inspect, stock_profiles};

    #[test]
    fn keys_are_joined_with_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "A=1\nB=2\n").unwrap();
        let package = "{\"dependencies\": {\"dotenv\": \"18\"}}";
        std::fs::write(folder.path().join("package.json"), package).unwrap();
        let json = |files: &str| {
            format!(
                "{{\"subject\": \"x\", \"variables\": [{{\"name\": \"B\", \"grade\": \"value_read\", \"count\": 2, \"observations\": []}}], \"files\": {files}}}"
            )
        };
        let profiles = stock_profiles().unwrap();
        let read = |name: &str, key: &str, files: &str| {
            let profile = profiles.iter().find(|one| one.name == name).unwrap();
            let request = Request { root: folder.path().to_owned(), ..Request::default() };
            let of = inspect(profile, &request, Redactor::new([1; 32]));
            let observed: ObservedDocument = serde_json::from_str(&json(files)).unwrap();
            let one = of.find(key)[0].winner.map(|at| &of.assignments[at]).unwrap();
            observed.read_of(&of, one).map(str::to_owned)
        };
        assert_eq!(read("dotenv", "B", "[]").as_deref(), Some("value_read"));
        assert_eq!(read("dotenv", "A", "[]"), None);
        std::fs::write(folder.path().join("config.json"), "{\"port\": 1}").unwrap();
        let file = |path: &str, opened: u64, bytes: u64| {
            format!("[{{\"path\": \"{path}\", \"opened\": {opened}, \"read_bytes\": {bytes}}}]")
        };
        for (files, expected) in [
            (file("/app/config.json", 1, 9), Some("file read")),
            (file("config.json", 1, 0), Some("file opened, not read")),
            (file("/app/config.json", 0, 0), Some("file not opened")),
            (file("/app/otherconfig.json", 1, 1), Some("file not opened")),
            ("[]".to_owned(), None),
        ] {
            assert_eq!(read("generic", "port", &files).as_deref(), expected, "{files}");
        }
    }
}
