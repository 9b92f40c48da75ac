//! `culprit-data audit clean`: what was typed becomes options of the clean-up.

use std::path::Path;

use culprit_audit::Store;
use culprit_audit::clean::{
    ApplyOptions, CleanLevel, Dsn, Guard, Outcome, Plan, PlanOptions, PlannedTarget, Selection,
    agents_of, agents_with, apply_labels, apply_postgres, apply_rebuild, make_plan, status,
    undo_labels, undo_postgres, undo_rebuild, verify_postgres,
};
use culprit_audit::robots::{Band, GroupBy};
use culprit_model::Label as _;
use serde_json::json;

use super::clean_text as text;
use super::database::{dsns, failure};
use super::question::{Recognition, open, recognised};
use super::text::{SCHEMA, put, put_json};
use super::{failure as store_failure, stop_flag};
use crate::audit_args::AuditCleanArgs;
use crate::audit_args::clean_args::{
    CleanAction, CleanApplyArgs, CleanPlanArgs, CleanUndoArgs, CleanVerifyArgs, ConsentArgs,
    TargetArgs,
};
use crate::failure::Failure;
use crate::output::Talk;
use crate::sql::limits;
use crate::surroundings::now_ms;

/// Runs it.
///
/// # Errors
/// When it could not do what was asked.
pub(super) fn run(args: &AuditCleanArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    match &args.action {
        CleanAction::Plan(args) => plan(args, json, talk),
        CleanAction::Show(args) => {
            let status = status(&args.plan).map_err(|error| failure(&error))?;
            if json {
                put_json(&text::plan_json(&status.plan))
            } else {
                put(&text::plan(&status.plan))
            }
        }
        CleanAction::Status(args) => {
            let status = status(&args.plan).map_err(|error| failure(&error))?;
            if json { put_json(&text::status_json(&status)) } else { put(&text::status(&status)) }
        }
        CleanAction::Verify(args) => verify(args, json),
        CleanAction::Apply(args) => apply(args, json),
        CleanAction::Undo(args) => undo(args, json),
    }
}

fn plan(args: &CleanPlanArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let selection = selection(args, talk)?;
    let dsns = dsns(&args.database.against, args.database.password_file.as_deref())?;
    let level: CleanLevel = args.level.parse().unwrap_or_default();
    let target = match (level, args.target.as_str()) {
        (CleanLevel::Source, "sqlserver") => {
            Some(PlannedTarget::SqlServer { schema: args.schema.clone() })
        }
        (CleanLevel::Source, _) if dsns.is_empty() => {
            return Err(Failure::bad_input("a plan for a PostgreSQL database needs its address")
                .hint("name it with `--against DSN`; `--target sqlserver` makes SQL text"));
        }
        (CleanLevel::Source, _) => {
            Some(PlannedTarget::Postgres { dsns, schema: args.schema.clone() })
        }
        _ => None,
    };
    let made = make_plan(&PlanOptions {
        store: &args.store.store,
        output: &args.output,
        level,
        selection: &selection,
        target,
        retention_days: args.retention_days,
        batch_rows: args.batch_rows,
        now_ms: now_ms(),
    });
    let made = made.map_err(|error| failure(&error))?;
    if json {
        return put_json(&text::plan_json(&made));
    }
    put(&format!("{}\n{}", text::plan(&made), text::next_step(&made, &args.output)))
}

/// What `--select` and `--spare` name.
fn selection(args: &CleanPlanArgs, talk: &Talk) -> Result<Selection, Failure> {
    let mut selection = Selection { text: args.select.join(" "), ..Selection::default() };
    selection.spare = guards(&args.spare).into_iter().collect();
    let unknown = |word: &str| {
        Failure::bad_input(format!("`--select {word}` is unknown")).hint(
            "give `verdict=certain`, `verdict=likely`, `user-agent=TEXT` or \
             `contacts=without-interactions`",
        )
    };
    for word in &args.select {
        let bands: &[Band] = match word.split_once('=') {
            Some(("verdict", "certain")) => &[Band::Certain],
            Some(("verdict", "likely")) => &[Band::Certain, Band::Likely],
            Some(("user-agent", wanted)) if !wanted.is_empty() => {
                let store = Store::open(&args.store.store).map_err(|e| store_failure(&e))?;
                let agents = agents_with(&store, wanted).map_err(|e| store_failure(&e))?;
                selection.agents.extend(agents);
                continue;
            }
            Some(("contacts", "without-interactions")) => {
                selection.without_interactions = true;
                continue;
            }
            _ => return Err(unknown(word)),
        };
        // Verdicts are those of all rows, also of those that an earlier plan labelled.
        let store = open(&args.store, talk)?.with_labelled();
        let recognition = Recognition::read(&args.robots, talk)?;
        let report = recognition.judge(&store, GroupBy::UserAgent)?;
        selection.agents.extend(agents_of(&report, bands));
        selection.recognition = recognised(&report);
    }
    Ok(selection)
}

/// The database of a plan that has one.
fn target_of(plan: &Plan, database: &TargetArgs) -> Result<Vec<Dsn>, Failure> {
    if let (Some(target), true) = (&plan.target, database.against.is_empty()) {
        let servers = target.servers.join(", ");
        return Err(Failure::bad_input("the plan is for a database, and none is named")
            .hint(format!("name it with `--against DSN`: the plan was made for {servers}")));
    }
    dsns(&database.against, database.password_file.as_deref())
}

