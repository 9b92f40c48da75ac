//! What Compose refuses of the files of a project, beside malformed YAML: sections that it does not know, lists with
//! mappings in them, names with a blank, services without an image.
//!
//! Only what every version refuses: a key that is not known here and is near no known one may be new.

use std::collections::{BTreeMap, BTreeSet};

use super::{Project, is_name, of_service};
use crate::Position;
use crate::provenance::SourceState;
use crate::readers::{Contents, Entry, Segment};
use crate::secret;
use crate::spelling::nearest_name;

/// The sections of a file (`compose-spec.json`).
const SECTIONS: &[&str] = &[
    "configs", "include", "models", "name", "networks", "secrets", "services", "version", "volumes",
];
/// The keys of a service (`compose-spec.json`).
const KEYS: &str = "annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs \
    container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset \
    credential_spec depends_on deploy develop device_cgroup_rules devices dns dns_opt dns_search domainname \
    entrypoint env_file environment expose extends external_links extra_hosts gpus group_add healthcheck hostname \
    image init ipc isolation label_file labels links logging mac_address mem_limit mem_reservation mem_swappiness \
    memswap_limit models network_mode networks oom_kill_disable oom_score_adj pid pids_limit platform ports \
    post_start pre_start pre_stop privileged profiles provider pull_policy pull_refresh_after read_only restart \
    runtime scale secrets security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs \
    tty ulimits umask use_api_socket user userns_mode uts volumes volumes_from working_dir";

/// Why a file is refused, and where.
pub(super) type Refused = BTreeMap<usize, (Position, String)>;

/// The files that are refused: the first reason of each.
pub(super) fn files(project: &Project) -> Refused {
    let mut refused = Refused::new();
    for (file, (source, contents)) in project.compose.iter().enumerate() {
        if source.state != SourceState::Read {
            continue;
        }
        let reasons = first(contents).into_iter().chain(texts(project, file));
        if let Some(first) = reasons.min() {
            refused.insert(file, first);
        }
    }
    if refused.is_empty() {
        refused.extend(without_image(project));
    }
    refused
}

/// The first reason in a file.
fn first(contents: &Contents) -> Option<(Position, String)> {
    let mut reasons: Vec<(Position, String)> = Vec::new();
    for (path, at) in paths(contents) {
        let why = match path {
            [Segment::Name(section)] => unknown(section, SECTIONS.iter().copied(), "a section"),
            [first, Segment::Name(_), Segment::Name(key)] if is_name(Some(first), "services") => {
                unknown(key, KEYS.split_whitespace(), "a key of a service")
            }
            _ => None,
        };
        reasons.extend(why.map(|why| (at, why)));
    }
    for entry in &contents.entries {
        let Some((_, [group, rest @ ..])) = of_service(entry) else { continue };
        if is_name(Some(group), "environment") {
            let why = odd_variable(rest, entry.value.expose());
            reasons.extend(why.map(|why| (entry.at, why)));
        }
    }
    reasons.sort();
    reasons.into_iter().next()
}

/// Texts in the place of a service, or of its `environment`. A text that is merged with the `environment` of a weaker
/// file is the name of a variable (`override.convertIntoSequence`).
fn texts(project: &Project, file: usize) -> Vec<(Position, String)> {
    let (_, contents) = &project.compose[file];
    let scope = project.scope_of[file];
    // What only a stronger file than this one takes away is still there.
    let is_stronger = |by: &String| {
        let mut stronger = project.compose[file + 1..].iter();
        project.compose[file].0.name != *by && stronger.any(|(source, _)| source.name == *by)
    };
    let sets_environment = |weaker: usize, service: &str| {
        let (_, contents) = &project.compose[weaker];
        let removed = project.removed[weaker].iter().filter(|one| is_stronger(&one.by));
        let removed = removed.map(|one| &one.entry);
        let own = contents.entries.iter().chain(&contents.empties).chain(removed);
        own.filter_map(of_service)
            .any(|(name, path)| name == service && is_name(path.first(), "environment"))
    };
    let taken = project.removed[file].iter().map(|one| &one.entry);
    let texts = contents.entries.iter().chain(taken).filter(|entry| !entry.null);
    let reason = |entry: &Entry| match of_service(entry)? {
        (service, []) => Some(format!(
            "the service `{}` is a text, and a mapping is wanted",
            secret::name(service)
        )),
        (service, [group]) if is_name(Some(group), "environment") => {
            // A file is checked before the scope that includes it merges it.
            let mut weaker =
                (0..file).filter(|one| project.is_inside(project.merged_in(*one), scope));
            let is_merged = weaker.any(|one| sets_environment(one, service));
            let why = "`environment` is a text, and a mapping or a list is wanted";
            (!is_merged).then(|| why.to_owned())
        }
        _ => None,
    };
    texts.filter_map(|entry| Some((entry.at, reason(entry)?))).collect()
}

