//! Pages of findings in words that are understood at the first reading.

use culprit_findings::{DATA_PAGES, RuleDoc, callers, catalogue};
use culprit_testkit::words;

fn faults_of(doc: &RuleDoc) -> Vec<String> {
    let texts = [doc.claim, doc.signature, doc.why, doc.check].into_iter();
    let lists = doc.not_reported.iter().chain(doc.fix).copied();
    let thresholds = doc.thresholds.iter().flat_map(|t| [t.what, t.reason, t.source]);
    let faults = texts.chain(lists).chain(thresholds).flat_map(words::faults);
    faults.map(|fault| format!("{}: {fault}", doc.id)).collect()
}

#[test]
fn pages_of_findings_have_no_riddles_and_no_long_sentences() {
    let mut faults: Vec<String> =
        catalogue().iter().chain(DATA_PAGES).flat_map(faults_of).collect();
    for caller in callers() {
        let texts = caller.fix.iter().chain([&caller.why]);
        let of_caller = texts.flat_map(|text| words::faults(text));
        faults.extend(of_caller.map(|fault| format!("{}: {fault}", caller.id)));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