fn verify(args: &CleanVerifyArgs, json: bool) -> Result<(), Failure> {
    let plan = status(&args.plan).map_err(|error| failure(&error))?.plan;
    let dsns = target_of(&plan, &args.database)?;
    let found = verify_postgres(&args.plan, &dsns, now_ms()).map_err(|error| failure(&error))?;
    let stops = found.expect_guards(&guards(&args.allow)).map_err(|error| failure(&error));
    if json {
        put_json(&text::verified_json(&found))?;
        return stops.map_err(Failure::told);
    }
    put(&text::verified(&found))?;
    stops
}

/// The plan, if the words of `--confirm` name it; none when only what would be done is to be shown.
fn consented(plan: &Path, consent: &ConsentArgs) -> Result<Option<Plan>, Failure> {
    let plan = status(plan).map_err(|error| failure(&error))?.plan;
    if !consent.execute {
        return Ok(None);
    }
    let expected = text::confirmation(&plan);
    if consent.confirm.as_deref() != Some(expected) {
        return Err(Failure::bad_input("`--confirm` does not name this plan").hint(format!(
            "read the plan with `culprit audit clean show`, then give `--confirm {expected}`"
        )));
    }
    Ok(Some(plan))
}

fn level_of(plan: &Plan) -> CleanLevel {
    plan.level.parse().unwrap_or_default()
}

/// The guards of `--allow`.
fn guards(words: &[String]) -> Vec<Guard> {
    words.iter().filter_map(|word| Guard::from_word(word)).collect()
}

fn apply(args: &CleanApplyArgs, json: bool) -> Result<(), Failure> {
    let Some(plan) = consented(&args.plan, &args.consent)? else {
        return dry(&args.plan, text::next_step, json);
    };
    let limits = limits(args.consent.memory);
    let allowed = guards(&args.consent.allow);
    let outcome = match level_of(&plan) {
        CleanLevel::Label => apply_labels(&args.plan, (&allowed, now_ms()), limits),
        CleanLevel::Store => apply_rebuild(&args.plan, &allowed, now_ms(), limits),
        CleanLevel::Source => {
            let dsns = target_of(&plan, &args.database)?;
            let options = ApplyOptions {
                backup: args.backup.as_deref(),
                rows_per_second: args.max_rows_per_second,
                window: args.window.as_deref().map(window).transpose()?,
                ..options(&dsns, &allowed, &args.consent)
            };
            let stop = stop_flag()?;
            let done = apply_postgres(&args.plan, &options, &stop);
            let done = done.map_err(|error| failure(&error))?;
            return if json {
                put_json(&text::applied_json(&done))
            } else {
                put(&text::applied(&done))
            };
        }
    };
    print_outcome(&plan, outcome.map_err(|error| failure(&error))?, json)
}

fn options<'a>(dsns: &'a [Dsn], allowed: &'a [Guard], consent: &ConsentArgs) -> ApplyOptions<'a> {
    ApplyOptions {
        dsns,
        allowed,
        backup: None,
        lock_wait_ms: consent.lock_wait,
        rows_per_second: None,
        window: None,
        now: now_ms,
    }
}

/// `01:00-05:00` as minutes of the day.
fn window(text: &str) -> Result<(u32, u32), Failure> {
    let minute = |clock: &str| {
        let (hours, minutes) = clock.trim().split_once(':')?;
        let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
        (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
    };
    let both = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
    both.filter(|(from, to)| from != to).ok_or_else(|| {
        Failure::bad_input(format!("`--window {text}` is no window"))
            .hint("give two different times of the day in UTC, such as `01:00-05:00`")
    })
}

fn undo(args: &CleanUndoArgs, json: bool) -> Result<(), Failure> {
    let Some(plan) = consented(&args.plan, &args.consent)? else {
        return dry(&args.plan, text::way_back, json);
    };
    let limits = limits(args.consent.memory);
    let outcome = match level_of(&plan) {
        CleanLevel::Label => undo_labels(&args.plan, now_ms(), limits),
        CleanLevel::Store => undo_rebuild(&args.plan, now_ms(), limits),
        CleanLevel::Source => {
            let dsns = target_of(&plan, &args.database)?;
            let allowed = guards(&args.consent.allow);
            let options = options(&dsns, &allowed, &args.consent);
            let stop = stop_flag()?;
            let done = undo_postgres(&args.plan, &options, args.only_batch, &stop);
            let done = done.map_err(|error| failure(&error))?;
            return if json {
                put_json(&text::undone_json(&done))
            } else {
                put(&text::undone(&done))
            };
        }
    };
    print_outcome(&plan, outcome.map_err(|error| failure(&error))?, json)
}

/// What would be done, and the command that does it.
fn dry(plan: &Path, command: fn(&Plan, &Path) -> String, json: bool) -> Result<(), Failure> {
    let status = status(plan).map_err(|error| failure(&error))?;
    if json {
        return put_json(&text::status_json(&status));
    }
    put(&format!("{}\n{}", text::status(&status), command(&status.plan, plan)))
}

fn print_outcome(plan: &Plan, outcome: Outcome, json: bool) -> Result<(), Failure> {
    if json {
        return put_json(&json!({
            "schema": SCHEMA,
            "level": plan.level,
            "expected": outcome.expected,
            "seen": outcome.seen,
        }));
    }
    put(&format!(
        "Reports of the store: expected {}, seen {}.\n",
        text::visits_and_pages(outcome.expected),
        text::visits_and_pages(outcome.seen)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_two_times_of_the_day() {
        assert_eq!(window("01:00-05:30").unwrap(), (60, 330));
        assert_eq!(window("23:00-04:00").unwrap(), (1380, 240));
        for wrong in ["1-5", "24:00-01:00", "01:00-01:00", ""] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }
}
