//! What a manifest says of one object: the values of a ConfigMap or a Secret, and the containers of a
//! workload with the variables that they ask for.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::refused;
use super::view::View;
use crate::position::Position;
use crate::provenance::SourceKind;
use crate::readers::KeyGroup;
use crate::value::Raw;

/// Base64 as the API reads it: what is left of the last bits does not matter.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// What an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// An object with containers, by its kind in lower case.
    Workload(String),
}

impl Kind {
    /// The word that `kubectl` takes.
    pub(super) fn word(&self) -> &str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
            Self::Workload(word) => word,
        }
    }

    /// What its source is.
    pub(super) fn source_kind(&self) -> SourceKind {
        match self {
            Self::ConfigMap => SourceKind::K8sConfigMap,
            Self::Secret => SourceKind::K8sSecret,
            Self::Workload(_) => SourceKind::K8sWorkload,
        }
    }
}

/// An object's identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    /// What it is.
    pub(super) kind: Kind,
    /// The namespace; empty if the manifest names none.
    pub(super) namespace: String,
    /// The name.
    pub(super) name: String,
}

impl Id {
    /// `configmap/app`, as `kubectl` takes it; with the namespace before it, where there is one.
    pub(super) fn path(&self) -> String {
        let path = format!("{}/{}", self.kind.word(), self.name);
        if self.namespace.is_empty() { path } else { format!("{}/{path}", self.namespace) }
    }

    /// Whether a reference from a namespace means this object. Without a namespace, a manifest is
    /// applied to any.
    pub(super) fn is_meant(&self, kind: &Kind, name: &str, namespace: &str) -> bool {
        let near = self.namespace.is_empty() || namespace.is_empty() || self.namespace == namespace;
        self.kind == *kind && self.name == name && near
    }
}

/// A value of a ConfigMap or a Secret.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// Its key.
    pub(super) key: String,
    /// The value.
    pub(super) raw: Raw,
    /// Where it stands, and its last line.
    pub(super) at: (Position, u32),
    /// Whether it is in `binaryData`, which no variable gets.
    pub(super) binary: bool,
    /// The source: an index of the collection's.
    pub(super) source: usize,
    /// Whether it cannot be decoded.
    pub(super) malformed: bool,
}

/// A container of a workload.
#[derive(Debug, Clone)]
pub(super) struct Container {
    /// Its name.
    pub(super) name: String,
    /// The objects that it takes as a whole.
    pub(super) env_from: Vec<EnvFrom>,
    /// The variables that it names.
    pub(super) env: Vec<EnvVar>,
}

/// A ConfigMap or Secret of which a container takes all values.
#[derive(Debug, Clone)]
pub(super) struct EnvFrom {
    /// What it is.
    pub(super) kind: Kind,
    /// Its name.
    pub(super) name: String,
    /// What stands before each key.
    pub(super) prefix: String,
    /// Whether it may be missing.
    pub(super) optional: bool,
    /// Where it stands.
    pub(super) at: Position,
}

/// A variable that a container names.
#[derive(Debug, Clone)]
pub(super) struct EnvVar {
    /// Its name.
    pub(super) name: String,
    /// Where it stands, and its last line.
    pub(super) at: (Position, u32),
    /// Where its value is from.
    pub(super) from: From,
}

/// Where a variable's value is from.
#[derive(Debug, Clone)]
pub(super) enum From {
    /// A text with references.
    Text(String),
    /// A key of a ConfigMap or a Secret.
    Key {
        /// What it is.
        kind: Kind,
        /// Its name.
        name: String,
        /// The key.
        key: String,
        /// Whether the object or the key may be missing.
        optional: bool,
    },
    /// A field of the pod.
    Field(String),
    /// What only the cluster knows, in words.
    Cluster(String),
}

/// An object of a manifest.
#[derive(Debug, Clone)]
pub(super) struct Object {
    /// Its identity.
    pub(super) id: Id,
    /// The source: an index of the collection's.
    pub(super) source: usize,
    /// The values of a ConfigMap or a Secret.
    pub(super) values: Vec<Value>,
    /// The containers of a workload.
    pub(super) containers: Vec<Container>,
    /// Fields of the pod that the manifest has.
    pub(super) fields: BTreeMap<String, String>,
    /// ConfigMaps and Secrets that the workload mounts as files.
    pub(super) mounted: Vec<(Kind, String)>,
    /// Whether it adds to another object of its name, as a generator of kustomize can.
    pub(super) merges: bool,
    /// Whether the cluster or a controller makes it, for others than containers to read.
    pub(super) is_managed: bool,
    /// Where its namespace stands.
    pub(super) namespace_at: Option<Position>,
    /// Why the API refuses it, and where.
    pub(super) refused: Vec<(Position, String)>,
}

