//! `docker:IMAGE`, `podman:IMAGE` and `@host`: each command in a new container.
//!
//! A container is made when its command is held and started when that is let go; it is removed
//! when the command's value is dropped, and with the place at the latest. It bears a name of ours,
//! by which the next run finds it if we are killed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bollard::errors::Error as Reply;
use bollard::models::{ContainerWaitResponse, SystemInfo, SystemInfoCgroupDriverEnum};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, CreateImageOptionsBuilder,
    KillContainerOptionsBuilder, ListImagesOptionsBuilder, WaitContainerOptionsBuilder,
};
use culprit_model::Pid;
use futures_util::{StreamExt, TryStreamExt};

use super::client::{Client, is_missing, words};
use super::create::{LAYER_DIR, Wish, is_root, variables};
use super::host_image::HostRoot;
use super::lower;
use super::program;
use super::refusal;
use super::removal::{discard, remove_image, remove_patiently};
use super::session::{Calling, Files, Output, Subject, open};
use super::stdin::Input;
use crate::cgroup::{Cgroup, Position};
use crate::command::{Command, Exit, Signal, Stdio};
use crate::error::{Error, Result};
use crate::facts::{FileSystem, OVERLAY_MAGIC, PlaceFacts, Seccomp, file_system};
use crate::held::Held;
use crate::host::our_environment;
use crate::owner::Owner;
use crate::place::{Place, Settings, SharedLibrary, TMP};
use crate::spec::{ContainerOptions, EngineKind, Filter, Image, Network, PlaceSpec};
use crate::streams::Streams;

/// An image and how containers are made from it.
#[derive(Debug)]
pub(crate) struct Container {
    spec: PlaceSpec,
    options: ContainerOptions,
    client: Client,
    info: SystemInfo,
    image: String,
    /// Images that are ours to remove, the newest last.
    made_images: Vec<String>,
    programs: Vec<PathBuf>,
    /// Files of the host that containers see.
    files: Mutex<Vec<PathBuf>>,
    environment: Vec<(OsString, OsString)>,
    work_dir: PathBuf,
    /// Names of the containers that may still be there.
    containers: Arc<Mutex<Vec<String>>>,
    /// Whether its containers can make files in `/tmp` and the work folder, once that was asked.
    writes_files: OnceLock<bool>,
}

impl Container {
    pub(crate) fn new(
        engine: EngineKind,
        image: &Image,
        options: &ContainerOptions,
        settings: &Settings,
    ) -> Result<Self> {
        let client = Client::connect(engine, settings)?;
        let info = client.call("report its configuration", |docker| docker.info())?;
        let spec = PlaceSpec::Engine { engine, image: image.clone(), options: options.clone() };
        let mut place = Self {
            spec,
            options: options.clone(),
            client,
            info,
            image: String::new(),
            made_images: Vec::new(),
            programs: Vec::new(),
            files: Mutex::default(),
            environment: Vec::new(),
            work_dir: PathBuf::from(LAYER_DIR),
            containers: Arc::default(),
            writes_files: OnceLock::new(),
        };
        match image {
            Image::Named(name) => place.use_image(name)?,
            Image::Host => place.make_image()?,
        }
        if !options.lower.is_empty() {
            let image = lower::add(&place.client, &place.image, &options.lower)?;
            place.made_images.push(image.clone());
            place.image = image;
        }
        if let Some(dir) = &options.workdir {
            place.work_dir.clone_from(dir);
        }
        Ok(place)
    }

    fn use_image(&mut self, name: &str) -> Result<()> {
        let runtime = super::client::runtime()?;
        let found = runtime.block_on(self.client.docker().inspect_image(name));
        let found = match found {
            Ok(found) => found,
            Err(reply) if is_missing(&reply) => return Err(image_missing(&self.client, name)),
            Err(reply) => return Err(self.client.error("inspect an image", &reply)),
        };
        name.clone_into(&mut self.image);
        if !self.options.layer {
            let dir = found.config.and_then(|c| c.working_dir).filter(|d| !d.is_empty());
            self.work_dir = dir.map_or_else(|| "/".into(), PathBuf::from);
        }
        Ok(())
    }

