//! `culprit config`: where each configuration value comes from, and what was never applied.

use std::path::{Path, PathBuf};

use culprit_config::{
    ConfigFinding, Configuration, Profile, RULES, Raw, Redactor, Request, RoleMatrix, SourceKind,
    SourceState, detects, detects_in, falls_back_in, fitting_below, roles, unknown_launch,
};
use culprit_model::Severity;
use culprit_report::config::json::{
    ConfigExplainDocument, ConfigRolesDocument, ConfigShowDocument, ConfigVarsDocument, Explained,
    ObservedDocument,
};
use culprit_report::config::{html, text};

use super::config_profiles::{FALLBACK, config_profiles_for, known};
use crate::args::{
    ConfigAction, ConfigArgs, ConfigExplainArgs, ConfigRolesArgs, ConfigShowArgs, ConfigSourceArgs,
    ConfigVarsArgs,
};
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::Output;
use crate::running::{
    Inspection, by_profiles, inspect_container, inspect_image, inspect_manifests, inspect_process,
    manifests, own_settings, read_snapshot, redactor_with, service_image,
};
use crate::{files, pool, settings};

/// Runs it.
///
/// # Errors
/// When there is no configuration, none of it can be read, or no such key or profile exists.
pub(crate) fn run(args: &ConfigArgs, output: &mut Output) -> Result<Outcome, Failure> {
    pool::ready();
    match &args.action {
        ConfigAction::Show(args) => show(args, output),
        ConfigAction::Explain(args) => explain(args, output),
        ConfigAction::Vars(args) => vars(args, output),
        ConfigAction::Roles(args) => conditions(args, output),
        ConfigAction::Drift(args) => super::config_drift::run(args, output),
        ConfigAction::Snapshot(args) => super::config_snapshot::snapshot(args, output),
        ConfigAction::Diff(args) => super::config_snapshot::diff(args, output),
        ConfigAction::Prove(args) => super::config_prove::run(args, output),
        ConfigAction::Profiles(args) => super::config_profiles::run(args, output),
    }
}

fn show(args: &ConfigShowArgs, output: &mut Output) -> Result<Outcome, Failure> {
    if let Some(key) = &args.key {
        return Err(Failure::bad_input(format!("cannot show `{key}`: `show` lists all keys"))
            .hint(format!("`culprit config explain {key}` shows one")));
    }
    let fail_on = args.fail_on.as_deref().map(FailOn::parse).transpose()?;
    let inspection = match args.own {
        true => own(args)?,
        false => inspected(&args.sources, None, redactor_with(None, args.reveal.as_deref())?)?,
    };
    let found = &inspection.found;
    let observed = observed(args.observed.as_deref())?;
    let observed = observed.as_ref();
    if let Some(path) = &args.html {
        write_page(path, &html::show_page(&inspection.subject, found), output)?;
    }
    if output.wants_json() {
        output.document(&ConfigShowDocument::new(found, observed))?;
    } else if args.html.is_none() {
        let mut text = String::new();
        for (at, one) in found.iter().enumerate() {
            text.push_str(if at > 0 { "\n" } else { "" });
            text::show(one, observed, output.layout(), &mut text);
        }
        output.print(&text)?;
    }
    if let Some(key) = &args.reveal {
        reveal(key, &inspection, output)?;
    }
    let findings = found.iter().flat_map(|one| &one.findings);
    let matches =
        findings.into_iter().any(|one| fail_on.as_ref().is_some_and(|on| on.matches(one)));
    Ok(if matches { Outcome::Found } else { outcome(found) })
}

/// Writes a page, and says so.
pub(super) fn write_page(path: &Path, page: &str, output: &Output) -> Result<(), Failure> {
    files::write_whole(path, page.as_bytes())?;
    output.say(&format!("wrote {}", path.display()));
    Ok(())
}

