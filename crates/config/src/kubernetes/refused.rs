//! What the API refuses of containers: fields that it does not know, and values that are no text.
//!
//! A field that is not known here and is near no known one may be new, and counts as known.

use super::view::View;
use crate::position::Position;
use crate::readers::{KeyGroup, Segment};
use crate::secret;
use crate::spelling::nearest_name;

/// The fields of a container (`core/v1`, Container).
const CONTAINER: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];
const ENV: &[&str] = &["name", "value", "valueFrom"];
const ENV_FROM: &[&str] = &["configMapRef", "prefix", "secretRef"];
const VALUE_FROM: &[&str] =
    &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"];

/// Why the API refuses a container, and where.
pub(super) fn of_container(view: &View<'_>, groups: &[KeyGroup]) -> Vec<(Position, String)> {
    let mut found = unknown(view, CONTAINER, groups);
    for one in view.at("envFrom").elements() {
        found.extend(unknown(&one, ENV_FROM, groups));
    }
    for one in view.at("env").elements() {
        found.extend(unknown(&one, ENV, groups));
        found.extend(unknown(&one.at("valueFrom"), VALUE_FROM, groups));
        if let Some(value) = one.at("value").entry()
            && let Some(what) = value.retyped
        {
            found.push((value.at, no_text(&one.text("name"), what)));
        }
    }
    found
}

/// What is said of a value that the API takes for no text.
pub(super) fn no_text(name: &str, what: &str) -> String {
    let name = secret::name(name);
    format!("the value of `{name}` is {what}, and a text is wanted: put it in quotes")
}

/// Fields that are almost known ones.
fn unknown(view: &View<'_>, known: &[&str], groups: &[KeyGroup]) -> Vec<(Position, String)> {
    let mut found: Vec<(Position, String)> = Vec::new();
    let mut last = "";
    for (path, entry) in view.all() {
        let [Segment::Name(field), below @ ..] = path else { continue };
        if field == last || known.contains(&field.as_str()) {
            continue;
        }
        last = field;
        let same = known.iter().copied().find(|one| one.eq_ignore_ascii_case(field));
        let Some(near) = same.or_else(|| nearest_name(field, known.iter().copied())) else {
            continue;
        };
        let own = &entry.path[..entry.path.len() - below.len()];
        let group = groups.iter().find(|one| one.document == entry.document && one.path == own);
        let at = group.map_or(entry.at, |group| group.at);
        let field = secret::name(field);
        found.push((at, format!("`{field}` is no field here; did you mean `{near}`?")));
    }
    found
}
