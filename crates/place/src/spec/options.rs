//! The options of a container that is to be made: `volume=/src:/dst,net=host,cpus=0.5,...`.
//!
//! Quantities are kept exactly as the engine takes them (billionths of a CPU, bytes), so that what
//! is printed is what was asked for.

use std::fmt;
use std::path::PathBuf;

use super::lower::LowerFile;
use super::{SpecProblem, absolute};

/// What a wrong option's hint says.
pub(super) const KNOWN: &str = "the options are volume=/src:/dst[:ro], net=host|bridge|none, \
                                publish=[HOSTPORT:]PORT[/udp], cpus=0.5, memory=512m, \
                                workdir=/dir, layer, tmpfs=/dir, lower=/file:SIZE[:COUNT], \
                                seccomp=default|off, log=none|json-file|local";

/// How a container is made; every field may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ContainerOptions {
    /// Bind mounts, in the order given.
    pub volumes: Vec<Volume>,
    /// The network; `None` is the engine's default, a bridge.
    pub network: Option<Network>,
    /// Ports reachable from outside, in the order given.
    pub publish: Vec<Publish>,
    /// CPU quota.
    pub cpus: Option<NanoCpus>,
    /// Memory limit.
    pub memory: Option<Memory>,
    /// The working directory inside the container; `None` is the image's.
    pub workdir: Option<PathBuf>,
    /// Work in a folder of its own on the container's writable layer, whatever the image says.
    pub layer: bool,
    /// Folders of the container that lie in memory, in the order given.
    pub tmpfs: Vec<PathBuf>,
    /// Files that the container finds in a layer below its own, in the order given.
    pub lower: Vec<LowerFile>,
    /// The filter on system calls; `None` is the engine's default.
    pub seccomp: Option<Filter>,
    /// Where the engine puts what the container prints; `None` is the engine's default.
    pub log: Option<LogDriver>,
}

/// The filter that a container's system calls pass through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The engine's own.
    Default,
    /// None.
    Off,
}

/// Where an engine puts what a container prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogDriver {
    /// Nowhere.
    None,
    /// A file of one JSON object a line; Docker's default.
    JsonFile,
    /// Compressed binary files.
    Local,
}

/// A folder of the host that shows in the container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Volume {
    /// Absolute path on the host.
    pub source: PathBuf,
    /// Absolute path in the container.
    pub target: PathBuf,
    /// Whether the container may only read it.
    pub read_only: bool,
}

/// How a container is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// The host's own network.
    Host,
    /// A private network behind the engine's bridge.
    Bridge,
    /// Loopback only.
    None,
}

/// A port of the container made reachable on the host's loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Publish {
    /// Port on the host; `None` lets the engine choose.
    pub host: Option<u16>,
    /// Port in the container.
    pub container: u16,
    /// What is sent there.
    pub protocol: Protocol,
}

/// What a port is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// CPU time per wall time, in billionths of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NanoCpus(pub u64);

/// A memory size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Memory(pub u64);

impl ContainerOptions {
    pub(super) fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Self, SpecProblem> {
        let mut options = Self::default();
        for part in parts {
            options.apply(part)?;
        }
        if options.layer && options.workdir.is_some() {
            return Err(SpecProblem::LayerAndWorkdir);
        }
        Ok(options)
    }

    fn apply(&mut self, part: &str) -> Result<(), SpecProblem> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key {
            "volume" => self.volumes.push(Volume::parse(value)?),
            "publish" => self.publish.push(Publish::parse(value)?),
            "net" => once("net", &mut self.network, Network::parse(value)?)?,
            "cpus" => once("cpus", &mut self.cpus, NanoCpus::parse(value)?)?,
            "memory" => once("memory", &mut self.memory, Memory::parse(value)?)?,
            "workdir" => once("workdir", &mut self.workdir, absolute(value)?)?,
            "layer" if part == "layer" => self.layer = true,
            "tmpfs" => self.tmpfs.push(absolute(value)?),
            "lower" => self.lower.push(LowerFile::parse(value)?),
            "seccomp" => once("seccomp", &mut self.seccomp, Filter::parse(value)?)?,
            "log" => once("log", &mut self.log, LogDriver::parse(value)?)?,
            _ => return Err(SpecProblem::UnknownOption(part.to_owned())),
        }
        Ok(())
    }
}

fn once<T>(option: &'static str, slot: &mut Option<T>, value: T) -> Result<(), SpecProblem> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SpecProblem::Twice(option)),
    }
}

pub(super) fn wrong(option: &'static str, value: &str, form: &'static str) -> SpecProblem {
    SpecProblem::Value { option, value: value.to_owned(), form }
}

impl fmt::Display for ContainerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for volume in &self.volumes {
            write!(f, ",volume={volume}")?;
        }
        if let Some(network) = self.network {
            write!(f, ",net={network}")?;
        }
        for publish in &self.publish {
            write!(f, ",publish={publish}")?;
        }
        if let Some(cpus) = self.cpus {
            write!(f, ",cpus={cpus}")?;
        }
        if let Some(memory) = self.memory {
            write!(f, ",memory={memory}")?;
        }
        if let Some(workdir) = &self.workdir {
            write!(f, ",workdir={}", workdir.display())?;
        }
        if self.layer {
            f.write_str(",layer")?;
        }
        for folder in &self.tmpfs {
            write!(f, ",tmpfs={}", folder.display())?;
        }
        for file in &self.lower {
            write!(f, ",lower={file}")?;
        }
        if let Some(filter) = self.seccomp {
            write!(f, ",seccomp={filter}")?;
        }
        if let Some(driver) = self.log {
            write!(f, ",log={driver}")?;
        }
        Ok(())
    }
}