    fn make_image(&mut self) -> Result<()> {
        let root = HostRoot::look()?;
        let name = Owner::ours()?.fresh_name();
        let options = CreateImageOptionsBuilder::new().from_src("-").repo(&name).tag("latest");
        let body = bollard::body_full(root.archive().into());
        self.client.call("create an empty image", |docker| {
            docker.create_image(Some(options.build()), Some(body), None).try_collect::<Vec<_>>()
        })?;
        self.image = format!("{name}:latest");
        self.made_images.push(self.image.clone());
        self.programs = root.mounts;
        self.environment = our_environment().collect();
        Ok(())
    }

    fn is_systemd(&self) -> bool {
        self.info.cgroup_driver == Some(SystemInfoCgroupDriverEnum::SYSTEMD)
    }

    fn create(&self, command: &Command, cgroup: Option<&Cgroup>) -> Result<String> {
        let owner = Owner::ours()?;
        let wish = Wish {
            owner: owner.to_string(),
            image: &self.image,
            options: &self.options,
            programs: &self.programs,
            files: &self.files.lock().unwrap_or_else(PoisonError::into_inner),
            environment: &self.environment,
            work_dir: &self.work_dir,
            cgroup_parent: cgroup.map(|c| c.engine_parent(self.is_systemd())).transpose()?,
        };
        let request = wish.request(command)?;
        let name = owner.fresh_name();
        // Before it is asked for: an engine that gives no answer in time may still make it.
        self.containers.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let doing = "create a container";
        self.client.call(doing, |docker| docker.create_container(Some(options), request))?;
        Ok(name)
    }

    /// Whether files can be made in what a folder is mounted from; none if it is the container's own.
    fn is_mount_open(&self, folder: &Path) -> Option<bool> {
        let volumes = self.options.volumes.iter().filter(|v| folder.starts_with(&v.target));
        if let Some(volume) = volumes.max_by_key(|v| v.target.components().count()) {
            return Some(!volume.read_only);
        }
        let memory = self.options.tmpfs.iter().any(|mounted| folder.starts_with(mounted));
        memory.then_some(true)
    }

    /// Whether `/tmp` and the work folder can be written to: by the mounts that were asked for, else by a
    /// container that is made to be looked at and never started.
    fn are_folders_open(&self) -> Result<bool> {
        let folders = [Path::new(TMP), self.work_dir.as_path()];
        if folders.iter().any(|folder| self.is_mount_open(folder) == Some(false)) {
            return Ok(false);
        }
        let own: Vec<&Path> =
            folders.into_iter().filter(|folder| self.is_mount_open(folder).is_none()).collect();
        if own.is_empty() {
            return Ok(true);
        }
        let image = self.client.call("inspect an image", |d| d.inspect_image(&self.image))?;
        let as_root = is_root(image.config.and_then(|config| config.user).as_deref());
        let name = self.create(&Command::new([TMP]), None)?;
        let mode = |folder: &Path| program::mode(&self.client, &name, &folder.to_string_lossy());
        let modes: Result<Vec<_>> = own.into_iter().map(mode).collect();
        discard(&self.client, &self.containers, &name);
        let open = |mode: u32| mode & program::IS_FOLDER != 0 && (as_root || mode & 0o3 == 0o3);
        Ok(modes?.into_iter().all(|mode| mode.is_some_and(open)))
    }

    /// The file system of the work folder, as far as it can be known before a container exists.
    fn work(&self) -> Option<FileSystem> {
        let above = self.options.volumes.iter().filter(|v| self.work_dir.starts_with(&v.target));
        match above.max_by_key(|v| v.target.components().count()) {
            Some(volume) => file_system(Pid(std::process::id()), &volume.source).ok(),
            None => self.layer(),
        }
    }

    fn layer(&self) -> Option<FileSystem> {
        let driver = self.info.driver.as_deref()?;
        driver.starts_with("overlay").then(|| FileSystem {
            kind: "overlay".to_owned(),
            magic: OVERLAY_MAGIC,
            mount_point: "/".into(),
            source: driver.to_owned(),
            options: Vec::new(),
        })
    }

    fn end(&mut self) -> Result<()> {
        let mut names = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut refused = None;
        names.retain(|name| match remove_patiently(&self.client, name) {
            Ok(()) => false,
            Err(error) => {
                refused.get_or_insert(error);
                true
            }
        });
        if let Some(error) = refused {
            return Err(error);
        }
        // One stands on the one before it.
        while let Some(image) = self.made_images.pop() {
            remove_image(&self.client, &image)?;
        }
        Ok(())
    }
}

