//! `culprit config`: where each configuration value comes from, and what was never applied.

use std::path::{Path, PathBuf};

use culprit_config::{
    Configuration, Profile, RULES, Raw, Redactor, Request, SourceKind, SourceState, detects,
    inspect, stock_profiles,
};
use culprit_model::Severity;

use crate::args::{
    ConfigAction, ConfigArgs, ConfigExplainArgs, ConfigProfilesArgs, ConfigShowArgs,
    ConfigSourceArgs, ConfigVarsArgs,
};
use crate::failure::{Context as _, Failure, Outcome};
use crate::json::{
    ConfigExplainDocument, ConfigProfilesDocument, ConfigShowDocument, ConfigVarsDocument,
    ObservedDocument,
};
use crate::output::Output;
use crate::settings;
use crate::text::{config_explain, config_profiles, config_show, config_vars};

/// The profile for folders that no other fits.
const FALLBACK: &str = "generic";

/// Runs it.
///
/// # Errors
/// When there is no configuration, none of it can be read, or no such key or profile exists.
pub(crate) fn run(args: &ConfigArgs, output: &mut Output) -> Result<Outcome, Failure> {
    match &args.action {
        ConfigAction::Show(args) => show(args, output),
        ConfigAction::Explain(args) => explain(args, output),
        ConfigAction::Vars(args) => vars(args, output),
        ConfigAction::Prove(args) => super::config_prove::run(args, output),
        ConfigAction::Profiles(args) => profiles(args, output),
    }
}

fn show(args: &ConfigShowArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let fail_on = args.fail_on.as_deref().map(fail_on).transpose()?;
    let found = inspected(&args.sources)?;
    if output.wants_json() {
        output.document(&ConfigShowDocument::new(&found))?;
    } else {
        let text: Vec<String> = found.iter().map(|one| config_show(one, output)).collect();
        output.print(&text.join("\n"))?;
    }
    let matches = found.iter().flat_map(|one| &one.findings).any(|finding| match &fail_on {
        Some(FailOn::Severity(severity)) => finding.severity >= *severity,
        Some(FailOn::Id(id)) => finding.id == id,
        None => false,
    });
    Ok(if matches { Outcome::Found } else { outcome(&found) })
}

fn explain(args: &ConfigExplainArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let found = inspected(&args.sources)?;
    let keys = |one: &Configuration| !one.find(&args.key).is_empty();
    let found: Vec<Configuration> = if found.iter().any(keys) {
        found.into_iter().filter(keys).collect()
    } else {
        return Err(unknown_key(&args.key, &found));
    };
    let observed = observed(args.observed.as_deref())?;
    if output.wants_json() {
        output.document(&ConfigExplainDocument::new(&args.key, &found, observed.as_ref()))?;
    } else {
        let text: Vec<String> = found
            .iter()
            .map(|one| config_explain(one, &args.key, observed.as_ref(), output))
            .collect();
        output.print(&text.join("\n"))?;
    }
    Ok(outcome(&found))
}

fn unknown_key(key: &str, found: &[Configuration]) -> Failure {
    let failure = Failure::bad_input(format!("cannot explain `{key}`: no source sets this key"));
    let near: Vec<&str> = found.iter().flat_map(|one| one.nearest(key)).collect();
    let failure = match near.as_slice() {
        [] => failure.hint("`culprit config show` lists the keys"),
        near => failure.hint(format!("did you mean `{}`?", near.join("`, `"))),
    };
    failure.hint("`--all` also uses variables that no file of the project knows")
}

/// What `config prove -o FILE` has written.
fn observed(path: Option<&Path>) -> Result<Option<ObservedDocument>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let what = || format!("cannot use `--observed {}`", path.display());
    let text = std::fs::read_to_string(path).or_bad_input(what)?;
    serde_json::from_str(&text).map(Some).or_bad_input(what)
}

fn vars(args: &ConfigVarsArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let found = inspected(&args.sources)?;
    let observed = observed(args.observed.as_deref())?;
    if output.wants_json() {
        output.document(&ConfigVarsDocument::new(&found, observed.as_ref()))?;
    } else {
        let text: Vec<String> =
            found.iter().map(|one| config_vars(one, observed.as_ref(), output)).collect();
        output.print(&text.join("\n"))?;
    }
    Ok(outcome(&found))
}

/// A source that should count and could not be read makes the answer one with gaps.
fn outcome(found: &[Configuration]) -> Outcome {
    if found.iter().any(Configuration::has_gaps) { Outcome::Gaps } else { Outcome::Done }
}

/// What to fail on.
enum FailOn {
    Severity(Severity),
    Id(String),
}

fn fail_on(text: &str) -> Result<FailOn, Failure> {
    if let Ok(severity) = text.parse() {
        return Ok(FailOn::Severity(severity));
    }
    if RULES.iter().any(|(id, _)| *id == text) {
        return Ok(FailOn::Id(text.to_owned()));
    }
    let ids: Vec<&str> = RULES.iter().map(|(id, _)| *id).collect();
    Err(Failure::bad_input(format!("cannot use `--fail-on {text}`: unknown severity or finding"))
        .hint(format!("give a severity (info, low, medium, high) or one of {}", ids.join(", "))))
}

