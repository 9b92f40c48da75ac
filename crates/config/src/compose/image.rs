//! The variables of an image: the weakest layer of each service that has it.

use std::collections::BTreeMap;

use super::{Found, Held, Project, is_name, of_service};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment};
use crate::sources::ServiceImage;

/// The source of an image's variables.
pub(super) fn source(image: &ServiceImage) -> Held {
    let source = Source {
        kind: SourceKind::ImageEnvironment,
        name: format!("image {}", image.names.join(", ")),
        layer: "image".to_owned(),
        state: SourceState::Read,
        why: String::new(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    };
    let variables = image.environment.iter();
    let entries = variables
        .map(|(name, value)| Entry::unplaced(vec![Segment::Name(name.clone())], value.clone()));
    (source, Contents { entries: entries.collect(), ..Contents::default() })
}

/// Adds the variables of the image to the services that have it; says so if there are none.
pub(super) fn values(found: &mut Found, project: &mut Project, at: usize) {
    let Some((image, (_, contents))) = &project.image else { return };
    let names: Vec<String> = image.names.iter().map(|name| whole_name(name)).collect();
    let mut images: BTreeMap<&str, String> = BTreeMap::new();
    for (outside, (_, contents)) in project.read_files() {
        for entry in &contents.entries {
            if let Some((service, [path])) = of_service(entry)
                && is_name(Some(path), "image")
            {
                images.insert(service, outside.expand(entry.value.expose()).text);
            }
        }
    }
    images.retain(|_, own| names.contains(&whole_name(own)));
    for service in images.keys() {
        for entry in &contents.entries {
            let name = super::name_of(entry);
            let key = format!("{service}.{name}");
            found.add(at, (key, name), (entry, true), &entry.value, &[]);
        }
    }
    if images.is_empty()
        && let Some((_, (source, _))) = &mut project.image
    {
        source.state = SourceState::Unread;
        "no service has this image".clone_into(&mut source.why);
    }
}

/// A name with what Docker adds: `shop` is `docker.io/library/shop:latest`.
fn whole_name(name: &str) -> String {
    let name = name.trim().trim_start_matches("docker.io/").trim_start_matches("library/");
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains([':', '@']) { name.to_owned() } else { format!("{name}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_with_what_docker_adds() {
        for same in ["shop", "shop:latest", "docker.io/library/shop", "library/shop:latest"] {
            assert_eq!(whole_name(same), "shop:latest", "{same}");
        }
        assert_eq!(whole_name("host:5000/shop"), "host:5000/shop:latest");
        assert_eq!(whole_name("shop@sha256:1"), "shop@sha256:1");
    }
}
