//! The largest groups of visits that are robots', with what speaks for it.

use culprit_audit::robots::{RobotGroup, RobotReport};
use culprit_model::counted;
use culprit_report::html::{Markup, legend};

use super::super::question::recognised_text;
use super::bars::{Bar, bars};
use super::{PEOPLE, ROBOTS, exactly};

/// Groups that are shown.
const SHOWN: usize = 15;

/// The section.
pub(super) fn section(body: &mut Markup, report: &RobotReport) {
    body.element("section", &[("id", "robots")], |body| {
        body.leaf("h2", &[], "Robots and their evidence");
        let lead = format!(
            "Groups of visits with one user agent; weights are decimal logarithms of odds and add up. {}",
            recognised_text(report).trim_end().replace('\n', ". ")
        );
        body.leaf("p", &[("class", "lead")], &lead);
        let groups = &report.groups[..report.groups.len().min(SHOWN)];
        let is_robot = |group: &RobotGroup| group.verdict.band.is_robot(report.preset);
        let bar = |group: &RobotGroup| Bar {
            name: name(group).to_owned(),
            class: if is_robot(group) { ROBOTS } else { PEOPLE },
            value: exactly(group.counts.interactions),
            text: group.counts.interactions.to_string(),
        };
        body.element("figure", &[], |figure| {
            figure.leaf("figcaption", &[], "Visits by user agent, robots first");
            let drawn: Vec<Bar> = groups.iter().map(bar).collect();
            bars(figure, "Visits by user agent", &drawn);
            legend(figure, &[(ROBOTS, "robots"), (PEOPLE, "others")]);
        });
        groups.iter().for_each(|group| evidence(body, group));
        let rest = report.groups.len() - groups.len();
        if rest > 0 {
            let rest = counted(rest as u64, "more group");
            let more = format!("{rest}: `culprit audit robots STORE --limit 0`.");
            body.prose("p", &[("class", "more")], &more);
        }
    });
}

fn name(group: &RobotGroup) -> &str {
    group.user_agent.as_deref().unwrap_or("(several or no user agents)")
}

fn evidence(body: &mut Markup, group: &RobotGroup) {
    let verdict = &group.verdict;
    body.element("details", &[("class", "finding")], |body| {
        body.element("summary", &[], |body| {
            body.element("div", &[], |body| {
                body.leaf("div", &[("class", "title")], name(group));
                let exempt = verdict.exempt.as_ref().map(|why| format!(" ({why})"));
                let meta = format!(
                    "{}{}, {:.1}; {} of {}, at most {}",
                    verdict.band.name(),
                    exempt.unwrap_or_default(),
                    verdict.score,
                    counted(group.counts.interactions, "visit"),
                    counted(group.counts.visitors(), "visitor"),
                    counted(group.counts.max_pages, "page")
                );
                body.leaf("div", &[("class", "meta")], &meta);
            });
        });
        body.element("div", &[("class", "body")], |body| {
            body.element("ul", &[], |list| {
                for signal in &verdict.signals {
                    let text = format!("{} {:+.1}: {}", signal.id, signal.weight, signal.why);
                    list.leaf("li", &[], &text);
                }
                if verdict.signals.is_empty() {
                    list.leaf("li", &[], "No signal fired.");
                }
            });
        });
    });
}