/// That an engine has no image of a name, with those that it has.
pub(super) fn image_missing(client: &Client, name: &str) -> Error {
    let options = ListImagesOptionsBuilder::new().all(false).build();
    let images = client.call("list images", |docker| docker.list_images(Some(options)));
    // The list is only a help; without it the message still holds.
    let images = images.unwrap_or_default();
    let mut local: Vec<String> = images.into_iter().flat_map(|i| i.repo_tags).collect();
    local.sort_unstable();
    Error::ImageMissing { engine: client.kind, image: name.to_owned(), local }
}

impl Place for Container {
    fn spec(&self) -> &PlaceSpec {
        &self.spec
    }

    fn facts(&self) -> Result<PlaceFacts> {
        let info = &self.info;
        let filtered = |o: &String| o.contains("seccomp") && !o.contains("unconfined");
        let seccomp = match info.security_options.as_deref().unwrap_or_default() {
            _ if self.options.seccomp == Some(Filter::Off) => Seccomp::Off,
            options if options.iter().any(filtered) => Seccomp::Filter,
            _ => Seccomp::Off,
        };
        let said = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
        let quota_ns = |nanos: u64| (nanos / (1_000_000_000 / PERIOD_NS), PERIOD_NS);
        Ok(PlaceFacts {
            place: self.spec.clone(),
            work_dir: self.work_dir.clone(),
            work: self.work(),
            root: self.layer(),
            kernel: said(&info.kernel_version),
            cpus: info.ncpu.and_then(|n| u32::try_from(n).ok()).unwrap_or_default(),
            cpu_quota_ns: self.options.cpus.map(|c| quota_ns(c.0)),
            memory_limit_bytes: self.options.memory.map(|m| m.0),
            seccomp,
            network: match self.options.network.unwrap_or(Network::Bridge) {
                Network::Host => "host".to_owned(),
                Network::None => "own, loopback only".to_owned(),
                Network::Bridge if self.options.publish.is_empty() => {
                    "own, behind the engine's bridge".to_owned()
                }
                Network::Bridge => {
                    "own, behind the engine's bridge, with published ports".to_owned()
                }
            },
            notes: vec![
                format!(
                    "{} {}, as reported by the engine",
                    self.client.kind,
                    said(&info.server_version)
                ),
                format!("storage driver {}", said(&info.driver)),
                format!("log driver {}", said(&info.logging_driver)),
            ],
        })
    }

    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        let image = self.client.call("inspect an image", |d| d.inspect_image(&self.image))?;
        let mut all = variables(image.config.and_then(|config| config.env).unwrap_or_default());
        for (name, value) in &self.environment {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        Ok(all)
    }

    fn can_write_files(&self) -> Result<bool> {
        if let Some(known) = self.writes_files.get() {
            return Ok(*known);
        }
        let found = self.are_folders_open()?;
        Ok(*self.writes_files.get_or_init(|| found))
    }

    fn make_cgroup(&self) -> Result<Cgroup> {
        Cgroup::create(Position::Top)
    }

    fn hold(&self, command: &Command, cgroup: Option<&Cgroup>) -> Result<Held> {
        let streams = Streams::of(command)?;
        let files = Files::of(&streams, command)?;
        let name = self.create(command, cgroup)?;
        let subject = NewContainer {
            client: self.client.clone(),
            spec: self.spec.clone(),
            name,
            program: command.program(),
            has_input: !matches!(command.stdin, Stdio::Null),
            containers: Arc::clone(&self.containers),
        };
        let held = open(Arc::new(subject), files)?;
        Ok(Held::new(Box::new(held), streams.into_our_ends()))
    }

    fn share_library(&self, file: &Path) -> Result<SharedLibrary> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(file.to_owned());
        Ok(SharedLibrary::new(file))
    }

    /// As the overlay drivers tell them (`LowerDir`, `UpperDir`).
    fn image_folders(&self) -> Result<Vec<PathBuf>> {
        let image = self.client.call("inspect an image", |d| d.inspect_image(&self.image))?;
        let data = image.graph_driver.map(|driver| driver.data).unwrap_or_default();
        let told = ["UpperDir", "LowerDir"].into_iter().filter_map(|which| data.get(which));
        let folders = told.flat_map(|list| list.split(':')).map(PathBuf::from);
        Ok(folders.filter(|folder| folder.is_dir()).collect())
    }

    fn remove(mut self: Box<Self>) -> Result<()> {
        self.end()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Whoever wants to know calls `remove`; what stays here is swept by the next run.
        let _swept_later = self.end();
    }
}