/// Culprit's own settings as an inspection.
fn own(args: &ConfigShowArgs) -> Result<Inspection, Failure> {
    let redactor = redactor_with(None, args.reveal.as_deref())?;
    let found = vec![own_settings(&redactor)?];
    Ok(Inspection { subject: "Culprit's own settings".to_owned(), found, redactor })
}

/// Writes the plaintext of a key to the terminal, and nowhere else.
fn reveal(key: &str, inspection: &Inspection, output: &Output) -> Result<(), Failure> {
    let what = || format!("cannot reveal `{key}`");
    if output.wants_json() {
        return Err(Failure::bad_input(format!("{}: JSON is for other programs", what()))
            .hint("leave out `--json`"));
    }
    let winners = inspection.found.iter().flat_map(|one| {
        let effective = one.find(key).into_iter().filter_map(|found| found.winner);
        effective.map(|at| &one.assignments[at].value)
    });
    let revealed: Vec<_> =
        winners.filter_map(|value| inspection.redactor.revealed(value)).collect();
    if revealed.is_empty() {
        return Err(Failure::bad_input(format!("{}: no source that counts sets it", what()))
            .hint("`culprit config show` lists the keys"));
    }
    for one in revealed {
        one.write_to(&mut std::io::stdout()).map_err(|error| {
            Failure::bad_input(format!("{}: standard output {error}", what()))
                .hint("run it on a terminal, and without a pipe: plaintext goes to no file")
        })?;
    }
    Ok(())
}

fn explain(args: &ConfigExplainArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let redactor = redactor_with(None, args.reveal.as_deref())?;
    let mut inspection = inspected(&args.sources, Some(&args.key), redactor.clone())?;
    let is_explained =
        |all: &[Configuration]| all.iter().any(|one| !one.find(&args.key).is_empty());
    // A variable may set a key that no file of the project names.
    if !is_explained(&inspection.found) && args.sources.subject.snapshot.is_none() {
        let sources = ConfigSourceArgs { all: true, ..args.sources.clone() };
        let more = inspected(&sources, Some(&args.key), redactor)?;
        if is_explained(&more.found) {
            inspection = more;
        }
    }
    let of_profile = |one| Explained::new(one, &args.key);
    let found: Vec<Explained<'_>> = inspection.found.iter().filter_map(of_profile).collect();
    if found.is_empty() {
        // Of a snapshot only the keys that could be meant were read.
        let all = match args.sources.subject.snapshot {
            Some(_) => inspected(&args.sources, None, redactor_with(None, None)?)?.found,
            None => inspection.found,
        };
        if let Some(said) = not_readable(&args.key, &all) {
            output.say(&said);
            if output.wants_json() {
                output.document(&ConfigExplainDocument::new(&args.key, &[], None, &all))?;
            }
            return Ok(Outcome::Gaps);
        }
        return Err(unknown_key(&args.key, &all));
    }
    let observed = observed(args.observed.as_deref())?;
    if output.wants_json() {
        let (key, all) = (&args.key, &inspection.found);
        output.document(&ConfigExplainDocument::new(key, &found, observed.as_ref(), all))?;
    } else {
        let text: Vec<String> = found
            .iter()
            .map(|one| text::explain(one, observed.as_ref(), output.layout()))
            .collect();
        output.print(&text.join("\n"))?;
    }
    if let Some(key) = &args.reveal {
        reveal(key, &inspection, output)?;
    }
    Ok(gaps_or_done(found.iter().map(|one| one.of)))
}

/// What is said of a key that no source sets, where not all sources could be read.
fn not_readable(key: &str, found: &[Configuration]) -> Option<String> {
    let gaps = found.iter().flat_map(|one| &one.sources).filter(|source| source.state.is_gap());
    let gaps: Vec<String> = gaps.map(|source| format!("{}: {}", source.name, source.why)).collect();
    (!gaps.is_empty()).then(|| {
        format!("`{key}` is unknown: no source that could be read sets it, and one could not be read: {}", gaps.join("; "))
    })
}

