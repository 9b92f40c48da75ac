//! What the questions have in common: the store, the lists, verdicts on user agents.

use std::path::Path;

use culprit_audit::lists::{ListSet, PatternList, RejectedLine, parse_list, stock_lists};
use culprit_audit::robots::{
    Baseline, GroupBy, Networks, Preset, RobotOptions, RobotReport, robots,
};
use culprit_audit::{AuditError, AuditStore, LeftOut};
use culprit_model::counted;
use culprit_query::Stop;
use serde_json::{Value, json};

use super::text::{put, put_json};
use crate::audit_args::question_args::{RobotArgs, StoreArgs};
use crate::engine::say_checked;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Talk, engine_json};
use crate::sql::limits;

/// Bytes of a list at most: no list of user agents is larger.
const LIST_BYTES: u64 = 64 << 20;

/// Opens the store; Ctrl-C stops its questions. Says how many rows labels leave out.
///
/// # Errors
/// When it is no store, its labels cannot be read, or signals cannot be watched.
pub(super) fn open(args: &StoreArgs, talk: &Talk) -> Result<AuditStore, Failure> {
    let stop = Stop::default();
    let pulled = stop.clone();
    interrupt::watch(move || pulled.pull())?;
    let engine = args.engine.engine()?;
    let store = AuditStore::open(&args.store, limits(args.memory), stop).map_err(failure)?;
    let store = match engine {
        Some(engine) => store.on(engine, &args.store).map_err(failure)?,
        None => store,
    };
    if args.with_labelled {
        return Ok(store.with_labelled());
    }
    let left_out = store.left_out().map_err(failure)?;
    if left_out != LeftOut::default() {
        talk.say(&format!(
            "left out by `culprit audit clean`: {} and {}; `--with-labelled` counts them",
            counted(left_out.interactions, "interaction"),
            counted(left_out.contacts, "contact")
        ));
    }
    Ok(store)
}

/// Opens the store with the rows that labels leave out of other answers.
///
/// # Errors
/// As [`open`].
pub(super) fn open_with_labelled(args: &StoreArgs, talk: &Talk) -> Result<AuditStore, Failure> {
    open(&StoreArgs { with_labelled: true, ..args.clone() }, talk)
}

/// Prints a text about a store, and who computed it.
///
/// # Errors
/// When stdout cannot take it.
pub(super) fn put_of(store: &AuditStore, text: &str, talk: &Talk) -> Result<(), Failure> {
    say_checked(store.checked().as_ref(), talk);
    put(text)
}

/// Prints a document about a store. It says who computed it, where that was an engine.
///
/// # Errors
/// When stdout cannot take it.
pub(super) fn put_json_of(
    store: &AuditStore,
    mut document: Value,
    talk: &Talk,
) -> Result<(), Failure> {
    let checked = store.checked();
    say_checked(checked.as_ref(), talk);
    if let (Some(checked), Value::Object(members)) = (&checked, &mut document) {
        members.insert("engine".to_owned(), engine_json(checked));
    }
    put_json(&document)
}

/// An error of a question as the program's failure.
pub(crate) fn failure(error: AuditError) -> Failure {
    match error {
        AuditError::Question { source: source @ culprit_query::Error::Damaged { .. }, .. } => {
            Failure::bad_input(source.to_string()).hint(DAMAGED)
        }
        // The hints of a question that the user wrote do not fit one that stands in the program.
        AuditError::Question { question, source: source @ culprit_query::Error::Memory { .. } } => {
            Failure::refused(format!("the question `{question}`: {source}")).hint(MORE_MEMORY)
        }
        AuditError::Question { question, source } => {
            Failure::from(source).within(&format!("the question `{question}`"))
        }
        AuditError::Engine(source) => Failure::from(source),
        AuditError::Refused(error) => Failure::refused(error.to_string()),
        AuditError::Asked { what, hint } => Failure::bad_input(what).hint(hint),
        other @ AuditError::Damaged { .. } => Failure::bad_input(other.to_string()).hint(DAMAGED),
        other => Failure::bad_input(other.to_string()),
    }
}

/// The way out of a question that needs more memory than it may take.
const MORE_MEMORY: &str = "give a larger limit with `--memory MIB`, or leave it out: then half of the machine's memory is the limit";
/// The way out of a store that is not whole.
const DAMAGED: &str = "put the store back from a backup, or import its sources into a new folder";

/// Lists and networks, read.
pub(super) struct Recognition<'a> {
    talk: &'a Talk,
    pub(super) preset: Preset,
    pub(super) lists: ListSet,
    networks: Option<Networks>,
}

/// A warning is printed when one of so many interactions has no user agent.
const WARN_WITHOUT_AGENT: u64 = 10;