impl Filter {
    const ALL: [Self; 2] = [Self::Default, Self::Off];

    fn parse(text: &str) -> Result<Self, SpecProblem> {
        let found = Self::ALL.into_iter().find(|filter| filter.to_string() == text);
        found.ok_or_else(|| wrong("seccomp", text, "seccomp=default or seccomp=off"))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Off => "off",
        })
    }
}

impl LogDriver {
    const ALL: [Self; 3] = [Self::None, Self::JsonFile, Self::Local];

    fn parse(text: &str) -> Result<Self, SpecProblem> {
        let found = Self::ALL.into_iter().find(|driver| driver.as_str() == text);
        found.ok_or_else(|| wrong("log", text, "log=none, log=json-file or log=local"))
    }

    /// The engine's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::JsonFile => "json-file",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for LogDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Volume {
    fn parse(text: &str) -> Result<Self, SpecProblem> {
        let error = || wrong("volume", text, "volume=/src:/dst or volume=/src:/dst:ro");
        let mut parts = text.split(':');
        let mut path = || parts.next().ok_or_else(error).and_then(absolute);
        let (source, target) = (path()?, path()?);
        let read_only = match parts.next() {
            None => false,
            Some("ro") => true,
            Some(_) => return Err(error()),
        };
        if parts.next().is_some() {
            return Err(error());
        }
        Ok(Self { source, target, read_only })
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.read_only { ":ro" } else { "" };
        write!(f, "{}:{}{mode}", self.source.display(), self.target.display())
    }
}

impl Network {
    const ALL: [Self; 3] = [Self::Host, Self::Bridge, Self::None];

    fn parse(text: &str) -> Result<Self, SpecProblem> {
        let found = Self::ALL.into_iter().find(|n| n.as_str() == text);
        found.ok_or_else(|| wrong("net", text, "net=host, net=bridge or net=none"))
    }

    /// The engine's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Bridge => "bridge",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Publish {
    fn parse(text: &str) -> Result<Self, SpecProblem> {
        let form = "publish=PORT or publish=HOSTPORT:PORT, with /udp for datagrams";
        let port = |t: &str| match t.parse() {
            Ok(0) | Err(_) => Err(wrong("publish", text, form)),
            Ok(port) => Ok(port),
        };
        let (ports, protocol) = match text.split_once('/') {
            None | Some((_, "tcp")) => (text.trim_end_matches("/tcp"), Protocol::Tcp),
            Some((ports, "udp")) => (ports, Protocol::Udp),
            Some(_) => return Err(wrong("publish", text, form)),
        };
        let (host, container) = match ports.split_once(':') {
            None => (None, port(ports)?),
            Some((host, container)) => (Some(port(host)?), port(container)?),
        };
        Ok(Self { host, container, protocol })
    }
}

impl fmt::Display for Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = self.host {
            write!(f, "{host}:")?;
        }
        write!(f, "{}", self.container)?;
        match self.protocol {
            Protocol::Tcp => Ok(()),
            Protocol::Udp => write!(f, "/{}", self.protocol.as_str()),
        }
    }
}

impl Protocol {
    /// The engine's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl NanoCpus {
    const UNIT: u64 = 1_000_000_000;
    const DIGITS: usize = 9;

    fn parse(text: &str) -> Result<Self, SpecProblem> {
        let error = || wrong("cpus", text, "cpus=0.5");
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || part.len() > Self::DIGITS || !digits(whole) || !digits(part) {
            return Err(error());
        }
        let part: u64 = format!("{part:0<9}").parse().map_err(|_| error())?;
        let whole: u64 = whole.parse().map_err(|_| error())?;
        match whole.checked_mul(Self::UNIT).and_then(|w| w.checked_add(part)) {
            None | Some(0) => Err(error()),
            Some(nanos) => Ok(Self(nanos)),
        }
    }
}

impl fmt::Display for NanoCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / Self::UNIT, self.0 % Self::UNIT);
        match part {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{}", format!("{part:09}").trim_end_matches('0')),
        }
    }
}

impl Memory {
    const UNITS: [(char, u64); 3] = [('g', 1 << 30), ('m', 1 << 20), ('k', 1 << 10)];

    pub(super) fn parse(text: &str) -> Result<Self, SpecProblem> {
        let unit = Self::UNITS
            .into_iter()
            .find(|(letter, _)| text.ends_with([*letter, letter.to_ascii_uppercase()]));
        let (number, factor) = match unit {
            None => (text, 1),
            Some((_, factor)) => (&text[..text.len() - 1], factor),
        };
        let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
        bytes
            .filter(|b| *b > 0)
            .map(Self)
            .ok_or_else(|| wrong("memory", text, "memory=512m (or k, g, or bytes)"))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::UNITS.into_iter().find(|(_, factor)| self.0.is_multiple_of(*factor)) {
            None => write!(f, "{}", self.0),
            Some((letter, factor)) => write!(f, "{}{letter}", self.0 / factor),
        }
    }
}