impl Object {
    /// An object without values and containers.
    pub(super) fn new(id: Id, source: usize) -> Self {
        Self {
            id,
            source,
            values: Vec::new(),
            containers: Vec::new(),
            fields: BTreeMap::new(),
            mounted: Vec::new(),
            merges: false,
            is_managed: false,
            namespace_at: None,
            refused: Vec::new(),
        }
    }
}

/// The identity of the object in a document; none if it has no values and no containers.
pub(super) fn identity(document: &View<'_>) -> Option<Id> {
    let metadata = document.at("metadata");
    let kind = match document.text("kind").as_str() {
        "ConfigMap" => Kind::ConfigMap,
        "Secret" => Kind::Secret,
        other => {
            pod_of(document)?;
            Kind::Workload(other.to_lowercase())
        }
    };
    let generated = metadata.text("generateName");
    let name = Some(metadata.text("name")).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("{generated}*"));
    Some(Id { kind, namespace: metadata.text("namespace"), name })
}

/// Reads an object, with what the API refuses of it.
pub(super) fn read(document: &View<'_>, id: Id, source: usize, groups: &[KeyGroup]) -> Object {
    let mut object = Object::new(id, source);
    object.is_managed = is_managed(document, &object.id);
    object.namespace_at = document.at("metadata").at("namespace").entry().map(|entry| entry.at);
    match object.id.kind {
        Kind::ConfigMap => {
            values(document, "data", &mut object, &plain);
            let of_data = object.values.len();
            values(document, "binaryData", &mut object, &plain);
            object.values[of_data..].iter_mut().for_each(|value| value.binary = true);
        }
        Kind::Secret => {
            values(document, "data", &mut object, &decoded);
            values(document, "stringData", &mut object, &plain);
        }
        Kind::Workload(_) => {
            let Some(pod) = pod_of(document) else { return object };
            let spec = pod.at("spec");
            for list in ["initContainers", "containers"] {
                for view in spec.at(list).elements() {
                    object.containers.push(container(&view));
                    object.refused.extend(refused::of_container(&view, groups));
                }
            }
            object.fields = fields(&pod, document);
            object.mounted = mounted(&spec);
        }
    }
    object
}

/// Whether the cluster, a controller or a tool makes an object and reads it: certificates, passwords of registries,
/// tokens of accounts, releases of Helm.
fn is_managed(document: &View<'_>, id: &Id) -> bool {
    let own_type = document.text("type");
    !matches!(own_type.as_str(), "" | "Opaque")
        || !document.below(&["metadata", "ownerReferences"]).is_empty()
        || id.name == "kube-root-ca.crt"
}

fn plain(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn decoded(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let bytes = BASE64.decode(text).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn values(
    document: &View<'_>,
    group: &str,
    object: &mut Object,
    decode: &dyn Fn(&str) -> Option<String>,
) {
    let view = document.at(group);
    let (pairs, is_whole) = view.pairs();
    if !is_whole && let Some(first) = view.first() {
        let why = format!("a value of `{group}` is a list or a group, and a text is wanted");
        object.refused.push((first.at, why));
    }
    for (key, entry) in pairs {
        let text = if entry.null { "" } else { entry.value.expose() };
        let decoded = decode(text);
        let why = match (&decoded, entry.retyped) {
            (_, Some(what)) => Some(refused::no_text(key, what)),
            (None, _) => {
                let key = crate::secret::name(key);
                Some(format!("`{key}` in `{group}` is no base64; `stringData` takes plain text"))
            }
            _ => None,
        };
        object.refused.extend(why.map(|why| (entry.at, why)));
        object.values.push(Value {
            key: key.to_owned(),
            malformed: decoded.is_none(),
            // What cannot be decoded may be the secret itself.
            raw: Raw::new(decoded.unwrap_or_else(|| text.to_owned())),
            at: (entry.at, entry.end_line),
            binary: false,
            source: object.source,
        });
    }
}

/// The pod of a workload, or its template.
fn pod_of<'a>(document: &View<'a>) -> Option<View<'a>> {
    let paths: [&[&str]; 4] =
        [&["spec", "jobTemplate", "spec", "template"], &["spec", "template"], &["template"], &[]];
    let pods = paths.iter().map(|path| document.below(path));
    let has = |pod: &View<'_>, list: &str| !pod.below(&["spec", list]).is_empty();
    pods.into_iter().find(|pod| has(pod, "containers") || has(pod, "initContainers"))
}

