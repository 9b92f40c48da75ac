//! docs/findings.md is the catalogue: written from the rules, compared on every test run.
//! `make bless` writes it again.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use culprit_findings::{
    Caller, HIGH_SHARE, LOW_SHARE, MEDIUM_SHARE, MIN_CONFIDENCE, MIN_SHARE, RuleDoc, Threshold,
    callers, catalogue,
};
use culprit_model::Nanos;

use crate::blessed::blessed;

const HEAD: &str = "\
<!-- Written from crates/findings by its tests; CULPRIT_BLESS=1 writes it again. -->
# Findings

A finding is a named problem. It has its cost in wall-clock time, its evidence, the reason, what to
do, and a command that checks the fix. `culprit explain ID` prints one of these pages.

**Which time counts, for a command.** Culprit follows the run's critical path. It starts at the thread
that ended the command, or asked for its end. Where that thread waited for another one, the other thread's work takes the
place of the wait, and so on. Threads without a task cost nothing: no thread waited for them.

**Which time counts, for a service.** The time of every thread counts, except for waits for requests. A
command that SIGINT or SIGTERM ended is a service.

**Counted once.** Two rules can explain the same time. The more specific rule gets it: mechanism, then
dependency, pattern, work, relation. The costs of all findings add up to at most the measured time.

**Confidence** falls with lost records, missing stacks, inferred wakers and few samples. The evidence of
the finding names the reason.";

fn list(text: &mut String, heading: &str, items: &[&str]) -> std::fmt::Result {
    if !items.is_empty() {
        writeln!(text, "- **{heading}.**")?;
    }
    items.iter().try_for_each(|item| writeln!(text, "  - {item}"))
}

fn page(doc: &RuleDoc, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\n### `{}`\n\n{}\n", doc.id, doc.claim)?;
    writeln!(text, "- **Recognised by.** {}", doc.signature)?;
    list(text, "Not reported", doc.not_reported)?;
    writeln!(text, "- **Why it costs time.** {}", doc.why)?;
    list(text, "What to do", doc.fix)?;
    writeln!(text, "- **Check.** {}", doc.check)?;
    writeln!(text, "- **Level.** {}", doc.specificity.word())?;
    if !doc.thresholds.is_empty() {
        writeln!(text, "\n| threshold | value | why | source |\n|---|---|---|---|")?;
    }
    for t in doc.thresholds {
        writeln!(text, "| {} | {} | {} | {} |", t.what, value(t), t.reason, t.source)?;
    }
    Ok(())
}

const CALLERS_HEAD: &str = "
## Known callers

A finding starts with advice for who asks for its time, where at least half of that time passes below
functions that are known. A stack must show them: Culprit never goes by the name of a program.";

fn caller_page(caller: &Caller, text: &mut String) -> std::fmt::Result {
    let quoted = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    writeln!(text, "\n### {}\n\n{}\n", caller.id, caller.why)?;
    writeln!(text, "- **With.** {}", quoted(&caller.findings))?;
    writeln!(text, "- **Recognised by functions.** {}", quoted(&caller.inside))?;
    if !caller.modules.is_empty() {
        writeln!(text, "- **Or by modules.** {}", quoted(&caller.modules))?;
    }
    list(text, "What to do", &caller.fix)?;
    writeln!(text, "- **Source.** {}", caller.source)
}

/// The value of a threshold as people read it.
fn value(threshold: &Threshold) -> String {
    let number = threshold.value;
    match threshold.unit {
        "share" if number < 0.01 => format!("{:.1} %", 100.0 * number),
        "share" => format!("{:.0} %", 100.0 * number),
        "ns" => {
            let length = Duration::from_secs_f64(number / 1e9);
            Nanos(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)).to_string()
        }
        "bytes" if number >= f64::from(1 << 20) => format!("{} MiB", number / f64::from(1 << 20)),
        "bytes" if number >= 1024.0 => format!("{} KiB", number / 1024.0),
        "count" => number.to_string(),
        unit => format!("{number} {unit}"),
    }
}

fn written() -> Result<String, std::fmt::Error> {
    let mut text = HEAD.to_owned();
    writeln!(
        text,
        " Below {:.0} % it is no finding: the time goes to a rule that says less.\n\n\
         **Severity** follows the share of the measured time: high from {:.0} %, medium from {:.0} %, \
         low from {:.0} %, info below. Findings below {:.0} % are listed only with `--all`.",
        MIN_CONFIDENCE * 100.0,
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
    writeln!(text, "{CALLERS_HEAD}")?;
    callers().iter().try_for_each(|caller| caller_page(caller, &mut text))?;
    Ok(text)
}

#[test]
fn the_documented_catalogue_is_what_the_rules_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    blessed(&path, written().expect("writing to a string does not fail").as_bytes());
}
