//! Texts that are held against files of `corpus/`; `CULPRIT_BLESS=1` writes them anew.

use std::fmt::Write as _;
use std::path::Path;

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
    let (old, new): (Vec<&str>, Vec<&str>) = (stored.lines().collect(), now.lines().collect());
    let lines = merged(&old, &new);
    let changed = |at: usize| lines[at].0 != ' ';
    let mut text = String::new();
    let mut shown = 0;
    for (at, (sign, line)) in lines.iter().enumerate() {
        let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
        if near.into_iter().any(changed) {
            if shown < at {
                text.push_str("  ...\n");
            }
            let _ = writeln!(text, "{sign} {line}");
            shown = at + 1;
        }
    }
    text
}

/// The longest common subsequence, with what is only in one of the two.
fn merged<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let mut lines: Vec<_> = old[..same].iter().map(|line| (' ', *line)).collect();
    let (old, new) = (&old[same..], &new[same..]);
    // The length of the longest common subsequence of what is left from each pair of positions on.
    let mut longest = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            longest[a][b] = match old[a] == new[b] {
                true => longest[a + 1][b + 1] + 1,
                false => longest[a + 1][b].max(longest[a][b + 1]),
            };
        }
    }
    let (mut a, mut b) = (0, 0);
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            lines.push((' ', old[a]));
            (a, b) = (a + 1, b + 1);
        } else if b == new.len() || (a < old.len() && longest[a + 1][b] >= longest[a][b + 1]) {
            lines.push(('-', old[a]));
            a += 1;
        } else {
            lines.push(('+', new[b]));
            b += 1;
        }
    }
    lines
}

#[test]
fn a_difference_shows_the_lines_that_differ_and_some_around_them() {
    let stored = "a\nb\nc\nd\ne\nf\ng\n";
    assert_eq!(
        difference(stored, &stored.replace("e\n", "E\nx\n")),
        "  ...\n  c\n  d\n- e\n+ E\n+ x\n  f\n  g\n"
    );
    assert_eq!(difference("", "a\n"), "+ a\n");
    let failed = std::panic::catch_unwind(|| {
        let mut snapshots = Snapshots::default();
        snapshots.wrong("hot.c".to_owned());
        snapshots.finish();
    });
    assert!(failed.is_err());
}
