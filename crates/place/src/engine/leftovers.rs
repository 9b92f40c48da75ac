//! Containers, images and programs that killed runs have left in the engines that answer.

use std::path::Path;

use bollard::query_parameters::{ListContainersOptionsBuilder, ListImagesOptionsBuilder};

use culprit_model::Pid;

use super::client::Client;
use super::create::OWNER_LABEL;
use super::program;
use super::removal::{remove_container, remove_image};
use crate::error::{Error, Result};
use crate::owner::Owner;
use crate::place::Settings;
use crate::spec::EngineKind;

/// Removes them. Returns how many containers, images and programs; what went wrong is added to `problems`.
/// An engine that does not answer has nothing that could be removed now.
pub(crate) fn sweep(settings: &Settings, problems: &mut Vec<Error>) -> (usize, usize, usize) {
    let mut removed = (0, 0, 0);
    for kind in [EngineKind::Docker, EngineKind::Podman] {
        let Ok(client) = Client::connect(kind, settings) else { continue };
        // Containers first: they hold their image.
        removed.0 += remove_all(containers(&client), |n| remove_with_folders(&client, n), problems);
        removed.1 += remove_all(images(&client), |n| remove_image(&client, n), problems);
        // Nobody else may look into containers.
        if rustix::process::geteuid().is_root() {
            let first = first_processes(&client);
            removed.2 += first.unwrap_or_default().into_iter().map(program::sweep).sum::<usize>();
        }
    }
    removed
}

fn remove_all(
    names: Result<Vec<String>>,
    remove: impl Fn(&str) -> Result<bool>,
    problems: &mut Vec<Error>,
) -> usize {
    let names = names.unwrap_or_else(|error| {
        problems.push(error);
        Vec::new()
    });
    let mut removed = 0;
    for name in names {
        match remove(&name) {
            Ok(true) => removed += 1,
            // Somebody else's sweep is at it, or it is in use; the next run looks again.
            Ok(false) => {}
            Err(error) => problems.push(error),
        }
    }
    removed
}

/// Removes a container, and then what its dead maker has left in folders that were mounted there: the
/// program in it would have removed that, had it not ended with it.
fn remove_with_folders(client: &Client, name: &str) -> Result<bool> {
    let found = client.call("inspect a container", |d| d.inspect_container(name, None));
    let mounts = found.ok().and_then(|found| found.mounts).unwrap_or_default();
    let removed = remove_container(client, name)?;
    if let (true, Some(owner)) = (removed, owner_of(name)) {
        let mounted = mounts.into_iter().filter_map(|mount| mount.source);
        mounted.for_each(|above| remove_folders_of(owner, Path::new(&above)));
    }
    Ok(removed)
}

/// Removes the folders of a maker in a folder. One that stays holds nothing up, and whoever may not remove
/// it did not make it.
fn remove_folders_of(owner: Owner, above: &Path) {
    for entry in std::fs::read_dir(above).into_iter().flatten().flatten() {
        let made = Owner::of_name(&entry.file_name().to_string_lossy());
        if made == Some(owner) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _stays = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn containers(client: &Client) -> Result<Vec<String>> {
    let options = ListContainersOptionsBuilder::new().all(true).build();
    let all = client.call("list containers", |d| d.list_containers(Some(options)))?;
    // By its label where somebody has renamed it.
    let abandoned = all.into_iter().filter_map(|c| {
        let names = c.names.unwrap_or_default();
        let name = names.first()?.trim_start_matches('/').to_owned();
        let owner = c.labels.unwrap_or_default().remove(OWNER_LABEL);
        let owner = owner.and_then(|owner| owner.parse().ok()).or_else(|| owner_of(&name));
        owner.filter(|owner| !owner.is_alive()).map(|_| name)
    });
    Ok(abandoned.collect())
}

/// The first process of each running container.
fn first_processes(client: &Client) -> Result<Vec<Pid>> {
    let running = client.call("list containers", |d| d.list_containers(None))?;
    let ids = running.into_iter().filter_map(|c| c.id);
    let first = |id: String| {
        let found = client.call("inspect a container", |d| d.inspect_container(&id, None)).ok()?;
        found.state?.pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0).map(Pid)
    };
    Ok(ids.filter_map(first).collect())
}

fn images(client: &Client) -> Result<Vec<String>> {
    let options = ListImagesOptionsBuilder::new().all(false).build();
    let all = client.call("list images", |d| d.list_images(Some(options)))?;
    let tags = all.into_iter().flat_map(|i| i.repo_tags);
    Ok(tags.filter(|tag| owner_of(tag).is_some_and(|owner| !owner.is_alive())).collect())
}

/// Whose a thing of this name is. Engines show an image as `NAME:TAG`, Podman as
/// `localhost/NAME:TAG`.
fn owner_of(shown: &str) -> Option<Owner> {
    let name = shown.rsplit('/').next().unwrap_or(shown);
    Owner::of_name(name.split(':').next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::{owner_of, remove_folders_of};
    use crate::owner::Owner;

    #[test]
    fn only_folders_of_the_maker_are_removed() {
        let above = tempfile::tempdir().unwrap();
        let owner = Owner::ours().unwrap();
        let (own, other) = (owner.fresh_name(), "culprit_1_2_3_4".to_owned());
        for name in [&own, &other] {
            std::fs::create_dir_all(above.path().join(name).join("below")).unwrap();
        }
        let link = above.path().join(owner.fresh_name());
        std::os::unix::fs::symlink(above.path().join(&other), &link).unwrap();
        remove_folders_of(owner, above.path());
        assert!(!above.path().join(&own).exists());
        assert!(above.path().join(&other).join("below").exists() && link.is_symlink());
    }

    #[test]
    fn only_names_of_dead_makers_are_abandoned() {
        let ours = Owner::ours().unwrap().fresh_name();
        let dead = Owner::ours().unwrap().to_string();
        let dead = format!("{}_1_0", dead.rsplit_once('_').unwrap().0);
        let is_alive = |name: &str| owner_of(name).map(Owner::is_alive);
        assert_eq!(is_alive(&ours), Some(true));
        assert_eq!(is_alive(&dead), Some(false));
        assert_eq!(is_alive(&format!("localhost/{dead}:latest")), Some(false));
        assert_eq!(is_alive("busybox:latest"), None);
    }
}
