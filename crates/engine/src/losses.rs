//! What a recording lost, as every output tells it: one line a kind, and which kinds are holes, so
//! that nothing can be said without saying them first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use culprit_model::{Label as _, Loss, LossKind, LossSeverity};

/// One kind of loss, all its rows together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossLine {
    /// The kind's word.
    pub id: String,
    /// How bad it is.
    pub severity: LossSeverity,
    /// True when a stretch of time or a whole table is missing from the recording.
    pub hole: bool,
    /// How many records, stacks, modules.
    pub count: u64,
    /// What exactly; the first few of several.
    pub detail: String,
    /// What helps.
    pub advice: String,
}

/// The loss ledger, one line a kind, the worst first.
#[must_use]
pub fn lines(losses: &[Loss]) -> Vec<LossLine> {
    let mut kinds: BTreeMap<LossKind, (u64, Vec<&str>)> = BTreeMap::new();
    for loss in losses {
        let (count, details) = kinds.entry(loss.kind).or_default();
        *count += loss.count;
        if !loss.detail.is_empty() {
            details.push(&loss.detail);
        }
    }
    let mut lines: Vec<LossLine> =
        kinds.into_iter().map(|(kind, (count, details))| line(kind, count, &details)).collect();
    lines.sort_by_key(|line| Reverse(line.severity));
    lines
}

/// Those after which any sum may be too small.
pub fn holes(lines: &[LossLine]) -> impl Iterator<Item = &LossLine> {
    lines.iter().filter(|line| line.hole)
}

/// What is said before anything about a recording with holes; none for a whole one.
#[must_use]
pub fn warning(path: &Path, lines: &[LossLine]) -> Option<String> {
    let mut told = holes(lines).peekable();
    told.peek()?;
    let mut text = format!(
        "warning: `{}` is incomplete; results cover only the remaining data\n",
        path.display()
    );
    for line in told {
        text.push_str(&format!("  {}: {}\n", line.id, line.what()));
        text.push_str(&format!("    hint: {}\n", line.advice));
    }
    Some(text)
}

impl LossLine {
    /// What exactly is missing, in words.
    #[must_use]
    pub fn what(&self) -> String {
        let records = match self.count {
            1 => "1 record".to_owned(),
            count => format!("{count} records"),
        };
        if self.detail.is_empty() { records } else { self.detail.clone() }
    }
}

fn line(kind: LossKind, count: u64, details: &[&str]) -> LossLine {
    /// More would fill the screen; the recording has them all.
    const SHOWN: usize = 3;
    let mut detail = details.iter().take(SHOWN).copied().collect::<Vec<_>>().join("; ");
    if details.len() > SHOWN {
        detail.push_str(&format!("; {} more", details.len() - SHOWN));
    }
    // The flight recorder's dropped past is wanted, but a sum over it would be as wrong.
    let hole = kind.severity() == LossSeverity::Error || kind == LossKind::OldestDropped;
    LossLine {
        id: kind.word().to_owned(),
        severity: kind.severity(),
        hole,
        count,
        detail,
        advice: kind.advice().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(kind: LossKind, count: u64, detail: &str) -> Loss {
        Loss { kind, count, from: None, to: None, detail: detail.into() }
    }

    #[test]
    fn losses_of_one_kind_are_one_line_and_the_worst_comes_first() {
        let told: Vec<_> = lines(&[
            loss(LossKind::RingsSmall, 1, ""),
            loss(LossKind::SymbolsMissing, 1, "/bin/a"),
            loss(LossKind::SwitchesLost, 7, "cpu 0"),
            loss(LossKind::SymbolsMissing, 2, "/bin/b"),
        ])
        .iter()
        .map(|l| format!("{} {} {}", l.id, l.count, l.detail))
        .collect();
        assert_eq!(
            told,
            ["switches-lost 7 cpu 0", "symbols-missing 3 /bin/a; /bin/b", "rings-small 1 "]
        );
    }

    #[test]
    fn only_holes_are_warned_of() {
        let mut losses = vec![loss(LossKind::SymbolsMissing, 1, "/bin/a")];
        assert_eq!(warning(Path::new("x"), &lines(&losses)), None);
        losses.push(loss(LossKind::SwitchesLost, 7, ""));
        let said = warning(Path::new("x"), &lines(&losses)).unwrap();
        assert!(said.contains("switches-lost: 7 records") && said.contains("hint: "), "{said}");
    }
}
