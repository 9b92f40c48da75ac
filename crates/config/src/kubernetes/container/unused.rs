//! Values that no container takes.

use super::{Resolver, Row};
use crate::kubernetes::object::{Kind, Object};
use crate::provenance::{Op, Outcome};
use crate::secret;

impl Resolver<'_> {
    /// Adds the values that no container takes, under the names of their objects.
    pub(in super::super) fn values_of_no_container(&mut self, all_containers: bool) {
        let workloads: Vec<&Object> =
            self.collection.objects.iter().filter(|one| !one.containers.is_empty()).collect();
        for (at, object) in self.collection.objects.iter().enumerate() {
            let namespace = &object.id.namespace;
            let by = workloads.iter().find(|workload| {
                let mut mounted = workload.mounted.iter();
                mounted.any(|(kind, name)| object.id.is_meant(kind, name, &workload.id.namespace))
            });
            if all_containers && by.is_none() && !workloads.is_empty() && self.is_unused(at) {
                self.found.unused.push(object.source);
            }
            for value in &object.values {
                if self.taken.contains(&(at, value.key.clone())) || !all_containers {
                    continue;
                }
                let (outcome, reason) = match (self.replaced.get(&at), by) {
                    (Some(_), _) => {
                        (Outcome::Unread, self.collection.sources[object.source].why.clone())
                    }
                    (None, Some(by)) => {
                        (Outcome::Won, format!("{} mounts it as a file", by.id.path()))
                    }
                    (None, None) if workloads.is_empty() => (Outcome::Won, String::new()),
                    (None, None) => {
                        (Outcome::Unread, "no container of these manifests takes it".to_owned())
                    }
                };
                let start = Some(namespace).filter(|name| !name.is_empty());
                let start = start.map(|name| format!("{name}/")).unwrap_or_default();
                let path =
                    format!("{start}{}/{}", object.id.kind.word(), secret::name(&object.id.name));
                self.add(
                    &format!("{path}.{}", value.key),
                    Row {
                        source: value.source,
                        written: &value.key,
                        op: Op::Set,
                        value: self.shown(&object.id.kind, &value.key, &value.raw),
                        at: value.at,
                        outcome,
                        reason,
                    },
                );
            }
        }
    }

    /// Whether nothing refers to a ConfigMap or Secret, or mentions its name.
    fn is_unused(&self, at: usize) -> bool {
        let object = &self.collection.objects[at];
        let has_values = matches!(object.id.kind, Kind::ConfigMap | Kind::Secret);
        has_values
            && !object.is_managed
            && object.refused.is_empty()
            && !self.replaced.contains_key(&at)
            && !self.referred.contains(&at)
            && !self.collection.mentions.have(&object.id.name, object.source)
    }
}
