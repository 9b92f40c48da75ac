//! `culprit explain [FINDING]`: a finding's page, or the list of all.

use culprit_config::{ConfigRuleDoc, PAGES};
use culprit_findings::{DATA_PAGES, Group, RuleDoc, Specificity, catalogue};
use culprit_report::json::SCHEMA;
use culprit_report::text::finding_page;
use serde::Serialize;

use crate::args::ExplainArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{Align, Output, Table};

/// Runs it.
///
/// # Errors
/// When there is no such finding.
pub(crate) fn run(args: &ExplainArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let Some(wanted) = &args.finding else {
        list(output)?;
        return Ok(Outcome::Done);
    };
    let doc = pages().find(|doc| doc.id == wanted).ok_or_else(|| unknown(wanted))?;
    let document = || Page { schema: SCHEMA, finding: Entry::from(&doc) };
    output.show(document, |layout| finding_page(&doc, layout))?;
    Ok(Outcome::Done)
}

/// The pages of all findings: of recordings and probes, of configuration, of analytics data.
fn pages() -> impl Iterator<Item = RuleDoc> {
    catalogue().iter().copied().chain(PAGES.iter().map(page_of)).chain(DATA_PAGES.iter().copied())
}

/// The page of a finding of configuration, which states something and has no thresholds.
fn page_of(doc: &ConfigRuleDoc) -> RuleDoc {
    RuleDoc {
        id: doc.id,
        group: Group::Configuration,
        specificity: Specificity::Statement,
        yields_to: &[],
        claim: doc.claim,
        signature: doc.signature,
        not_reported: doc.not_reported,
        why: doc.why,
        fix: doc.fix,
        check: doc.check,
        thresholds: &[],
    }
}

fn list(output: &mut Output) -> Result<(), Failure> {
    if output.wants_json() {
        let findings = pages().map(|doc| Entry::from(&doc)).collect();
        return output.document(&List { schema: SCHEMA, findings });
    }
    let mut table =
        Table::new(&[("finding", Align::Left), ("group", Align::Left), ("says", Align::Left)]);
    for doc in pages() {
        table.row([doc.id.to_owned(), doc.group.title().to_owned(), doc.claim.to_owned()]);
    }
    let text = table.render(output.width());
    output.print(&text)
}

/// Names the ids that share a word with what was typed.
fn unknown(wanted: &str) -> Failure {
    let near =
        |doc: &RuleDoc| wanted.split('-').any(|word| word.len() > 2 && doc.id.contains(word));
    let ids: Vec<&str> = pages().filter(near).map(|doc| doc.id).collect();
    let failure = Failure::bad_input(format!(
        "cannot explain `{wanted}`: Culprit has no finding with this id"
    ));
    if ids.is_empty() {
        failure.hint("`culprit explain` lists all findings")
    } else {
        failure.hint(format!("did you mean {}?", ids.join(", ")))
    }
}

#[derive(Serialize)]
struct Page {
    schema: u32,
    finding: Entry,
}

#[derive(Serialize)]
struct List {
    schema: u32,
    findings: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    id: &'static str,
    group: &'static str,
    claim: &'static str,
    signature: &'static str,
    not_reported: &'static [&'static str],
    why: &'static str,
    /// A line for each action.
    fix: String,
    check: &'static str,
}

impl From<&RuleDoc> for Entry {
    fn from(doc: &RuleDoc) -> Self {
        Self {
            id: doc.id,
            group: doc.group.title(),
            claim: doc.claim,
            signature: doc.signature,
            not_reported: doc.not_reported,
            why: doc.why,
            fix: doc.fix.join("\n"),
            check: doc.check,
        }
    }
}
