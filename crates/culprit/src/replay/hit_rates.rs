//! How often the first finding of a known program is right, by kind of finding: what confidence is scaled by
//! (`hit_rates.tsv` of the findings), and the page that shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use culprit_findings::{HitRate, Options, POSSIBLE, SURE_ENOUGH};
use culprit_model::{Nanos, Severity};
use culprit_report::Digest;

use super::snapshot::Snapshots;
use super::truth::{NOISE, Program};
use crate::output::percent;

/// The edges of the page's rows.
const EDGES: [f64; 6] = [0.0, 0.5, POSSIBLE, 0.7, SURE_ENOUGH, 0.9];

/// The first finding of a known program.
#[derive(Debug)]
pub(super) struct First {
    /// Its identifier.
    finding: String,
    /// How sure its rule was itself.
    claimed: f64,
    right: bool,
}

impl First {
    /// That of a replayed recording; none where nothing above low severity is said, or where the
    /// expected finding need not come first.
    pub(super) fn of(program: &Program, digest: &Digest, right: bool) -> Option<Self> {
        let options = Options { as_claimed: true, ..Options::default() };
        let report = culprit_findings::find(&digest.recording, &options);
        let first = report.findings.iter().find(|finding| finding.cost > Nanos::ZERO)?;
        let accuses = first.severity > Severity::Low;
        let counts = first.id != NOISE && program.first && (accuses || !program.is_healthy());
        counts.then(|| Self { finding: first.id.to_owned(), claimed: first.confidence, right })
    }
}

/// Holds the table of rates and the page against what was said now.
pub(super) fn hold(snapshots: &mut Snapshots, firsts: &[First]) {
    snapshots.hold(&repository("crates/findings/src/hit_rates.tsv"), &table(firsts));
    snapshots.hold(&repository("docs/accuracy-confidence.md"), &page(firsts));
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn by_kind(firsts: &[First]) -> BTreeMap<&str, HitRate> {
    let mut kinds: BTreeMap<&str, HitRate> = BTreeMap::new();
    for first in firsts {
        let kind = kinds.entry(&first.finding).or_default();
        kind.said += 1;
        kind.right += u32::from(first.right);
        kind.claimed += first.claimed;
    }
    kinds
}

fn table(firsts: &[First]) -> String {
    let mut text =
        "# finding\tfirst of known programs\tof these rightly\tsum of what its rule said\n"
            .to_owned();
    for (id, kind) in by_kind(firsts) {
        let _ = writeln!(text, "{id}\t{}\t{}\t{:.2}", kind.said, kind.right, kind.claimed);
    }
    text
}

/// The page: how often findings that are said to be so sure are right, and the same by kind.
fn page(firsts: &[First]) -> String {
    let shown = |first: &First| culprit_findings::calibrated(&first.finding, first.claimed);
    let mut text = format!(
        "# How sure a finding is\n\n\
         <!-- Written by the replay of corpus/; `make bless` writes it again. -->\n\n\
         `N % sure` is how often such a finding is right. It was counted on {} programs whose fault is known: the \
         [guilty and healthy ones](accuracy.md), and [those of others](accuracy-unseen.md). The first finding of each \
         counts. A rule says how good its evidence is. That number is scaled for each kind of finding, so that its \
         mean is the share of these findings that was right.\n\n\
         Below {} a finding is called possible, and its severity is low at most. High severity needs {}.\n\n\
         | said | findings | mean said | right |\n|---|---|---|---|\n",
        firsts.len(),
        percent(POSSIBLE),
        percent(SURE_ENOUGH),
    );
    for (at, from) in EDGES.iter().enumerate() {
        let to = EDGES.get(at + 1).copied().unwrap_or(1.0);
        let within: Vec<&First> =
            firsts.iter().filter(|first| (*from..to).contains(&shown(first))).collect();
        if within.is_empty() {
            continue;
        }
        let count = within.len() as f64;
        let mean = within.iter().map(|first| shown(first)).sum::<f64>() / count;
        let right = within.iter().filter(|first| first.right).count();
        let _ = writeln!(
            text,
            "| {} to {} | {} | {} | {right} ({}) |",
            percent(*from),
            percent(to),
            within.len(),
            percent(mean),
            percent(right as f64 / count)
        );
    }
    text.push_str(
        "\n## By kind\n\nA kind with few programs is taken for as good as all are together: five findings of the \
         mean rate are added to each.\n\n| finding | programs | right | mean said |\n|---|---|---|---|\n",
    );
    for (id, kind) in by_kind(firsts) {
        let of = firsts.iter().filter(|first| first.finding == id);
        let mean = of.map(shown).sum::<f64>() / f64::from(kind.said);
        let _ = writeln!(text, "| `{id}` | {} | {} | {} |", kind.said, kind.right, percent(mean));
    }
    text
}
