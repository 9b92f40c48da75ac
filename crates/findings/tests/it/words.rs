//! Pages of findings in words that are understood at the first reading.

use culprit_findings::{DATA_PAGES, RuleDoc, catalogue};
use culprit_testkit::words::faults;

fn faults_of(doc: &RuleDoc) -> Vec<String> {
    let texts = [doc.claim, doc.signature, doc.why, doc.check].into_iter();
    let lists = doc.not_reported.iter().chain(doc.fix).copied();
    let thresholds = doc.thresholds.iter().flat_map(|t| [t.what, t.reason, t.source]);
    let faults = texts.chain(lists).chain(thresholds).flat_map(faults);
    faults.map(|fault| format!("{}: {fault}", doc.id)).collect()
}

#[test]
fn pages_of_findings_have_no_riddles_and_no_long_sentences() {
    let faults: Vec<String> = catalogue().iter().chain(DATA_PAGES).flat_map(faults_of).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
