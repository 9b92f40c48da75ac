//! Processes, containers and images, inspected: their variables by step, and their files by profile.

use std::path::Path;
use std::sync::Arc;

use culprit_config::{
    Configuration, ImageFiles, ObservedProcess, ProcessFiles, ProcessRole, Redactor, Request,
    ServiceImage, Source, SourceKind, SourceState, VariableSet, created_with, detects_in,
    image_not_read, image_variables, newer_files, observe_process, process_configuration,
    secrets_of_arguments, secrets_of_files, secrets_of_image,
};
use culprit_model::Pid;
use culprit_place::procfs::stat;
use culprit_place::{EngineKind, InspectedContainer};

use super::inspection::{Inspection, by_profiles, folder_of, learn, with_files};
use crate::args::ConfigSourceArgs;
use crate::commands::config_profiles_for;
use crate::failure::{Failure, chain};
use crate::image::{ImageContents, image_contents};
use crate::{places, settings};

/// A running process.
///
/// # Errors
/// When it is not there, or its number was given to another process meanwhile.
pub(crate) fn inspect_process(
    pid: u32,
    args: &ConfigSourceArgs,
    mut redactor: Redactor,
) -> Result<Inspection, Failure> {
    let process = observed(Pid(pid), ProcessRole::Main)?;
    let title = format!("Process {pid} ({})", process.name);
    let sets = vec![process.initial.clone(), process.now.clone()];
    let found = of_process(&title, &process, &sets, args, &mut redactor)?;
    Ok(Inspection { subject: format!("process {pid}"), found, redactor })
}

/// A process, or a failure with the right that is missing.
pub(super) fn observed(pid: Pid, role: ProcessRole) -> Result<ObservedProcess, Failure> {
    use culprit_config::NotObserved;
    observe_process(pid, role).map_err(|error| match error {
        NotObserved::Process(error) => places::failure(&error),
        error => Failure::refused(chain(&error)).hint("give the number of the new process"),
    })
}

/// A container, running or not.
///
/// # Errors
/// When no engine answers, none has it, or its process goes away meanwhile.
pub(crate) fn inspect_container(
    name: &str,
    args: &ConfigSourceArgs,
    mut redactor: Redactor,
) -> Result<Inspection, Failure> {
    let inspected = culprit_place::inspect_container(name, &settings::of_places());
    let (engine, container) = inspected.map_err(|error| places::failure(&error))?;
    let mut sets = vec![image_of(engine, &container), created_with(&container)];
    let subject = format!("container `{}`", container.name);
    let title = format!("Container {} of image {}", container.name, container.image);
    let Some(init) = container.init else {
        sets.push(not_running(&container.state));
        sets.iter().for_each(|set| learn(&mut redactor, &set.variables));
        let mut own = process_configuration(&title, &sets, &redactor);
        own.findings.extend(secrets_of_image(&own));
        return Ok(Inspection { subject, found: vec![own], redactor });
    };
    let process = observed(init, ProcessRole::Main)?;
    sets.extend([process.initial.clone(), process.now.clone()]);
    let found = of_process(&title, &process, &sets, args, &mut redactor)?;
    Ok(Inspection { subject, found, redactor })
}

/// The variables of a container's image: of the one that it was made from, whatever its name means now.
pub(super) fn image_of(engine: EngineKind, container: &InspectedContainer) -> VariableSet {
    let by = if container.image_id.is_empty() { &container.image } else { &container.image_id };
    match culprit_place::inspect_image(engine, by, &settings::of_places()) {
        Ok(image) => image_variables(&container.image, &image),
        Err(error) => image_not_read(&container.image, &chain(&error)),
    }
}

/// The process of a container that does not run.
fn not_running(state: &str) -> VariableSet {
    VariableSet {
        kind: SourceKind::InitialEnvironment,
        name: "PID 1 at start".to_owned(),
        state: SourceState::Denied,
        why: format!("the container is not running (it is {state})"),
        variables: Vec::new(),
        pid: None,
    }
}