/// The period that engines use for a CPU quota: 100 ms.
const PERIOD_NS: u64 = 100_000_000;

/// A signal that is sent, or a status that is awaited, may take as long as the command.
const FOR_EVER: Duration = Duration::from_secs(u64::MAX / 4);

/// A container made for one command.
#[derive(Debug)]
struct NewContainer {
    client: Client,
    spec: PlaceSpec,
    name: String,
    program: String,
    has_input: bool,
    containers: Arc<Mutex<Vec<String>>>,
}

impl NewContainer {
    async fn inspect(&self) -> Result<bollard::models::ContainerState> {
        let found = self.client.docker().inspect_container(&self.name, None).await;
        let found = found.map_err(|reply| self.client.error("inspect a container", &reply))?;
        Ok(found.state.unwrap_or_default())
    }
}

impl Subject for NewContainer {
    fn attach(&self) -> Calling<'_, Option<(Output, Input)>> {
        Box::pin(async {
            let options = AttachContainerOptionsBuilder::new()
                .stream(true)
                .stdin(self.has_input)
                .stdout(true)
                .stderr(true)
                .build();
            let attached = self.client.docker().attach_container(&self.name, Some(options)).await;
            let attached = attached.map_err(|r| self.client.error("attach to a container", &r))?;
            Ok(Some((attached.output, attached.input)))
        })
    }

    fn begin(&self) -> Calling<'_, Option<(Output, Input)>> {
        Box::pin(async {
            match self.client.docker().start_container(&self.name, None).await {
                Ok(()) => Ok(None),
                Err(reply) => {
                    let (program, place) = (&self.program, Some(&self.spec));
                    Err(refusal::error(&self.client, program, place, &words(&reply)))
                }
            }
        })
    }

    fn pid(&self) -> Calling<'_, Option<Pid>> {
        // Zero once it has ended.
        Box::pin(async {
            let pid = self.inspect().await?.pid.and_then(|p| u32::try_from(p).ok());
            Ok(pid.filter(|p| *p > 0).map(Pid))
        })
    }

    fn end(&self) -> Calling<'_, Exit> {
        Box::pin(async {
            let mut docker = self.client.docker().clone();
            docker.set_timeout(FOR_EVER);
            let options = WaitContainerOptionsBuilder::new().condition("not-running").build();
            let said = docker.wait_container(&self.name, Some(options)).next().await;
            let status = match said {
                Some(Ok(ContainerWaitResponse { status_code, .. })) => status_code,
                // The client takes every status but 0 for an error.
                Some(Err(Reply::DockerContainerWaitError { code, .. })) => code,
                Some(Err(reply)) => return Err(self.client.error("wait for a container", &reply)),
                None => {
                    let status = self.inspect().await?.exit_code;
                    return exit(status);
                }
            };
            exit(Some(status))
        })
    }

    fn signal(&self, _pid: Option<Pid>, signal: Signal) -> Result<()> {
        let options = KillContainerOptionsBuilder::new().signal(&signal.0.to_string()).build();
        let runtime = super::client::runtime()?;
        let docker = self.client.docker();
        match runtime.block_on(docker.kill_container(&self.name, Some(options))) {
            Ok(()) => Ok(()),
            // It has ended meanwhile.
            Err(reply) if is_missing(&reply) || words(&reply).contains("is not running") => Ok(()),
            Err(reply) => Err(self.client.error("send a signal", &reply)),
        }
    }

    fn discard(&self) {
        discard(&self.client, &self.containers, &self.name);
    }
}

/// A status as the engine tells it.
pub(super) fn exit(status: Option<i64>) -> Result<Exit> {
    let status = status.and_then(|s| i32::try_from(s).ok()).map(Exit::Code);
    status.ok_or_else(|| Error::EngineLost { why: "the engine returned no exit status".to_owned() })
}