impl<'a> Recognition<'a> {
    /// Reads what the arguments name; says which lines were rejected.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(super) fn read(args: &RobotArgs, talk: &'a Talk) -> Result<Self, Failure> {
        let mut lists = stock_lists();
        for path in &args.list {
            lists.push(list(path, talk)?);
        }
        let allowed = args.allow.iter().map(|path| list(path, talk)).collect::<Result<_, _>>()?;
        let networks = args.networks.as_deref().map(|path| {
            let (networks, rejected) = Networks::parse(&text(path)?);
            warn(path, &rejected, talk);
            Ok::<_, Failure>(networks)
        });
        let preset = match args.preset.as_str() {
            "classic" => Preset::Classic,
            "strict" => Preset::Strict,
            _ => Preset::Balanced,
        };
        let networks = networks.transpose()?;
        Ok(Self { talk, preset, lists: ListSet::new(lists, allowed), networks })
    }

    /// The verdicts on a store. Warns when many interactions have no user agent to judge by.
    ///
    /// # Errors
    /// When a question cannot be answered.
    pub(super) fn judge(&self, store: &AuditStore, by: GroupBy) -> Result<RobotReport, Failure> {
        let networks = self.networks.as_ref();
        let options = RobotOptions { by, preset: self.preset, lists: &self.lists, networks };
        let report = robots(store, &options).map_err(failure)?;
        let (without, all) = (report.without_user_agent().unwrap_or(0), report.interactions);
        if without > 0 && without.saturating_mul(WARN_WITHOUT_AGENT) >= all {
            self.talk.warn(&format!(
                "warning: {without} of {} have no user agent, so no list finds robots among them: they \
                 are judged as one group\n",
                counted(all, "interaction")
            ));
        }
        Ok(report)
    }
}

fn list(path: &Path, talk: &Talk) -> Result<PatternList, Failure> {
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let (list, rejected) = parse_list(&name, &text(path)?);
    warn(path, &rejected, talk);
    Ok(list)
}

fn warn(path: &Path, rejected: &[RejectedLine], talk: &Talk) {
    for line in rejected {
        talk.warn(&format!(
            "warning: {}:{}: rejected `{}`: {}\n",
            path.display(),
            line.line,
            line.text,
            line.why
        ));
    }
}

/// A file's text.
///
/// # Errors
/// When it cannot be read, or is too large for a list.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let failed =
        |why: String| Failure::bad_input(format!("cannot read `{}`: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if size > LIST_BYTES {
        return Err(failed(format!("it has {size} bytes; the limit is {LIST_BYTES}")));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What verdicts rest on, for every document that uses them.
pub(super) fn recognised(report: &RobotReport) -> Value {
    let thresholds: serde_json::Map<String, Value> = report
        .thresholds
        .named()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let list = |(name, version): &(String, String)| json!({"name": name, "version": version});
    let baseline = match &report.baseline {
        Baseline::Rate { q, interactions, groups } => {
            json!({"q": q, "interactions": interactions, "groups": groups, "undefined": null})
        }
        Baseline::Undefined { why } => {
            json!({"q": null, "interactions": 0, "groups": 0, "undefined": why})
        }
    };
    json!({
        "preset": report.preset.name(),
        "thresholds": thresholds,
        "lists": report.lists.iter().map(list).collect::<Vec<_>>(),
        "baseline": baseline,
        "robot_share": report.robot_share(),
        "without_user_agent": report.without_user_agent(),
    })
}

/// The same in lines for people.
pub(super) fn recognised_text(report: &RobotReport) -> String {
    let mut text = match &report.baseline {
        Baseline::Rate { q, interactions, groups } => format!(
            "Single-page rate of people: q = {q:.3}, from {} in {}.\n",
            counted(*interactions, "interaction"),
            counted(*groups, "trusted group")
        ),
        Baseline::Undefined { why } => format!(
            "R2 and R3 are not used: the single-page rate of people is unknown, because {why}.\n"
        ),
    };
    let lists: Vec<String> =
        report.lists.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let named = report.thresholds.named();
    let thresholds: Vec<String> = named.iter().map(|(name, v)| format!("{name} {v}")).collect();
    text.push_str(&format!("Lists: {}\n", lists.join(", ")));
    text.push_str(&format!("Thresholds ({}): {}\n", report.preset.name(), thresholds.join(", ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_answered_by_what_the_user_can_change() {
        let source = culprit_query::Error::Memory { limit_mib: 20, who: "a sort".to_owned() };
        let said = failure(AuditError::Question { question: "visit_sums".into(), source });
        assert_eq!(said.code(), 3);
        assert!(said.what().contains("`visit_sums`") && said.what().contains("20 MiB"));
        assert_eq!(said.hints(), [MORE_MEMORY]);
    }
}
