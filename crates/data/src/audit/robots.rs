//! `culprit-data audit robots`.

use culprit_audit::fold::fold;
use culprit_audit::robots::{Band, GroupBy, PRIOR, RobotGroup, RobotReport};
use culprit_model::counted;
use culprit_report::percent;
use serde_json::{Value, json};

use super::question::{
    Recognition, failure, open, put_json_of, put_of, recognised, recognised_text,
};
use super::text::{SCHEMA, finding_text, findings_json, table};
use crate::audit_args::AuditRobotsArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Groups that are printed when nobody says how many.
const SHOWN: usize = 20;
/// The same with `--explain`, where each takes several lines.
const EXPLAINED: usize = 5;
/// Why there is a prior.
const BEGIN: &str = "every group begins here; the weights are added";

/// Runs it.
///
/// # Errors
/// When the store or a list cannot be read, or a question cannot be answered.
pub(super) fn run(args: &AuditRobotsArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let store = open(&args.store, talk)?;
    let recognition = Recognition::read(&args.robots, talk)?;
    let by = match args.by.as_str() {
        "ua-net" => GroupBy::UserAgentAndNetwork,
        "contact" => GroupBy::Contact,
        "ip" => GroupBy::Address,
        _ => GroupBy::UserAgent,
    };
    let report = recognition.judge(&store, by)?;
    let wanted = |group: &&RobotGroup| match &args.explain {
        Some(text) => group.user_agent.as_deref().is_some_and(|a| fold(a).contains(&fold(text))),
        None => true,
    };
    let usual = if args.explain.is_some() { EXPLAINED } else { SHOWN };
    let limit = args.limit.unwrap_or(usual);
    let groups: Vec<&RobotGroup> = report.groups.iter().filter(wanted).collect();
    let shown = if limit == 0 { groups.len() } else { limit.min(groups.len()) };
    if shown < groups.len() {
        talk.say(&format!("printed {shown} of {} groups; `--limit 0` prints all", groups.len()));
    }
    let groups = &groups[..shown];
    let names = report.names(&store, groups).map_err(failure)?;
    if json {
        return put_json_of(&store, document(&report, groups, &names), talk);
    }
    let mut text = head(&report);
    match &args.explain {
        Some(wanted) if groups.is_empty() => {
            let votes = recognition.lists.votes(wanted);
            text.push_str(&format!("\nNo stored user agent contains `{wanted}`. "));
            text.push_str(&match votes.lists.join(", ") {
                lists if lists.is_empty() => "No list has it.\n".to_owned(),
                lists => format!("These lists have it: {lists}.\n"),
            });
        }
        Some(_) => groups
            .iter()
            .zip(&names)
            .for_each(|(group, name)| text.push_str(&explained(group, name.as_deref()))),
        None => text.push_str(&group_table(report.by, groups, &names)),
    }
    report.finding().iter().for_each(|finding| text.push_str(&finding_text(finding)));
    put_of(&store, &text, talk)
}

fn head(report: &RobotReport) -> String {
    let mut text = format!(
        "Robots make {} of {} ({} preset).\n",
        percent(report.robot_share()),
        counted(report.interactions, "interaction"),
        report.preset.name()
    );
    text.push_str(&recognised_text(report));
    text.push_str(&format!(
        "{} compared; by chance alone {:.2e} of them pass R2.\n",
        counted(report.groups.len() as u64, "group"),
        report.chance_hits
    ));
    text.push('\n');
    let rows: Vec<Vec<String>> = report
        .bands
        .iter()
        .map(|(band, sum)| {
            let robot = if band.is_robot(report.preset) { "robots" } else { "" };
            let (groups, interactions) = (sum.groups.to_string(), sum.interactions.to_string());
            vec![band.name().to_owned(), groups, interactions, robot.to_owned()]
        })
        .collect();
    text.push_str(&table(&["verdict", "groups", "interactions", "counted as"], &rows));
    if report.mixed_interactions > 0.0 {
        text.push_str(&format!(
            "In mixed groups, R3 ascribes {:.0} more interactions to robots.\n",
            report.mixed_interactions
        ));
    }
    text.push('\n');
    text
}

fn user_agent(group: &RobotGroup) -> String {
    group.user_agent.clone().unwrap_or_else(|| "(several or no user agents)".to_owned())
}

