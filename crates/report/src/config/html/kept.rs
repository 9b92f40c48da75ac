//! The section of a recording's page about the configuration that it has kept.
use crate::Digest;
use crate::html::{Markup, RecordingViews, each_view};
use culprit_config::Snapshot;

use super::show::profile;
use super::{shown, table};
use crate::config::{kept_by, start_variables};

/// The section; none if no recording has kept any.
pub fn kept_section(views: &RecordingViews<'_>) -> Option<Markup> {
    if !views.iter().any(|(_, digest)| digest.recording.meta.configuration.is_some()) {
        return None;
    }
    let mut section = Markup::default();
    section.element("section", &[("id", "configuration")], |body| {
        body.leaf("h2", &[], "Configuration");
        each_view(body, views, one);
    });
    Some(section)
}

fn one(body: &mut Markup, digest: &Digest) {
    match kept_by(&digest.recording.meta) {
        None => body.leaf("p", &[], "This recording has kept none."),
        Some(Err(why)) => body.leaf("p", &[], &format!("Left out: {why}")),
        Some(Ok(snapshot)) => snapshot_of(body, &snapshot),
    }
}

fn snapshot_of(body: &mut Markup, snapshot: &Snapshot) {
    body.leaf("p", &[("class", "lead")], &format!("Of the {}.", snapshot.subject));
    let variables = start_variables(snapshot);
    body.leaf("h3", &[], "Variables that the process was started with");
    let rows = variables.iter().map(|variable| {
        let assignment = variable.assignment;
        [assignment.written.to_string(), shown(&assignment.value), variable.origin.clone()]
    });
    table(body, &["variable", "value", "origin"], rows);
    for (at, one) in snapshot.configurations.iter().enumerate() {
        profile(body, &format!("profile-{at}"), one);
    }
}