/// The variables of a process by step, then its files by profile.
fn of_process(
    title: &str,
    process: &ObservedProcess,
    sets: &[VariableSet],
    args: &ConfigSourceArgs,
    redactor: &mut Redactor,
) -> Result<Vec<Configuration>, Failure> {
    sets.iter().for_each(|set| learn(redactor, &set.variables));
    let is_read = |set: &&VariableSet| set.state == SourceState::Read;
    let environment = sets.iter().rev().find(is_read).map(|set| set.variables.clone());
    let folder = folder_of(args.root.as_ref(), &process.work_folder);
    let opened = ProcessFiles::open(process.pid, &folder).map(Arc::new);
    let mut of_files = Vec::new();
    if let Ok(files) = &opened {
        let request = Request {
            root: folder.clone(),
            compose_files: args.compose.clone(),
            env_files: args.env_file.clone(),
            defines: args.define.clone(),
            arguments: args.arguments.clone(),
            environment: environment.filter(|_| !args.no_env),
            all_variables: args.all,
            files: Some(Arc::<ProcessFiles>::clone(files)),
            image: None,
        };
        let profiles = config_profiles_for(args, &|profile| detects_in(profile, &request))?;
        of_files = with_files(by_profiles(&profiles, &request, redactor));
        for one in &mut of_files {
            one.findings.extend(newer_files(one, process));
            let open = secrets_of_files(one, false, &|name| files.is_open_to_all(name));
            one.findings.extend(open);
        }
    }
    let mut own = process_configuration(title, sets, redactor);
    if let Err(error) = &opened {
        own.sources.push(folder_not_read(&folder, &chain(error)));
    }
    own.findings.extend(secrets_of_image(&own));
    own.findings.extend(secrets_of_arguments(process, redactor));
    check_same(process)?;
    Ok(std::iter::once(own).chain(of_files).collect())
}

fn folder_not_read(folder: &Path, why: &str) -> Source {
    Source {
        kind: SourceKind::File,
        name: folder.display().to_string(),
        layer: "files".to_owned(),
        state: SourceState::Denied,
        why: why.to_owned(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

/// The number of a process that ended may be another's by now.
fn check_same(process: &ObservedProcess) -> Result<(), Failure> {
    let now = stat(process.pid).map_err(|error| places::failure(&error).into_refused())?;
    if now.start_ticks == process.start_ticks {
        return Ok(());
    }
    let error = culprit_config::NotObserved::Reused { pid: process.pid };
    Err(Failure::refused(chain(&error)).hint("give the number of the new process"))
}

/// An image of an engine, or the file of one.
///
/// # Errors
/// When it is not there or cannot be read.
pub(crate) fn inspect_image(
    name: &str,
    args: &ConfigSourceArgs,
    mut redactor: Redactor,
) -> Result<Inspection, Failure> {
    let contents = image_contents(name)?;
    let ImageContents { environment, work_dir, files, problems, .. } = contents;
    let image = culprit_place::InspectedImage { environment, ..Default::default() };
    let set = image_variables(name, &image);
    learn(&mut redactor, &set.variables);
    let folder = folder_of(args.root.as_ref(), &work_dir);
    let request = Request {
        root: folder.clone(),
        compose_files: args.compose.clone(),
        env_files: args.env_file.clone(),
        defines: args.define.clone(),
        arguments: args.arguments.clone(),
        environment: (!args.no_env).then(|| set.variables.clone()),
        all_variables: args.all,
        files: Some(Arc::new(ImageFiles::new(files, &folder.to_string_lossy()))),
        image: None,
    };
    let profiles = config_profiles_for(args, &|profile| detects_in(profile, &request))?;
    let mut of_files = with_files(by_profiles(&profiles, &request, &redactor));
    for one in &mut of_files {
        one.findings.extend(secrets_of_files(one, true, &|_| true));
    }
    let mut own = process_configuration(&format!("Image {name}"), &[set], &redactor);
    own.findings.extend(secrets_of_image(&own));
    let layer = |why: &String| folder_not_read(Path::new("/"), why);
    own.sources.extend(problems.iter().map(layer));
    let found = std::iter::once(own).chain(of_files).collect();
    Ok(Inspection { subject: format!("image `{name}`"), found, redactor })
}

/// An image of an engine, or the file of one, as that of services of a compose project.
///
/// # Errors
/// When it is not there or cannot be read.
pub(crate) fn service_image(name: &str) -> Result<ServiceImage, Failure> {
    let contents = image_contents(name)?;
    let image =
        culprit_place::InspectedImage { environment: contents.environment, ..Default::default() };
    let named = Path::new(name).is_file().then_some(contents.names);
    let names = named.unwrap_or_else(|| vec![name.to_owned()]);
    Ok(ServiceImage { names, environment: image_variables(name, &image).variables })
}
