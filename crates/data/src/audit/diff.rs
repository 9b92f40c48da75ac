//! `culprit-data audit diff`.

use culprit_audit::robots::{GroupBy, RobotReport};
use culprit_audit::{AuditStore, Days, DiffGroup, DiffReport, DiffSide, DiffTotals, diff};
use culprit_report::{number, percent, size};
use serde_json::{Value, json};

use super::impact::conversion;
use super::question::{Recognition, failure, open, recognised};
use super::text::{SCHEMA, put, put_json, table};
use crate::audit_args::AuditDiffArgs;
use crate::audit_args::question_args::StoreArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Runs it.
///
/// # Errors
/// When nothing is to be compared, or a question cannot be answered.
pub(super) fn run(args: &AuditDiffArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    if args.other.is_none() && args.between.is_empty() {
        return Err(Failure::bad_input("there is nothing to compare the store with")
            .hint("name a second store, or two days: `--between 2026-06-01 2026-06-08`"));
    }
    let days = args.between.iter().map(|text| days(text)).collect::<Result<Vec<_>, _>>()?;
    let recognition = Recognition::read(&args.robots, talk)?;
    let judge = |store: &AuditStore| recognition.judge(store, GroupBy::UserAgent);
    let store = open(&args.store, talk)?;
    let judged = judge(&store)?;
    let other = args.other.clone().map(|path| StoreArgs { store: path, ..args.store.clone() });
    let other = other.map(|other| open(&other, talk)).transpose()?;
    let other_judged = other.as_ref().map(judge).transpose()?;
    let side = |store, judged: &RobotReport, at: usize| DiffSide {
        store,
        days: days.get(at).copied(),
        robot_agents: judged.robot_agents(),
    };
    let after = other.as_ref().unwrap_or(&store);
    let after_judged = other_judged.as_ref().unwrap_or(&judged);
    let report = diff(&side(&store, &judged, 0), &side(after, after_judged, 1)).map_err(failure)?;
    if report.places.is_none() {
        talk.warn("a store has no sums by day and place: the next import writes them\n");
    }
    let names = [name(&args.store, days.first()), {
        let path = args.other.as_ref().unwrap_or(&args.store.store);
        name(&StoreArgs { store: path.clone(), ..args.store.clone() }, days.get(1))
    }];
    for (name, totals) in names.iter().zip([&report.before, &report.after]) {
        if totals.all.visits == 0 {
            talk.warn(&format!("warning: {name} has no visits\n"));
        }
    }
    if json {
        return put_json(&document(&names, &report, [&judged, after_judged]));
    }
    put(&diff_text(&names, &report, args.limit))
}

fn days(text: &str) -> Result<Days, Failure> {
    Days::parse(text).ok_or_else(|| {
        Failure::bad_input(format!("`--between {text}` names no days"))
            .hint("give a day such as 2026-06-30, or both ends such as 2026-06-01..2026-06-30")
    })
}

/// What a side is called.
fn name(args: &StoreArgs, days: Option<&Days>) -> String {
    match days {
        Some(days) => format!("{} {}", args.store.display(), days.describe()),
        None => args.store.display().to_string(),
    }
}

fn diff_text(names: &[String; 2], report: &DiffReport, limit: usize) -> String {
    let (before, after) = (&report.before, &report.after);
    let mut rows = vec![
        counted("visits with robots", (before.all.visits, after.all.visits)),
        counted("visits without robots", (before.people.visits, after.people.visits)),
    ];
    if let (Some(before_days), Some(after_days)) = (before.days, after.days)
        && before_days != after_days
    {
        let a_day = |totals: &DiffTotals, days| share_of(totals.people.visits, days);
        let (one, other) = (a_day(before, before_days), a_day(after, after_days));
        rows.push(measured("... of them a day", (one, other), number));
    }
    rows.extend([
        counted("contacts without robots", (before.contacts, after.contacts)),
        measured(
            "pages a visit without robots",
            (before.people.pages_mean(), after.people.pages_mean()),
            |mean| format!("{mean:.2}"),
        ),
        measured(
            "visits with one page without robots",
            both(report, |sums| sums.people.single_share()),
            percent,
        ),
        vec![
            "conversion without robots".to_owned(),
            conversion(&before.people, before.knows_goals),
            conversion(&after.people, after.knows_goals),
            String::new(),
        ],
        measured("share of robots", both(report, robot_share), percent),
    ]);
    let bytes = |totals: &DiffTotals| totals.all.raw_bytes;
    rows.push(vec![
        "rows of the visits with robots".to_owned(),
        size(bytes(before)),
        size(bytes(after)),
        change((bytes(before), bytes(after))),
    ]);
    let mut text = format!("before: {}\nafter:  {}\n\n", names[0], names[1]);
    text.push_str(&table(&["", "before", "after", "change"], &rows));
    text.push_str(&group_table("user agent (visits with robots)", &report.agents, limit));
    if let Some(places) = &report.places {
        text.push_str(&group_table("place (visits with robots)", places, limit));
    }
    text
}

