//! An image of ours that has files which another has not: they lie in a layer below the one that
//! containers write to.
//!
//! A container that is never started takes the files as a tar archive, which is made while it is
//! sent, and becomes an image.

use bollard::models::{ContainerConfig, ContainerCreateBody};
use bollard::query_parameters::{
    CommitContainerOptionsBuilder, CreateContainerOptionsBuilder, UploadToContainerOptionsBuilder,
};
use std::collections::HashMap;
use std::path::Path;

use super::client::Client;
use super::create::OWNER_LABEL;
use super::host_image::{BLOCK, Kind, header};
use super::place::remove_container;
use crate::error::{Error, Result};
use crate::owner::Owner;
use crate::spec::LowerFile;

/// Makes it, and returns its name.
pub(super) fn add(client: &Client, image: &str, files: &[LowerFile]) -> Result<String> {
    let archive = archive(files)?;
    let owner = Owner::ours()?;
    let container = owner.fresh_name();
    let request = ContainerCreateBody {
        image: Some(image.to_owned()),
        // It is never started.
        cmd: Some(vec!["-".to_owned()]),
        labels: Some(HashMap::from([(OWNER_LABEL.to_owned(), owner.to_string())])),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptionsBuilder::new().name(&container).build();
    client.call("make a container", |docker| docker.create_container(Some(options), request))?;
    let filled = fill(client, &container, archive, &owner.fresh_name());
    let removed = remove_container(client, &container);
    let name = filled?;
    removed?;
    Ok(name)
}

fn fill(
    client: &Client,
    container: &str,
    archive: impl Iterator<Item = Vec<u8>> + Send + 'static,
    name: &str,
) -> Result<String> {
    let options = UploadToContainerOptionsBuilder::new().path("/").build();
    let parts = futures_util::stream::iter(archive.map(Into::into));
    client.call("put files into a container", |docker| {
        docker.upload_to_container(container, Some(options), bollard::body_stream(parts))
    })?;
    let options =
        CommitContainerOptionsBuilder::new().container(container).repo(name).tag("latest");
    client.call("make an image of a container", |docker| {
        docker.commit_container(options.build(), ContainerConfig::default())
    })?;
    Ok(format!("{name}:latest"))
}

/// The archive, part by part.
fn archive(files: &[LowerFile]) -> Result<impl Iterator<Item = Vec<u8>> + Send + 'static> {
    let all: Vec<LowerFile> = files.to_vec();
    if all.iter().flat_map(LowerFile::paths).any(|path| path.as_os_str().len() > MOST) {
        let place = "a container".to_owned();
        return Err(Error::Unsupported {
            place,
            what: "have files in a layer with longer paths than 100 bytes",
        });
    }
    let parts = all.into_iter().flat_map(|file| {
        let paths: Vec<_> = file.paths().collect();
        paths.into_iter().flat_map(move |path| {
            let below = path.strip_prefix("/").unwrap_or(Path::new(""));
            let head = header(below, 0o644, Kind::File(file.bytes)).to_vec();
            let rest = usize::try_from(file.bytes % BLOCK as u64).unwrap_or(0);
            let padding = vec![0; (BLOCK - rest) % BLOCK];
            std::iter::once(head).chain(file.blocks()).chain([padding])
        })
    });
    // Two empty blocks end an archive.
    Ok(parts.chain([vec![0; 2 * BLOCK]]))
}

/// What a header has room for, and the slash that is left out.
const MOST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_whole_blocks_and_all_files() {
        let files = [
            LowerFile { path: "/a".into(), bytes: 700, count: None },
            LowerFile { path: "/tree".into(), bytes: 512, count: Some(2) },
        ];
        let tar: Vec<u8> = archive(&files).unwrap().flatten().collect();
        assert_eq!(tar.len(), (3 + 2 + 2 + 2) * BLOCK);
        assert!(tar.starts_with(b"a\0") && tar[3 * BLOCK..].starts_with(b"tree/0\0"));
        assert_eq!(&tar[124..135], b"00000001274");
    }

    #[test]
    fn paths_that_do_not_fit_are_refused() {
        let path = format!("/{}", "x".repeat(120)).into();
        assert!(archive(&[LowerFile { path, bytes: 1, count: None }]).is_err());
    }
}
