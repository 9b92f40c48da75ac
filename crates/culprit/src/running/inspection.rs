//! One thing, inspected by each profile that fits it.

use std::path::PathBuf;

use culprit_config::{Configuration, Profile, Raw, Redactor, Request, SourceKind, inspect};

use crate::failure::{Context as _, Failure};

/// What was found of one thing.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// What it is: ``folder `app` ``, ``container `web` ``.
    pub(crate) subject: String,
    /// What each profile says of it.
    pub(crate) found: Vec<Configuration>,
    /// Made the values, and knows the plaintext of the one to reveal.
    pub(crate) redactor: Redactor,
}

/// A key for fingerprints, of the kernel's random numbers.
///
/// # Errors
/// When the kernel gives none.
pub(crate) fn random_key() -> Result<[u8; 32], Failure> {
    let mut key = [0; 32];
    getrandom_04::fill(&mut key).or_refused(|| "cannot get random numbers".to_owned())?;
    Ok(key)
}

/// A redactor with a key: a given one, or one of the kernel's random numbers.
///
/// # Errors
/// When the kernel gives none.
pub(crate) fn redactor_with(
    key: Option<[u8; 32]>,
    reveal: Option<&str>,
) -> Result<Redactor, Failure> {
    let redactor = Redactor::new(key.map_or_else(random_key, Ok)?);
    Ok(match reveal {
        Some(name) => redactor.revealing(name),
        None => redactor,
    })
}

/// Shows a redactor the secrets among variables.
pub(crate) fn learn(redactor: &mut Redactor, variables: &[(String, Raw)]) {
    variables.iter().for_each(|(name, value)| redactor.learn(name, value));
}

/// What each profile says of a request. A secret that a later profile finds is hidden in the earlier ones
/// too.
pub(crate) fn by_profiles(
    profiles: &[Profile],
    request: &Request,
    redactor: &Redactor,
) -> Vec<Configuration> {
    let all = || -> Vec<(Configuration, usize)> {
        let one = |profile| {
            let found = inspect(profile, request, redactor.clone());
            (found, redactor.secrets_learned())
        };
        profiles.iter().map(one).collect()
    };
    let found = all();
    let learned = |at: Option<&(Configuration, usize)>| at.map(|(_, count)| *count);
    let found = if learned(found.first()) == learned(found.last()) {
        found
    } else {
        drop(found);
        all()
    };
    found.into_iter().map(|(one, _)| one).collect()
}

/// The configurations that have at least one file; a running thing may have none.
pub(crate) fn with_files(found: Vec<Configuration>) -> Vec<Configuration> {
    let has_file = |one: &Configuration| {
        one.sources.iter().any(|source| source.kind != SourceKind::ProcessEnvironment)
    };
    found.into_iter().filter(has_file).collect()
}

/// The folder to look in: the one that was given, else that of the thing.
pub(crate) fn folder_of(given: Option<&PathBuf>, own: &str) -> PathBuf {
    match given {
        Some(folder) => PathBuf::from("/").join(folder),
        None if own.is_empty() => PathBuf::from("/"),
        None => PathBuf::from(own),
    }
}
