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
use std::path::{Path, PathBuf};

use super::client::Client;
use super::create::OWNER_LABEL;
use super::host_image::{BLOCK, Kind, header};
use super::removal::remove_container;
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
    client.call("create a container", |docker| docker.create_container(Some(options), request))?;
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
    client.call("copy files into a container", |docker| {
        docker.upload_to_container(container, Some(options), bollard::body_stream(parts))
    })?;
    let options =
        CommitContainerOptionsBuilder::new().container(container).repo(name).tag("latest");
    client.call("create an image from a container", |docker| {
        docker.commit_container(options.build(), ContainerConfig::default())
    })?;
    Ok(format!("{name}:latest"))
}

/// The archive, part by part.
fn archive(files: &[LowerFile]) -> Result<impl Iterator<Item = Vec<u8>> + Send + 'static> {
    if files.iter().flat_map(LowerFile::paths).any(|path| path.as_os_str().len() > MOST) {
        let place = "a container".to_owned();
        return Err(Error::Unsupported {
            place,
            what: "have paths longer than 100 bytes in a layer",
        });
    }
    let all: Vec<(LowerFile, Option<Vec<u8>>)> =
        files.iter().map(|file| Ok((file.clone(), copied(file)?))).collect::<Result<_>>()?;
    let parts = all.into_iter().flat_map(|(file, copied)| {
        let paths: Vec<_> = file.paths().collect();
        paths.into_iter().flat_map(move |path| {
            let below = path.strip_prefix("/").unwrap_or(Path::new(""));
            let (bytes, mode) = match &copied {
                Some(content) => (content.len() as u64, 0o755),
                None => (file.bytes, 0o644),
            };
            let head = header(below, mode, Kind::File(bytes)).to_vec();
            let rest = usize::try_from(bytes % BLOCK as u64).unwrap_or(0);
            let padding = vec![0; (BLOCK - rest) % BLOCK];
            let blocks = copied.is_none().then(|| file.blocks()).into_iter().flatten();
            std::iter::once(head).chain(copied.clone()).chain(blocks).chain([padding])
        })
    });
    // Two empty blocks end an archive.
    Ok(parts.chain([vec![0; 2 * BLOCK]]))
}

/// What a copy holds.
fn copied(file: &LowerFile) -> Result<Option<Vec<u8>>> {
    let read = |of: &PathBuf| std::fs::read(of).map_err(|e| Error::file("read", of, e));
    file.copy_of.as_ref().map(read).transpose()
}

/// What a header has room for, and the slash that is left out.
const MOST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_whole_blocks_and_all_files() {
        let files = [
            LowerFile { path: "/a".into(), bytes: 700, count: None, copy_of: None },
            LowerFile { path: "/tree".into(), bytes: 512, count: Some(2), copy_of: None },
        ];
        let tar: Vec<u8> = archive(&files).unwrap().flatten().collect();
        assert_eq!(tar.len(), (3 + 2 + 2 + 2) * BLOCK);
        assert!(tar.starts_with(b"a\0") && tar[3 * BLOCK..].starts_with(b"tree/0\0"));
        assert_eq!(&tar[124..135], b"00000001274");
    }

    #[test]
    fn a_copy_holds_what_the_file_of_this_machine_does() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "#!program").unwrap();
        let copy = LowerFile::copy("/p".into(), file.path().into());
        let tar: Vec<u8> = archive(&[copy]).unwrap().flatten().collect();
        assert_eq!(tar.len(), (2 + 2) * BLOCK);
        assert_eq!((&tar[100..107], &tar[BLOCK..BLOCK + 9]), (&b"0000755"[..], &b"#!program"[..]));
        assert!(archive(&[LowerFile::copy("/p".into(), "/no/such/file".into())]).is_err());
    }

    #[test]
    fn paths_that_do_not_fit_are_refused() {
        let path = format!("/{}", "x".repeat(120)).into();
        assert!(archive(&[LowerFile { path, bytes: 1, count: None, copy_of: None }]).is_err());
    }
}