/// The configuration of a folder, by each profile that fits it.
fn inspected(args: &ConfigSourceArgs) -> Result<Vec<Configuration>, Failure> {
    let root = args.root.clone().unwrap_or_else(|| PathBuf::from("."));
    if !root.is_dir() {
        return Err(Failure::bad_input(format!("cannot read `{}`: not a folder", root.display())));
    }
    let environment = (!args.no_env).then(|| {
        settings::environment().into_iter().map(|(name, value)| (name, Raw::new(value))).collect()
    });
    let request = Request {
        root: root.clone(),
        compose_files: args.compose.clone(),
        env_files: args.env_file.clone(),
        defines: args.define.clone(),
        environment,
        all_variables: args.all,
    };
    let redactor = redactor()?;
    let chosen = chosen(args, &root)?;
    let found: Vec<Configuration> =
        chosen.iter().map(|profile| inspect(profile, &request, redactor.clone())).collect();
    let files = |one: &Configuration| {
        let files =
            one.sources.iter().filter(|source| source.kind != SourceKind::ProcessEnvironment);
        files.map(|source| (source.state, format!("{}: {}", source.name, source.why))).collect()
    };
    let states: Vec<(SourceState, String)> =
        found.iter().flat_map(|one| -> Vec<_> { files(one) }).collect();
    if states.is_empty() {
        let names: Vec<&str> = chosen.iter().map(|profile| profile.name.as_str()).collect();
        return Err(no_configuration(&root, &names));
    }
    if states.iter().all(|(state, _)| state.is_gap()) {
        let reasons: Vec<String> = states.into_iter().map(|(_, reason)| reason).collect();
        return Err(Failure::bad_input(format!("cannot read any source: {}", reasons.join("; "))));
    }
    Ok(found)
}

fn no_configuration(root: &Path, profiles: &[&str]) -> Failure {
    Failure::bad_input(format!(
        "no configuration in `{}` for the profile {}",
        root.display(),
        profiles.join(", ")
    ))
    .hint("`--root DIR` names the project's folder")
    .hint("`culprit config profiles` lists the files that each profile looks for")
}

/// A redactor with a key of its own, from the kernel's random numbers.
fn redactor() -> Result<Redactor, Failure> {
    let mut key = [0; 32];
    getrandom_04::fill(&mut key).or_refused(|| "cannot get random numbers".to_owned())?;
    Ok(Redactor::new(key))
}

/// The profiles that are asked for, or that fit a folder.
fn chosen(args: &ConfigSourceArgs, root: &Path) -> Result<Vec<Profile>, Failure> {
    if let Some(path) = args.profile.as_ref().filter(|name| name.ends_with(".toml")) {
        return Ok(vec![read_profile(Path::new(path))?]);
    }
    let known: Vec<Profile> = known()?.into_iter().map(|(profile, _)| profile).collect();
    let named = match &args.profile {
        Some(name) => Some(name.as_str()),
        // Only one profile has such files.
        None if !args.compose.is_empty() || !args.env_file.is_empty() => Some("compose"),
        None => None,
    };
    if let Some(name) = named {
        let profile = known.iter().find(|profile| profile.name == name).cloned();
        return profile.map(|profile| vec![profile]).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|profile| profile.name.as_str()).collect();
            Failure::bad_input(format!("no profile has the name `{name}`"))
                .hint(format!("profiles: {}; or give a TOML file", names.join(", ")))
        });
    }
    let fitting: Vec<Profile> =
        known.iter().filter(|profile| detects(profile, root)).cloned().collect();
    if fitting.is_empty() {
        return Ok(known.into_iter().filter(|profile| profile.name == FALLBACK).collect());
    }
    Ok(fitting)
}

/// All profiles, with the file of those that are the user's. A user's profile replaces one of the same
/// name.
fn known() -> Result<Vec<(Profile, Option<PathBuf>)>, Failure> {
    let stock =
        stock_profiles().or_bad_input(|| "cannot use a profile of the program".to_owned())?;
    let mut known: Vec<(Profile, Option<PathBuf>)> =
        stock.into_iter().map(|profile| (profile, None)).collect();
    let Some(folder) = settings::config_profiles_folder() else { return Ok(known) };
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(known) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    for path in paths {
        let profile = read_profile(&path)?;
        known.retain(|(other, _)| other.name != profile.name);
        known.push((profile, Some(path)));
    }
    Ok(known)
}

fn read_profile(path: &Path) -> Result<Profile, Failure> {
    let what = || format!("cannot use the profile `{}`", path.display());
    let text = std::fs::read_to_string(path).or_bad_input(what)?;
    Profile::parse(&text).or_bad_input(what)
}

fn profiles(args: &ConfigProfilesArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let listed = if args.files.is_empty() {
        known()?
    } else {
        let read = |path: &PathBuf| Ok((read_profile(path)?, Some(path.clone())));
        args.files.iter().map(read).collect::<Result<_, Failure>>()?
    };
    if output.wants_json() {
        output.document(&ConfigProfilesDocument::new(&listed))?;
    } else {
        let text = config_profiles(&listed, output);
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}
