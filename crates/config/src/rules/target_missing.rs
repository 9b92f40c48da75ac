//! A patch deletes, moves or refers to what does not exist; so does a container that refers to a ConfigMap or Secret.

use culprit_model::Severity;

use super::reason;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Op, Outcome, Source, SourceKind, SourceState};
use crate::readers::Clear;

pub(super) const ID: &str = "config-target-missing";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let missing = configuration.assignments.iter().filter(|one| one.outcome == Outcome::NoTarget);
    let objects = configuration.sources.iter().filter(|source| is_missing_object(source));
    missing.map(|one| finding(configuration, one)).chain(objects.map(missing_object)).collect()
}

fn is_missing_object(source: &Source) -> bool {
    let is_object = matches!(source.kind, SourceKind::K8sConfigMap | SourceKind::K8sSecret);
    is_object && source.state == SourceState::MissingRequired
}

/// An object that a container needs and no file has. The cluster may have it; a name that is almost one of a file is
/// rather a slip.
fn missing_object(source: &Source) -> ConfigFinding {
    let near = source.why.split("did you mean `").nth(1).and_then(|rest| rest.split('`').next());
    let name = &source.name;
    let is_elsewhere = source.why.contains(" has one of this name in the namespace `");
    let correct = near.map(|near| format!("Correct the name, if `{near}` is meant."));
    let correct = correct.or_else(|| {
        is_elsewhere.then(|| "Put both into one namespace: a pod takes no other.".to_owned())
    });
    let kubectl = name.replace('/', " ");
    let add = format!("Add the object, if the cluster has none: `kubectl get {kubectl}`.");
    ConfigFinding {
        id: ID,
        severity: if near.is_some() || is_elsewhere { Severity::Medium } else { Severity::Low },
        key: String::new(),
        concerns: Vec::new(),
        title: format!("`{name}` is needed by a container, and no file has it."),
        evidence: vec![name.clone()],
        why: reason(&source.why),
        fix: correct.into_iter().chain([add]).collect(),
    }
}

fn finding(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let key = &one.key;
    let is_compose = configuration.sources[one.source].kind == SourceKind::ComposeEnvironment;
    let title = match one.op {
        Op::Delete if is_compose => {
            format!("`{}` of `{key}` removes nothing.", Clear::Reset)
        }
        Op::Delete => format!("A patch deletes `{key}`, which does not exist."),
        Op::DeleteAttribute => {
            format!("A patch deletes the attribute `{key}`, which does not exist.")
        }
        Op::Inherit => format!("`{}` takes a value that does not exist.", one.written),
        op => format!("A patch places `{key}` {op} an element that does not exist."),
    };
    let fix = match one.op {
        Op::Delete if is_compose => vec![
            "Correct the name, if the variable stays.".to_owned(),
            "Write `environment: !override` with all variables that shall stay.".to_owned(),
        ],
        Op::Delete | Op::DeleteAttribute => vec![
            "Correct the attributes that the element is matched by.".to_owned(),
            "Remove the patch, if its target is gone.".to_owned(),
        ],
        Op::Inherit => vec![
            "Correct the name of the key, or add the key.".to_owned(),
            "If the value may be missing: `optional: true`.".to_owned(),
        ],
        _ => vec!["Correct the XPath: it is looked for beside the element.".to_owned()],
    };
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: key.to_string(),
        concerns: Vec::new(),
        title,
        evidence: vec![configuration.place(one)],
        why: reason(&one.reason),
        fix,
    }
}
