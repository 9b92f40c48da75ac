//! A patch deletes, moves or refers to what does not exist.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Op, Outcome};

pub(super) const ID: &str = "config-target-missing";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let missing = configuration.assignments.iter().filter(|one| one.outcome == Outcome::NoTarget);
    missing.map(|one| finding(configuration, one)).collect()
}

fn finding(configuration: &Configuration, one: &Assignment) -> ConfigFinding {
    let key = &one.key;
    let title = match one.op {
        Op::Delete => format!("A patch deletes `{key}`, which does not exist."),
        Op::DeleteAttribute => {
            format!("A patch deletes the attribute `{key}`, which does not exist.")
        }
        Op::Inherit => format!("`{}` takes a value that does not exist.", one.written),
        op => format!("A patch places `{key}` {op} an element that does not exist."),
    };
    let fix = match one.op {
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
        title,
        evidence: vec![configuration.place(one)],
        why: format!("Reason: {}.", one.reason),
        fix,
    }
}
