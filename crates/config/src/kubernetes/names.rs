//! Names of variables and objects, and what is odd about values.

use super::container::{ENDS_IN_BREAK, Resolver};
use super::object::Kind;
use crate::readers::Oddity;
use crate::secret;

impl Resolver<'_> {
    /// Values of Secrets that end in a line break, as `echo secret | base64` makes them.
    pub(super) fn line_breaks(&mut self) {
        for object in self.collection.objects.iter().filter(|one| one.id.kind == Kind::Secret) {
            for value in object.values.iter().filter(|value| !value.malformed) {
                let text = value.raw.expose();
                // A certificate has several lines.
                let is_one_line = text
                    .strip_suffix('\n')
                    .is_some_and(|text| !text.is_empty() && !text.contains('\n'));
                if is_one_line {
                    let name = secret::name(&value.key);
                    let oddity = Oddity { at: value.at.0, name, what: ENDS_IN_BREAK };
                    self.found.oddities.push((value.source, oddity));
                }
            }
        }
    }
}

/// The variables of a container that a text names as shells do: `${NAME}`, or `$NAME` as the whole text.
pub(super) fn of_shell<'t>(text: &'t str, known: &[&str]) -> Vec<&'t str> {
    let whole = text.strip_prefix('$').filter(|name| known.contains(name));
    let parts = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let named = parts.map(|part| part.split(':').next().unwrap_or(part));
    whole.into_iter().chain(named.filter(|name| known.contains(name))).collect()
}

/// Which name may be meant by another one, in words.
pub(super) fn meant<'n>(known: impl Iterator<Item = &'n str>, name: &str) -> String {
    let near = known.map(|known| {
        let distance = strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase());
        (distance, known)
    });
    match near.min().filter(|(distance, _)| *distance <= (name.len() / 3).max(1)) {
        Some((_, near)) => format!("; did you mean `{}`?", secret::name(near)),
        None => String::new(),
    }
}

/// Whether a name has the form of a variable that the kubelet sets for a service.
pub(super) fn is_of_service(name: &str) -> bool {
    let part = |middle: &str| name.find(middle).is_some_and(|at| at > 0);
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"].into_iter().any(part)
        || name.strip_suffix("_PORT").is_some_and(|start| !start.is_empty())
}