fn container(view: &View<'_>) -> Container {
    let env_from = view.at("envFrom").elements();
    let env = view.at("env").elements();
    Container {
        name: view.text("name"),
        env_from: env_from.iter().filter_map(whole_object).collect(),
        env: env.iter().filter_map(variable).collect(),
    }
}

/// The kinds of objects by the keys that refer to them.
fn referred<'a>(view: &View<'a>, names: [&str; 2]) -> Option<(Kind, View<'a>)> {
    [Kind::ConfigMap, Kind::Secret].into_iter().zip(names).find_map(|(kind, name)| {
        let found = view.at(name);
        (!found.is_empty()).then_some((kind, found))
    })
}

fn whole_object(view: &View<'_>) -> Option<EnvFrom> {
    let (kind, found) = referred(view, ["configMapRef", "secretRef"])?;
    Some(EnvFrom {
        kind,
        name: found.text("name"),
        prefix: view.text("prefix"),
        optional: found.is_true("optional"),
        at: found.first().map_or(Position::START, |entry| entry.at),
    })
}

fn variable(view: &View<'_>) -> Option<EnvVar> {
    let first = view.first()?;
    let named = view.at("name").entry().unwrap_or(first);
    let from = view.at("valueFrom");
    let text = view.text("value");
    let from = if !text.is_empty() || from.is_empty() {
        From::Text(text)
    } else if let Some((kind, found)) = referred(&from, ["configMapKeyRef", "secretKeyRef"]) {
        From::Key {
            kind,
            name: found.text("name"),
            key: found.text("key"),
            optional: found.is_true("optional"),
        }
    } else {
        other_source(&from)
    };
    let at = (named.at, named.end_line);
    Some(EnvVar { name: named.value.expose().to_owned(), at, from })
}

fn other_source(from: &View<'_>) -> From {
    let field = from.at("fieldRef").text("fieldPath");
    let resource = from.at("resourceFieldRef").text("resource");
    let file = from.at("fileKeyRef").text("path");
    match (field.is_empty(), resource.is_empty(), file.is_empty()) {
        (false, ..) => From::Field(field),
        (_, false, _) => From::Cluster(format!("the cluster computes it from `{resource}`")),
        (.., false) => From::Cluster(format!("a file of a volume has it: `{file}`")),
        _ => From::Cluster("its `valueFrom` is of an unknown kind".to_owned()),
    }
}

/// The fields of a pod that do not depend on the cluster.
fn fields(pod: &View<'_>, document: &View<'_>) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let metadata = pod.at("metadata");
    for group in ["labels", "annotations"] {
        for (key, entry) in metadata.at(group).pairs().0 {
            let value = entry.value.expose().to_owned();
            fields.insert(format!("metadata.{group}['{key}']"), value);
        }
    }
    let is_pod = document.text("kind") == "Pod";
    let known = [
        ("metadata.namespace", document.at("metadata").text("namespace")),
        ("metadata.name", if is_pod { metadata.text("name") } else { String::new() }),
        ("spec.serviceAccountName", pod.at("spec").text("serviceAccountName")),
    ];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    fields.extend(known.map(|(field, value)| (field.to_owned(), value)));
    fields
}

fn mounted(spec: &View<'_>) -> Vec<(Kind, String)> {
    let mut found = Vec::new();
    for volume in spec.at("volumes").elements() {
        let projected = volume.below(&["projected", "sources"]).elements();
        for source in projected.iter().chain([&volume]) {
            let map = source.at("configMap").text("name");
            let secret = source.at("secret");
            let secret = [secret.text("secretName"), secret.text("name")].concat();
            found.extend([(Kind::ConfigMap, map), (Kind::Secret, secret)]);
        }
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}
