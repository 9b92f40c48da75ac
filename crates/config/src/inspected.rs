//! What `docker inspect` and `docker image inspect` print, read from a file.

use std::collections::BTreeMap;

use culprit_model::Pid;
use culprit_place::{InspectedContainer, InspectedImage};
use serde::Deserialize;

/// Why a file is not what an engine's `inspect` prints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInspected {
    /// It is malformed.
    #[error("line {line}, column {column}: not the output of `docker inspect`")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It describes nothing.
    #[error("it describes no container and no image")]
    Empty,
}

/// The containers and images of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inspected {
    /// The containers, in the order of the file.
    pub containers: Vec<InspectedContainer>,
    /// The images, in the order of the file.
    pub images: Vec<InspectedImage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    id: Option<String>,
    name: Option<String>,
    image: Option<String>,
    created: Option<String>,
    repo_tags: Option<Vec<String>>,
    config: Option<Config>,
    state: Option<State>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    env: Option<Vec<String>>,
    labels: Option<BTreeMap<String, String>>,
    image: Option<String>,
    working_dir: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    pid: Option<u32>,
    running: Option<bool>,
    status: Option<String>,
}

/// Reads what `docker inspect` or `docker image inspect` printed: one array, of either or of both.
///
/// # Errors
/// When it is something else. The reason quotes nothing of the file, which may hold secrets.
pub fn read_inspected(bytes: &[u8]) -> Result<Inspected, NotInspected> {
    let rows: Vec<Row> = serde_json::from_slice(bytes)
        .map_err(|error| NotInspected::Form { line: error.line(), column: error.column() })?;
    let mut found = Inspected::default();
    for row in rows {
        // Only containers have a state.
        match row.state.is_some() {
            true => found.containers.push(container(row)),
            false => found.images.push(image(row)),
        }
    }
    if found == Inspected::default() { Err(NotInspected::Empty) } else { Ok(found) }
}

fn container(row: Row) -> InspectedContainer {
    let (config, state) = (row.config.unwrap_or_default(), row.state.unwrap_or_default());
    let running = state.running == Some(true);
    InspectedContainer {
        id: row.id.unwrap_or_default(),
        name: row.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        image: config.image.unwrap_or_default(),
        image_id: row.image.unwrap_or_default(),
        environment: config.env.unwrap_or_default(),
        labels: config.labels.unwrap_or_default(),
        created: row.created.unwrap_or_default(),
        init: state.pid.filter(|pid| running && *pid > 0).map(Pid),
        state: state.status.unwrap_or_default(),
        work_dir: config.working_dir.unwrap_or_default(),
    }
}

fn image(row: Row) -> InspectedImage {
    let config = row.config.unwrap_or_default();
    InspectedImage {
        id: row.id.unwrap_or_default(),
        names: row.repo_tags.unwrap_or_default(),
        environment: config.env.unwrap_or_default(),
        work_dir: config.working_dir.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_and_images_are_told_apart() {
        let text = br#"[
            {"Id": "c1", "Name": "/web-1", "Image": "sha256:i1", "Created": "2026-01-01T00:00:00Z",
             "State": {"Running": true, "Pid": 7, "Status": "running"},
             "Config": {"Env": ["A=1"], "Image": "web:1", "Labels": {"x": "y"}, "WorkingDir": "/app"}},
            {"Id": "sha256:i1", "RepoTags": ["web:1"], "Config": {"Env": null}}
        ]"#;
        let found = read_inspected(text).unwrap();
        let [container] = found.containers.as_slice() else { panic!("{found:?}") };
        assert_eq!((container.name.as_str(), container.init), ("web-1", Some(Pid(7))));
        assert_eq!((container.image.as_str(), container.environment.len()), ("web:1", 1));
        assert_eq!(found.images[0].names, ["web:1"]);
    }

    #[test]
    fn what_is_something_else_is_refused_without_a_word_of_it() {
        let error = read_inspected(b"[{\"Id\": hunter2-hunter2}]").unwrap_err().to_string();
        assert!(error.starts_with("line 1, column") && !error.contains("hunter2"), "{error}");
        assert_eq!(read_inspected(b"[]").unwrap_err(), NotInspected::Empty);
    }
}