fn unknown_key(key: &str, found: &[Configuration]) -> Failure {
    // A variable that only decides what code does sets no key.
    let mut asked = found.iter().flat_map(|one| one.asked.keys());
    let why = match asked.any(|name| name.eq_ignore_ascii_case(key)) {
        true => "the project asks for it, and no source that was read sets it",
        false => "no source that was read sets this key",
    };
    let failure = Failure::bad_input(format!("cannot explain `{key}`: {why}"));
    let near: Vec<&str> = found.iter().flat_map(|one| one.nearest(key)).collect();
    match near.as_slice() {
        [] => failure.hint("`culprit config show` lists the keys"),
        near => failure.hint(format!("did you mean `{}`?", near.join("`, `"))),
    }
}

/// What `config prove -o FILE` has written.
fn observed(path: Option<&Path>) -> Result<Option<ObservedDocument>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let what = || format!("cannot use `--observed {}`", path.display());
    let text = std::fs::read_to_string(path).or_bad_input(what)?;
    serde_json::from_str(&text).map(Some).or_bad_input(what)
}

fn vars(args: &ConfigVarsArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let found = inspected(&args.sources, None, redactor_with(None, None)?)?.found;
    let observed = observed(args.observed.as_deref())?;
    if output.wants_json() {
        output.document(&ConfigVarsDocument::new(&found, observed.as_ref()))?;
    } else {
        let text: Vec<String> =
            found.iter().map(|one| text::vars(one, observed.as_ref(), output.layout())).collect();
        output.print(&text.join("\n"))?;
    }
    Ok(outcome(&found))
}

fn conditions(args: &ConfigRolesArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let found = inspected(&args.sources, None, redactor_with(None, None)?)?.found;
    let profiles = config_profiles_for(&args.sources, &|_| true)?;
    let mut matrices: Vec<RoleMatrix> = Vec::new();
    for one in &found {
        let profile = profiles.iter().find(|profile| profile.name == one.profile);
        let Some(profile) = profile else { continue };
        let matrix = roles(one, profile, &args.declare).map_err(|why| {
            Failure::bad_input(format!("cannot evaluate the conditions: {why}"))
                .hint("`--declare RULE=VALUES` gives fewer values")
        })?;
        matrices.extend(Some(matrix).filter(|matrix| !matrix.conditions.is_empty()));
    }
    if output.wants_json() {
        output.document(&ConfigRolesDocument::new(&matrices))?;
    } else if matrices.is_empty() {
        let names: Vec<&str> = found.iter().map(|one| one.profile.as_str()).collect();
        output.print(&format!("No source has a condition (read as {}).\n", names.join(", ")))?;
    } else {
        let text: Vec<String> =
            matrices.iter().map(|one| text::roles(one, args.matrix, output.layout())).collect();
        output.print(&text.join("\n"))?;
    }
    Ok(outcome(&found))
}

/// A source that should count and could not be read makes the answer one with gaps.
pub(super) fn outcome(found: &[Configuration]) -> Outcome {
    gaps_or_done(found.iter())
}

/// The same of some of the configurations.
pub(super) fn gaps_or_done<'a>(mut found: impl Iterator<Item = &'a Configuration>) -> Outcome {
    if found.any(Configuration::has_gaps) { Outcome::Gaps } else { Outcome::Done }
}

/// What to fail on.
pub(super) enum FailOn {
    /// A finding of this severity or above.
    Severity(Severity),
    /// A finding of this id.
    Id(String),
}

impl FailOn {
    /// A severity, or the id of a finding.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if let Ok(severity) = text.parse() {
            return Ok(Self::Severity(severity));
        }
        if RULES.iter().any(|(id, _)| *id == text) {
            return Ok(Self::Id(text.to_owned()));
        }
        let ids: Vec<&str> = RULES.iter().map(|(id, _)| *id).collect();
        let what = format!("cannot use `--fail-on {text}`: unknown severity or finding");
        Err(Failure::bad_input(what).hint(format!(
            "give a severity (info, low, medium, high) or one of {}",
            ids.join(", ")
        )))
    }

    /// Whether a finding is one to fail on.
    pub(super) fn matches(&self, finding: &ConfigFinding) -> bool {
        match self {
            Self::Severity(severity) => finding.severity >= *severity,
            Self::Id(id) => finding.id == id,
        }
    }
}

