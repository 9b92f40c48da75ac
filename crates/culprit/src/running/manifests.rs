//! What a cluster has, as `kubectl` prints it: from a file, from standard input, or from `kubectl` itself.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use culprit_config::{ImageFile, ImageFiles, MAX_BYTES, Redactor, Request};
use culprit_place::{Command, PlaceSpec, Stdio};

use super::inspection::{Inspection, by_profiles};
use crate::args::{ConfigSourceArgs, ConfigSubjectArgs};
use crate::commands::config_profile;
use crate::failure::{Context as _, Failure};
use crate::places;

/// The objects that have the variables of containers, and what these take from.
const OBJECTS: &str = "deployments,statefulsets,daemonsets,cronjobs,jobs,pods,configmaps,secrets";

/// What `kubectl get -o json` has printed.
#[derive(Debug)]
pub(crate) struct Manifests {
    /// Where it comes from, in words.
    subject: String,
    /// What its source is called.
    name: String,
    bytes: Vec<u8>,
}

/// The manifests that the options name; none if they name none.
///
/// # Errors
/// When they cannot be read, or `kubectl` cannot be run or fails.
pub(crate) fn manifests(args: &ConfigSubjectArgs) -> Result<Option<Manifests>, Failure> {
    if let Some(context) = &args.kube_context {
        return of_cluster(context, args.namespace.as_deref()).map(Some);
    }
    let Some(path) = &args.manifests else { return Ok(None) };
    let what = || format!("cannot read the manifests `{}`", path.display());
    let found = if path == Path::new("-") {
        let bytes = bounded(&mut std::io::stdin()).or_bad_input(what)?;
        Manifests { subject: "standard input".to_owned(), name: "stdin.json".to_owned(), bytes }
    } else {
        let bytes = bounded(&mut std::fs::File::open(path).or_bad_input(what)?);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Whatever it is called, it is read as YAML, which JSON is too.
        let is_known = [".json", ".yaml", ".yml"].iter().any(|end| name.ends_with(end));
        let name = if is_known { name } else { format!("{name}.yaml") };
        let subject = format!("manifests `{}`", path.display());
        Manifests { subject, name, bytes: bytes.or_bad_input(what)? }
    };
    Ok(Some(found))
}

/// As much as is read of a file of configuration; more of it is refused later, by its size.
fn bounded(source: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Asks the cluster of a context. Nothing is changed there.
fn of_cluster(context: &str, namespace: Option<&str>) -> Result<Manifests, Failure> {
    let what = || format!("cannot ask the cluster of the context `{context}`");
    let mut argv = vec!["kubectl", "--context", context, "get", OBJECTS, "-o", "json"];
    match namespace {
        Some(namespace) => argv.extend(["--namespace", namespace]),
        None => argv.push("--all-namespaces"),
    }
    let failed = |error: culprit_place::Error| {
        places::failure(&error).into_refused().of(&format!("context `{context}`"))
    };
    let place = places::open(&PlaceSpec::HOST)?;
    // Its messages go where ours go.
    let command = Command { stdin: Stdio::Null, stdout: Stdio::Pipe, ..Command::new(argv.iter()) };
    let mut running = place.hold(&command, None).map_err(failed)?.start().map_err(failed)?;
    let bytes = match running.take_stdout() {
        Some(mut stdout) => bounded(&mut stdout).or_refused(what)?,
        None => Vec::new(),
    };
    let exit = running.wait().map_err(failed)?;
    if !exit.success() {
        let code = exit.shell_code();
        return Err(Failure::refused(format!("{}: `kubectl` ended with {code}", what()))
            .hint("`kubectl config get-contexts` lists the contexts"));
    }
    Ok(Manifests {
        subject: format!("cluster of the context `{context}`"),
        name: format!("{context}.json"),
        bytes,
    })
}

/// What the profile for Kubernetes says of manifests.
///
/// # Errors
/// When the profile is not there, or nothing of them can be read.
pub(crate) fn inspect_manifests(
    manifests: Manifests,
    args: &ConfigSourceArgs,
    redactor: Redactor,
) -> Result<Inspection, Failure> {
    let Manifests { subject, name, bytes } = manifests;
    let file = match bytes.len() as u64 > MAX_BYTES {
        true => ImageFile::TooLarge,
        false => ImageFile::Bytes(bytes),
    };
    // A context may have `/` in its name.
    let name = name.replace('/', "_");
    let request = Request {
        defines: args.define.clone(),
        files: Some(Arc::new(ImageFiles::new(BTreeMap::from([(name, file)]), ""))),
        ..Request::default()
    };
    let found = by_profiles(&[config_profile("kubernetes")?], &request, &redactor);
    if found.iter().all(|one| one.sources.is_empty()) {
        return Err(Failure::bad_input(format!("no objects with configuration in {subject}"))
            .hint(format!("`kubectl get {OBJECTS} -o json` prints them")));
    }
    Ok(Inspection { subject, found, redactor })
}