fn both(report: &DiffReport, value: impl Fn(&DiffTotals) -> f64) -> (f64, f64) {
    (value(&report.before), value(&report.after))
}

fn robot_share(totals: &DiffTotals) -> f64 {
    share_of(totals.all.visits - totals.people.visits, totals.all.visits)
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown with three digits")]
fn share_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn counted(what: &str, (before, after): (u64, u64)) -> Vec<String> {
    vec![what.to_owned(), before.to_string(), after.to_string(), change((before, after))]
}

fn measured(what: &str, (before, after): (f64, f64), show: impl Fn(f64) -> String) -> Vec<String> {
    vec![what.to_owned(), show(before), show(after), String::new()]
}

/// `+12 %`, `-0.4 %`; a new one has no share of nothing.
fn change((before, after): (u64, u64)) -> String {
    if before == after {
        return "same".to_owned();
    }
    let sign = if after > before { '+' } else { '-' };
    match before {
        0 => format!("+{after}"),
        _ => format!("{sign}{}", percent(share_of(before.abs_diff(after), before))),
    }
}

/// The groups that changed most.
fn group_table(what: &str, groups: &[DiffGroup], limit: usize) -> String {
    let changed: Vec<&DiffGroup> = groups.iter().filter(|group| group.change() > 0).collect();
    let shown = if limit == 0 { changed.len() } else { limit.min(changed.len()) };
    let row = |group: &&DiffGroup| {
        let (before, after) = group.visits;
        let sign = if after > before { "+" } else { "-" };
        vec![
            before.to_string(),
            after.to_string(),
            format!("{sign}{}", group.change()),
            if group.robot { "robot" } else { "" }.to_owned(),
            group.name.clone().unwrap_or_else(|| "(unknown)".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = changed[..shown].iter().map(row).collect();
    if rows.is_empty() {
        return format!("\nVisits are the same: {what}.\n");
    }
    let mut text = format!("\n{}", table(&["before", "after", "change", "", what], &rows));
    if shown < changed.len() {
        let rest = changed.len() - shown;
        text.push_str(&format!("{rest} more changed; `--limit 0` prints all.\n"));
    }
    text
}

fn totals_json(name: &str, totals: &DiffTotals, judged: &RobotReport) -> Value {
    json!({
        "name": name,
        "days": totals.days,
        "visits": totals.all.visits,
        "visits_without_robots": totals.people.visits,
        "contacts_without_robots": totals.contacts,
        "pages_mean": totals.people.pages_mean(),
        "single_share": totals.people.single_share(),
        "conversion": totals.people.conversion(totals.knows_goals),
        "robot_share": robot_share(totals),
        "raw_bytes": totals.all.raw_bytes,
        "recognition": recognised(judged),
    })
}

fn document(names: &[String; 2], report: &DiffReport, judged: [&RobotReport; 2]) -> Value {
    let group = |group: &DiffGroup| {
        json!({
            "name": group.name,
            "robot": group.robot,
            "visits_before": group.visits.0,
            "visits_after": group.visits.1,
            "pages_before": group.pages.0,
            "pages_after": group.pages.1,
        })
    };
    let groups = |groups: &[DiffGroup]| groups.iter().map(group).collect::<Vec<_>>();
    json!({
        "schema": SCHEMA,
        "before": totals_json(&names[0], &report.before, judged[0]),
        "after": totals_json(&names[1], &report.after, judged[1]),
        "user_agents": groups(&report.agents),
        "places": report.places.as_deref().map(groups),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_direction_and_share() {
        assert_eq!(change((100, 112)), "+12 %");
        assert_eq!(change((1000, 996)), "-0.4 %");
        assert_eq!(change((0, 7)), "+7");
        assert_eq!(change((7, 0)), "-100 %");
        assert_eq!(change((7, 7)), "same");
    }
}