/// What the options name, inspected; of a snapshot only the keys that `name` may mean.
pub(super) fn inspected(
    args: &ConfigSourceArgs,
    name: Option<&str>,
    redactor: Redactor,
) -> Result<Inspection, Failure> {
    let subject = &args.subject;
    if let Some(pid) = subject.pid {
        return inspect_process(pid, args, redactor);
    }
    if let Some(name) = &subject.container {
        return inspect_container(name, args, redactor);
    }
    if let (Some(name), []) = (&subject.image, args.compose.as_slice()) {
        return inspect_image(name, args, redactor);
    }
    if let Some(manifests) = manifests(subject)? {
        return inspect_manifests(manifests, args, redactor);
    }
    if let Some(path) = &subject.snapshot {
        let snapshot = read_snapshot(path, name)?;
        let found = snapshot.configurations;
        return Ok(Inspection { subject: snapshot.subject, found, redactor });
    }
    inspect_folder(args, redactor)
}

/// The configuration of a folder, by each profile that fits it.
fn inspect_folder(args: &ConfigSourceArgs, redactor: Redactor) -> Result<Inspection, Failure> {
    let root = args.root.clone().unwrap_or_else(|| PathBuf::from("."));
    if !root.is_dir() {
        return Err(Failure::bad_input(format!("cannot read `{}`: not a folder", root.display())));
    }
    // A folder that was removed while a shell stands in it is still a folder, and has no path.
    if std::fs::canonicalize(&root).is_err() {
        let what = format!("cannot read `{}`: the folder was removed", root.display());
        return Err(Failure::bad_input(what).hint("change into a folder that exists: `cd DIR`"));
    }
    let environment = (!args.no_env).then(|| {
        settings::environment().into_iter().map(|(name, value)| (name, Raw::new(value))).collect()
    });
    let request = Request {
        root: root.clone(),
        compose_files: args.compose.clone(),
        env_files: args.env_file.clone(),
        defines: args.define.clone(),
        arguments: args.arguments.clone(),
        environment,
        all_variables: args.all,
        files: None,
        // With compose files, an image is that of their services.
        image: args.subject.image.as_deref().map(service_image).transpose()?,
    };
    let chosen = config_profiles_for(args, &|profile| detects_in(profile, &request))?;
    let chosen = instead_of_fallback(args, chosen, &request)?;
    check_defines(&args.define, &chosen)?;
    check_launch(&request, &chosen)?;
    let found = by_profiles(&chosen, &request, &redactor);
    let states = file_states(&found);
    if states.is_empty() {
        let names: Vec<&str> = chosen.iter().map(|profile| profile.name.as_str()).collect();
        let known: Vec<Profile> = known()?.into_iter().map(|(profile, _)| profile).collect();
        let above = fitting_above(&root, &known);
        return Err(no_configuration(&root, &names, &fitting_below(&known, &root), above.as_ref()));
    }
    // What a program refuses of a file that Culprit could read is a finding.
    let has_values = found
        .iter()
        .any(|one| one.assignments.iter().any(|other| one.sources[other.source].state.is_gap()));
    if states.iter().all(|(state, _)| state.is_gap()) && !has_values {
        let reasons: Vec<String> = states.into_iter().map(|(_, reason)| reason).collect();
        return Err(Failure::bad_input(format!("cannot read any source: {}", reasons.join("; "))));
    }
    Ok(Inspection { subject: format!("folder `{}`", root.display()), found, redactor })
}

