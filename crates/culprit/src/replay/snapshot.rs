//! Texts that are held against files of `corpus/`; `CULPRIT_BLESS=1` writes them anew.

use std::path::Path;

use similar::TextDiff;

/// Lines around a difference that are shown with it.
const AROUND: usize = 2;
/// Lines of all differences that are shown.
const MOST_LINES: usize = 400;

/// Texts against files; all that differ are told together.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    wrong: Vec<String>,
    differences: Vec<String>,
}

impl Snapshots {
    /// Holds a text against a file.
    pub(crate) fn hold(&mut self, path: &Path, text: &str) {
        if std::env::var_os("CULPRIT_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file that may be written");
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        if stored != text {
            let differ = difference(&stored, text);
            self.differences.push(format!("{}\n{differ}", path.display()));
        }
    }

    /// What is wrong whatever is stored; `make bless` does not mend it.
    pub(crate) fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// Fails with what is wrong and what differs, if there is any.
    pub(crate) fn finish(self) {
        let (wrong, count) = (self.wrong.join("\n"), self.differences.len());
        let all = self.differences.join("\n");
        let lines: Vec<&str> = all.lines().take(MOST_LINES).collect();
        assert!(
            count == 0 && wrong.is_empty(),
            "{wrong}\n{count} stored texts differ; `make bless` stores what is said now (+)\n\n{}",
            lines.join("\n")
        );
    }
}

/// The lines that differ, `-` as stored and `+` as written now, with some lines around them.
fn difference(stored: &str, now: &str) -> String {
    TextDiff::from_lines(stored, now).unified_diff().context_radius(AROUND).to_string()
}

#[test]
fn a_difference_shows_the_lines_that_differ_and_some_around_them() {
    let stored = "a\nb\nc\nd\ne\nf\ng\n";
    assert_eq!(
        difference(stored, &stored.replace("e\n", "E\nx\n")),
        "@@ -3,5 +3,6 @@\n c\n d\n-e\n+E\n+x\n f\n g\n"
    );
    assert_eq!(difference("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
    let failed = std::panic::catch_unwind(|| {
        let mut snapshots = Snapshots::default();
        snapshots.wrong("hot.c".to_owned());
        snapshots.finish();
    });
    assert!(failed.is_err());
}
