//! Why a view is empty: the filter to lift is named, never an empty screen.

use culprit_engine::calls::CallTree;
use culprit_model::{Filter, Recording};

/// One sentence a reason; empty when the tree is not.
pub(crate) fn why_empty(tree: &CallTree, filter: &Filter, recording: &Recording) -> Vec<String> {
    if tree.total() > 0 {
        return Vec::new();
    }
    let mut reasons: Vec<String> = tree
        .unmet()
        .iter()
        .map(|unmet| {
            let pattern = &unmet.pattern;
            if unmet.hidden {
                format!(
                    "`--inc {pattern}` matches only frames that `--fold` or `--group` took away"
                )
            } else {
                format!("`--inc {pattern}` matches no frame")
            }
        })
        .collect();
    if filter.from.is_some_and(|from| from.0 >= recording.meta.wall.0) {
        reasons.push(format!("`--from` lies after the recording's end at {}", recording.meta.wall));
    }
    for (option, pattern) in
        [("process", &filter.process), ("thread", &filter.thread), ("exc", &filter.exclude)]
    {
        if !pattern.is_empty() && reasons.is_empty() {
            reasons.push(format!("`--{option} {pattern}` leaves nothing"));
        }
    }
    if reasons.is_empty() {
        reasons.push(format!("the recording has nothing of the metric `{}`", filter.metric));
    }
    reasons
}