/// The heading of the names of groups; none where the user agent is the name.
fn heading(by: GroupBy) -> Option<&'static str> {
    match by {
        GroupBy::UserAgent => None,
        GroupBy::UserAgentAndNetwork => Some("network"),
        GroupBy::Contact => Some("contact"),
        GroupBy::Address => Some("address"),
    }
}

fn group_table(by: GroupBy, groups: &[&RobotGroup], names: &[Option<String>]) -> String {
    let heading = heading(by);
    let row = |(group, name): (&&RobotGroup, &Option<String>)| {
        let counts = &group.counts;
        let signals: Vec<&str> = group.verdict.signals.iter().map(|signal| signal.id).collect();
        let mut row = vec![
            group.verdict.band.name().to_owned(),
            format!("{:.1}", group.verdict.score),
            counts.interactions.to_string(),
            counts.visitors().to_string(),
            counts.max_pages.to_string(),
            counts.days().to_string(),
            signals.join(" "),
        ];
        row.extend(heading.map(|_| name.clone().unwrap_or_else(|| "(unknown)".to_owned())));
        row.push(user_agent(group));
        row
    };
    let mut headings =
        vec!["verdict", "score", "visits", "visitors", "max pages", "days", "signals"];
    headings.extend(heading);
    headings.push("user agent");
    table(&headings, &groups.iter().zip(names).map(row).collect::<Vec<_>>())
}

fn explained(group: &RobotGroup, name: Option<&str>) -> String {
    let verdict = &group.verdict;
    let mut text = format!("{}\n", user_agent(group));
    if let Some(name) = name {
        text = format!("{name}: {text}");
    }
    let mut rows =
        vec![vec!["prior".to_owned(), format!("{PRIOR:+.1}"), String::new(), BEGIN.to_owned()]];
    for signal in &verdict.signals {
        let family = signal.family.map_or("", culprit_audit::robots::Family::name);
        let weight = format!("{:+.1}", signal.weight);
        rows.push(vec![signal.id.to_owned(), weight, family.to_owned(), signal.why.clone()]);
    }
    text.push_str(&table(&["signal", "weight", "kind", "because"], &rows));
    let reason = verdict.exempt.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    text.push_str(&format!("sum {:.1}: {}{reason}\n\n", verdict.score, verdict.band.name()));
    text
}

fn document(report: &RobotReport, groups: &[&RobotGroup], names: &[Option<String>]) -> Value {
    let band = |(band, sum): &(Band, culprit_audit::robots::BandSum)| {
        json!({
            "band": band.name(),
            "robots": band.is_robot(report.preset),
            "groups": sum.groups,
            "interactions": sum.interactions,
        })
    };
    json!({
        "schema": SCHEMA,
        "by": report.by.name(),
        "recognition": recognised(report),
        "interactions": report.interactions,
        "robot_interactions": report.robot_interactions(),
        "mixed_interactions": report.mixed_interactions,
        "groups_tested": report.groups.len(),
        "chance_hits": report.chance_hits,
        "bands": report.bands.iter().map(band).collect::<Vec<_>>(),
        "groups": groups
            .iter()
            .zip(names)
            .map(|(group, name)| group_json(group, name.as_deref()))
            .collect::<Vec<_>>(),
        "findings": findings_json(report.finding().as_slice()),
    })
}

fn group_json(group: &RobotGroup, name: Option<&str>) -> Value {
    let (counts, verdict) = (&group.counts, &group.verdict);
    let signal = |signal: &culprit_audit::robots::Fired| {
        json!({
            "id": signal.id,
            "family": signal.family.map(culprit_audit::robots::Family::name),
            "weight": signal.weight,
            "why": signal.why,
        })
    };
    json!({
        "name": name,
        "user_agent": group.user_agent,
        "band": verdict.band.name(),
        "score": verdict.score,
        "exempt": verdict.exempt,
        "signals": verdict.signals.iter().map(signal).collect::<Vec<_>>(),
        "evidence": verdict.pages.by_visitors,
        "evidence_visits": verdict.pages.by_visits,
        "mixed_share": verdict.pages.mixed_share,
        "lists": group.votes.lists,
        "categories": group.votes.tags,
        "interactions": counts.interactions,
        "single": counts.single,
        "max_pages": counts.max_pages,
        "contacts": counts.contacts,
        "addresses": counts.addresses,
        "days": counts.days(),
        "first_ms": counts.first_ms,
        "last_ms": counts.last_ms,
    })
}
