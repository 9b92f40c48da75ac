//! `culprit-data audit report`: what a store holds, as one page of HTML with pictures.
//!
//! ```text
//! days     visits a day of people and robots; pages a visit with and without robots
//! map      where visits come from
//! robots   the largest groups with their reasons
//! sizes    bytes by path, and what a limit would cut
//! bars     horizontal bars with names, that robots and sizes share
//! ```
//!
//! Every picture has its numbers in a table below it. User agents, paths and cities are somebody's text:
//! they go through `Markup`.

mod bars;
mod days;
mod map;
mod robots;
mod sizes;

use std::path::Path;

use culprit_audit::robots::{GroupBy, RobotReport};
use culprit_audit::visits::{Origin, origins};
use culprit_audit::{
    AuditStore, BloatReport, CapReport, ImpactReport, OrphanReport, bloat, cap, impact, orphans,
};
use culprit_model::{Finding, counted};
use culprit_report::html::{Frame, Markup, PAGE_STYLE, PLOT_STYLE, findings_section, text_table};
use culprit_report::{percent, size};
use serde_json::json;

use super::question::{Recognition, failure, open, put_json_of, put_of};
use super::text::{SCHEMA, findings_json};
use crate::audit_args::AuditReportArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Largest values that are listed.
const TOP: u32 = 20;
/// A limit that the curve is asked for; the curve has its own limits beside it.
const LIMIT: u64 = 512;
const SECTIONS: [(&str, &str); 6] = [
    ("findings", "Findings"),
    ("days", "Visits"),
    ("map", "Places"),
    ("robots", "Robots"),
    ("sizes", "Sizes"),
    ("limits", "Limits"),
];

/// All answers that the page shows.
struct Answers {
    robots: RobotReport,
    impact: ImpactReport,
    origins: Vec<Origin>,
    orphans: OrphanReport,
    bloat: BloatReport,
    cap: Option<CapReport>,
}

/// Runs it.
///
/// # Errors
/// When the store or a list cannot be read, a question cannot be answered, or the page cannot be written.
pub(super) fn run(args: &AuditReportArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let store = open(&args.store, talk)?;
    let recognition = Recognition::read(&args.robots, talk)?;
    let answers = Answers::ask(&store, &recognition, args.path.as_deref())?;
    let findings = answers.findings();
    let page = answers.page(&args.store.store, &findings);
    write(&args.output, &page)?;
    let output = args.output.display().to_string();
    if json {
        let findings = findings_json(&findings);
        let document = json!({"schema": SCHEMA, "page": output, "findings": findings});
        return put_json_of(&store, document, talk);
    }
    let findings = counted(findings.len() as u64, "finding");
    put_of(&store, &format!("{findings}; the page: {output}\n"), talk)
}

/// Writes the page beside its place and moves it there, so that nobody sees half of it.
fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let part = path.with_added_extension("part");
    let written = std::fs::write(&part, page).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|error| {
        // What was written of it is of no use to anybody.
        let _ = std::fs::remove_file(&part);
        Failure::refused(format!("cannot write `{}`: {error}", path.display()))
    })
}

impl Answers {
    fn ask(
        store: &AuditStore,
        recognition: &Recognition<'_>,
        path: Option<&str>,
    ) -> Result<Self, Failure> {
        let robots = recognition.judge(store, GroupBy::UserAgent)?;
        let agents = robots.robot_agents();
        let bloat = bloat(store, TOP).map_err(failure)?;
        let largest = bloat.top.first().map(|value| value.path.clone());
        let path = path.map(str::to_owned).or(largest);
        let cap = path.map(|path| cap(store, &path, LIMIT)).transpose().map_err(failure)?;
        Ok(Self {
            impact: impact(store, &agents).map_err(failure)?,
            origins: origins(store, &agents).map_err(failure)?,
            orphans: orphans(store).map_err(failure)?,
            robots,
            bloat,
            cap,
        })
    }

    /// All findings, the one that concerns the largest share first.
    fn findings(&self) -> Vec<Finding> {
        let all = [self.robots.finding(), self.orphans.finding(), self.bloat.finding()];
        let mut findings: Vec<Finding> = all.into_iter().flatten().collect();
        findings.sort_by(|a, b| b.share.total_cmp(&a.share));
        findings
    }

    fn page(&self, store: &Path, findings: &[Finding]) -> String {
        let (title, sentences) = match findings.split_first() {
            Some((first, rest)) => {
                (first.title.clone(), rest.iter().map(|finding| finding.title.clone()).collect())
            }
            None => ("Nothing stands out in this store".to_owned(), Vec::new()),
        };
        let storage = self.impact.storage();
        let facts = [
            ("visits", self.impact.before.visits.to_string()),
            ("of robots", percent(self.robots.robot_share())),
            ("contacts", self.impact.contacts_before.to_string()),
            ("without visits", percent(self.orphans.without_share())),
            ("storage", size(storage.0)),
            ("without robots", size(storage.1)),
        ];
        let entries = SECTIONS.map(|(id, name)| (id.to_owned(), name.to_owned()));
        let frame = Frame {
            what: &format!("audit of {}", store.display()),
            subject: &store.display().to_string(),
            title: &title,
            sentences: &sentences,
            facts: &facts,
            navigation: "Sections",
            entries: &entries,
            styles: &[PAGE_STYLE, PLOT_STYLE],
        };
        frame.page(|body| {
            let lead = "Shares are of interactions, contacts or bytes: nothing here takes time.";
            findings_section(body, findings, lead);
            days::section(body, &self.impact);
            map::section(body, &self.origins);
            robots::section(body, &self.robots);
            sizes::paths(body, &self.bloat);
            self.cap.iter().for_each(|cap| sizes::limits(body, cap));
        })
    }
}

/// A table of text, that can be opened below its picture.
fn numbers(body: &mut Markup, headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    body.element("details", &[], |body| {
        body.leaf("summary", &[], "The numbers");
        text_table(body, headings, rows);
    });
}

/// A count as the length of what is drawn.
#[expect(clippy::cast_precision_loss, reason = "a length in pixels")]
fn exactly(count: u64) -> f64 {
    count as f64
}

/// The classes of the colours of people and of robots.
const PEOPLE: &str = "arm-0";
const ROBOTS: &str = "arm-1";