/// Where only the last resort is left: the profiles that know at least of what kind the folder is.
fn instead_of_fallback(
    args: &ConfigSourceArgs,
    chosen: Vec<Profile>,
    request: &Request,
) -> Result<Vec<Profile>, Failure> {
    let is_fallback = |one: &Profile| one.name == FALLBACK && !detects_in(one, request);
    if args.profile.is_some() || !chosen.iter().all(is_fallback) {
        return Ok(chosen);
    }
    let known = known()?.into_iter().map(|(profile, _)| profile);
    let fitting: Vec<Profile> = known.filter(|profile| falls_back_in(profile, request)).collect();
    Ok(if fitting.is_empty() { chosen } else { fitting })
}

/// The states of files, each with its reason.
fn file_states(found: &[Configuration]) -> Vec<(SourceState, String)> {
    let sources = found.iter().flat_map(|one| &one.sources);
    let is_file = |kind| !matches!(kind, SourceKind::ProcessEnvironment | SourceKind::Arguments);
    let files = sources.filter(|source| is_file(source.kind));
    files.map(|source| (source.state, format!("{}: {}", source.name, source.why))).collect()
}

/// Refuses a define that no chosen profile takes.
fn check_defines(given: &[(String, Vec<String>)], profiles: &[Profile]) -> Result<(), Failure> {
    let takes = |name: &str| profiles.iter().any(|profile| profile.takes_define(name));
    let Some((name, _)) = given.iter().find(|(name, _)| !takes(name)) else { return Ok(()) };
    let names: Vec<&str> = profiles.iter().flat_map(Profile::define_names).collect();
    let hint = match names.as_slice() {
        [] => "the profile has no defines".to_owned(),
        names => format!("defines: {}", names.join(", ")),
    };
    let profiles: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    Err(Failure::bad_input(format!(
        "cannot use `--define {name}=...`: the profile {} has no such define",
        profiles.join(", ")
    ))
    .hint(hint))
}

/// Refuses a script or a launch profile that does not exist.
fn check_launch(request: &Request, profiles: &[Profile]) -> Result<(), Failure> {
    for profile in profiles {
        let Some((define, name, names)) = unknown_launch(profile, request) else { continue };
        let what = format!("cannot use `--define {define}={name}`: there is no such {define}");
        return Err(Failure::bad_input(what).hint(format!("there are: {}", names.join(", "))));
    }
    Ok(())
}

/// The folders above that a profile fits, the nearest first.
fn fitting_above(root: &Path, known: &[Profile]) -> Option<(PathBuf, String)> {
    let full = std::fs::canonicalize(root).ok()?;
    let fits = |folder: &&Path| known.iter().find(|profile| detects(profile, folder));
    let above = full.ancestors().skip(1).take(MOST_ABOVE);
    let mut found =
        above.filter_map(|folder| Some((folder.to_owned(), fits(&folder)?.name.clone())));
    found.next()
}

/// Folders above the project's are looked at no further up.
const MOST_ABOVE: usize = 4;

fn no_configuration(
    root: &Path,
    profiles: &[&str],
    below: &[(String, String)],
    above: Option<&(PathBuf, String)>,
) -> Failure {
    let folder = |(folder, profile): &(String, String)| {
        format!("`--root {}` ({profile})", root.join(folder).display())
    };
    let below: Vec<String> = below.iter().map(folder).collect();
    let what = match profiles {
        [FALLBACK] => "no profile fits its files".to_owned(),
        profiles => format!("it has no file of the profile {}", profiles.join(", ")),
    };
    let failure = Failure::bad_input(format!("no configuration in `{}`: {what}", root.display()));
    let failure = match below.as_slice() {
        [] => failure,
        below => failure.hint(format!("folders below that fit: {}", below.join(", "))),
    };
    let failure = match above {
        Some((folder, profile)) => {
            failure.hint(format!("a folder above fits: `--root {}` ({profile})", folder.display()))
        }
        None if below.is_empty() => failure.hint("`--root DIR` names the project's folder"),
        None => failure,
    };
    failure.hint("`culprit config profiles` lists the files that each profile looks for")
}
