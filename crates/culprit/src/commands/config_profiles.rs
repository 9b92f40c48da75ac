//! `culprit config profiles`, and which profiles are asked for or fit.

use std::path::{Path, PathBuf};

use culprit_config::{Profile, stock_profiles};
use culprit_report::config::json::ConfigProfilesDocument;
use culprit_report::config::text;

use crate::args::{ConfigProfilesArgs, ConfigSourceArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::Output;
use crate::settings;

/// The profile for folders that no other fits.
pub(super) const FALLBACK: &str = "generic";

/// A profile by its name.
///
/// # Errors
/// When no profile has this name.
pub(crate) fn config_profile(name: &str) -> Result<Profile, Failure> {
    let known: Vec<Profile> = known()?.into_iter().map(|(profile, _)| profile).collect();
    let profile = known.iter().find(|profile| profile.name == name).cloned();
    profile.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|profile| profile.name.as_str()).collect();
        Failure::bad_input(format!("no profile has the name `{name}`"))
            .hint(format!("profiles: {}; or give a TOML file", names.join(", ")))
    })
}

/// The profiles that are asked for, or that fit.
///
/// # Errors
/// When the profile that is asked for does not exist or cannot be read.
pub(crate) fn config_profiles_for(
    args: &ConfigSourceArgs,
    fits: &dyn Fn(&Profile) -> bool,
) -> Result<Vec<Profile>, Failure> {
    if let Some(path) = args.profile.as_ref().filter(|name| name.ends_with(".toml")) {
        return Ok(vec![read_profile(Path::new(path))?]);
    }
    let named = match &args.profile {
        Some(name) => Some(name.as_str()),
        // Only one profile has such files.
        None if !args.compose.is_empty() || !args.env_file.is_empty() => Some("compose"),
        None => None,
    };
    if let Some(name) = named {
        return config_profile(name).map(|profile| vec![profile]);
    }
    let known: Vec<Profile> = known()?.into_iter().map(|(profile, _)| profile).collect();
    let fitting: Vec<Profile> = known.iter().filter(|profile| fits(profile)).cloned().collect();
    if fitting.is_empty() {
        return Ok(known.into_iter().filter(|profile| profile.name == FALLBACK).collect());
    }
    Ok(fitting)
}

/// All profiles, with the file of those that are the user's. A user's profile replaces one of the same
/// name.
pub(super) fn known() -> Result<Vec<(Profile, Option<PathBuf>)>, Failure> {
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

pub(super) fn read_profile(path: &Path) -> Result<Profile, Failure> {
    let what = || format!("cannot use the profile `{}`", path.display());
    let text = std::fs::read_to_string(path).or_bad_input(what)?;
    Profile::parse(&text).or_bad_input(what)
}

pub(super) fn run(args: &ConfigProfilesArgs, output: &mut Output) -> Result<Outcome, Failure> {
    // `profiles list` is what people write first.
    let is_list = args.files.as_slice() == [PathBuf::from("list")] && !Path::new("list").exists();
    let listed = if args.files.is_empty() || is_list {
        known()?
    } else {
        let read = |path: &PathBuf| Ok((read_profile(path)?, Some(path.clone())));
        args.files.iter().map(read).collect::<Result<_, Failure>>()?
    };
    if output.wants_json() {
        output.document(&ConfigProfilesDocument::new(&listed))?;
    } else {
        let text = text::profiles(&listed, output.layout());
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}