/// Every path of a file that is a section, or a key of a service, with where its key stands.
fn paths(contents: &Contents) -> impl Iterator<Item = (&[Segment], Position)> {
    let groups = contents.groups.iter().map(|group| (group.path.as_slice(), group.at));
    let values = contents.entries.iter().chain(&contents.empties);
    groups.chain(values.map(|entry| (entry.path.as_slice(), entry.at)))
}

fn unknown<'n>(
    key: &str,
    mut known: impl Iterator<Item = &'n str> + Clone,
    what: &str,
) -> Option<String> {
    if key.starts_with("x-") || known.clone().any(|one| one == key) {
        return None;
    }
    let same = known.clone().find(|one| one.eq_ignore_ascii_case(key));
    let near = same.or_else(|| nearest_name(key, &mut known))?;
    let key = secret::name(key);
    Some(format!("`{key}` is not {what}, and Compose refuses it; did you mean `{near}`?"))
}

/// What is wrong with a path below `environment`.
fn odd_variable(path: &[Segment], text: &str) -> Option<String> {
    match path {
        [Segment::Index(_), Segment::Name(name), ..] => {
            let name = secret::name(name);
            Some(format!("the item of the list is a mapping; write `- {name}=...`"))
        }
        [Segment::Name(name), _, ..] => {
            let name = secret::name(name);
            Some(format!("the value of `{name}` is a list or a mapping, and a text is wanted"))
        }
        [Segment::Index(_)] => {
            let (name, _) = text.split_once('=').filter(|(name, _)| name.ends_with(' '))?;
            let name = secret::name(name.trim_end());
            Some(format!("a blank stands before the `=`; write `- {name}=...`"))
        }
        _ => None,
    }
}

/// Services that no file gives an image, and whose name is almost that of one which has it. Others may be parts of a
/// project whose files are read alone.
fn without_image(project: &Project) -> Refused {
    let mut refused = Refused::new();
    // What cannot be read may give one.
    if project.compose.iter().any(|(source, _)| source.state.is_gap()) {
        return refused;
    }
    let mut services: BTreeMap<&str, (usize, Position)> = BTreeMap::new();
    let mut complete: BTreeSet<&str> = BTreeSet::new();
    for (file, (source, contents)) in project.compose.iter().enumerate() {
        if source.state != SourceState::Read {
            continue;
        }
        for (path, at) in paths(contents) {
            let [first, Segment::Name(service), rest @ ..] = path else { continue };
            if !is_name(Some(first), "services") {
                continue;
            }
            // The first place of the last file.
            let place = services.entry(service).or_insert((file, at));
            if file > place.0 || at < place.1 {
                *place = (file, at);
            }
            // Of a service with profiles that are not active, Compose asks for nothing.
            let completes = ["image", "build", "provider", "extends", "profiles"];
            if completes.iter().any(|key| is_name(rest.first(), key)) {
                complete.insert(service);
            }
        }
    }
    for (service, (file, at)) in &services {
        if complete.contains(service) {
            continue;
        }
        let distance = |other: &str| strsim::damerau_levenshtein(other, service);
        let near = complete.iter().map(|other| (distance(other), other)).min();
        let near = near.filter(|(distance, _)| *distance <= service.len() / 4);
        let Some((_, other)) = near else { continue };
        let why = format!(
            "no file gives the service `{}` an `image` or a `build`; did you mean `{}`?",
            secret::name(service),
            secret::name(other)
        );
        refused.entry(*file).or_insert((*at, why));
    }
    refused
}
