//! docs/findings.md is the catalogue: written from the rules, compared on every test run.
//! `make bless` writes it again.

use std::fmt::Write as _;
use std::path::Path;

use culprit_findings::{HIGH_SHARE, LOW_SHARE, MEDIUM_SHARE, MIN_SHARE, RuleDoc, catalogue};

use crate::blessed::blessed;

const HEAD: &str = "\
<!-- Written from crates/findings by its tests; CULPRIT_BLESS=1 writes it again. -->
# Findings

A finding is a named problem with its cost in wall-clock time, the evidence for it, why it costs
time, what to do and how to check it. `culprit explain ID` prints one of these pages.

**Whose time counts.** For a command that ran to its end the measured time is its life: the time of
the thread that ended it, in which every wait that another thread ended is filled with what that
thread did, and so on through whoever waited for whom. Where a runtime moves tasks between threads,
a thread without a task is followed to the one that works. Idle threads cost nothing, because
nobody waited for them. For a service every thread's time counts but its idle waits; a command that
was told to end (SIGINT, SIGTERM) is a service, and what only that ended was awaited by nobody.

**Counted once.** When several rules explain the same moment, the one that says more takes it:
mechanism before dependency before pattern before work before relation. So costs add up to no more
than the measured time.

**Confidence** falls with lost records, missing stacks, inferred wakers and few samples; the
finding's evidence says which.
";

fn page(doc: &RuleDoc, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\n### `{}`\n\n{}\n", doc.id, doc.claim)?;
    writeln!(text, "- **Recognised by.** {}", doc.signature)?;
    writeln!(text, "- **Why it costs time.** {}", doc.why)?;
    writeln!(text, "- **What to do.** {}", doc.fix)?;
    writeln!(text, "- **Check.** {}", doc.check)?;
    writeln!(text, "- **Level.** {}", doc.specificity.word())?;
    if !doc.thresholds.is_empty() {
        writeln!(text, "\n| threshold | value | why | source |\n|---|---|---|---|")?;
    }
    for t in doc.thresholds {
        writeln!(text, "| {} | {} {} | {} | {} |", t.what, t.value, t.unit, t.reason, t.source)?;
    }
    Ok(())
}

fn written() -> Result<String, std::fmt::Error> {
    let mut text = HEAD.to_owned();
    writeln!(
        text,
        "\n**Severity** follows the share of the measured time: high from {:.0} %, medium from {:.0} %, \
         low from {:.0} %; what costs less is information. Below {:.0} % a finding is listed only with \
         `--all`.",
        HIGH_SHARE * 100.0,
        MEDIUM_SHARE * 100.0,
        LOW_SHARE * 100.0,
        MIN_SHARE * 100.0
    )?;
    let mut groups: Vec<_> = catalogue().iter().map(|doc| doc.group).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        writeln!(text, "\n## {}", group.title())?;
        for doc in catalogue().iter().filter(|doc| doc.group == group) {
            page(doc, &mut text)?;
        }
    }
    Ok(text)
}

#[test]
fn the_documented_catalogue_is_what_the_rules_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    blessed(&path, written().expect("writing to a string does not fail").as_bytes());
}
