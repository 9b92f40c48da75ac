//! From a place's options and a command to the request that makes a container: pure.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountBindOptions, MountType,
    PortBinding,
};

use crate::command::{Command, Stdio};
use crate::error::{Error, Result};
use crate::spec::{ContainerOptions, Filter, LogDriver, Publish, Volume};

/// Where a container works that is told to work on its own layer. The engine makes the folder.
pub(super) const LAYER_DIR: &str = "/culprit";

/// Everything that a container is made from.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    pub(super) image: &'a str,
    pub(super) options: &'a ContainerOptions,
    /// Folders of the host mounted read-only at the same place.
    pub(super) programs: &'a [PathBuf],
    /// Files of the host mounted read-only at the same place.
    pub(super) files: &'a [PathBuf],
    /// Variables given to the container beside those of its image.
    pub(super) environment: &'a [(OsString, OsString)],
    /// The place's work folder.
    pub(super) work_dir: &'a Path,
    /// The cgroup above the container's.
    pub(super) cgroup_parent: Option<String>,
    /// Whose it is, for people and for the next run's sweep.
    pub(super) owner: String,
}

/// The label under which a container says whose it is.
pub(super) const OWNER_LABEL: &str = "culprit.owner";

impl Wish<'_> {
    /// The request for a container that runs `command`.
    pub(super) fn request(&self, command: &Command) -> Result<ContainerCreateBody> {
        let (program, arguments) = command.argv.split_first().ok_or(Error::NoCommand)?;
        let has_input = !matches!(command.stdin, Stdio::Null);
        let dir = command.dir.as_deref().unwrap_or(self.work_dir);
        let environment = self.environment.iter().chain(&command.env);
        Ok(ContainerCreateBody {
            image: Some(self.image.to_owned()),
            // The entry point of the image would be another program than the one to be measured.
            entrypoint: Some(vec![text(program)?]),
            cmd: Some(arguments.iter().map(|a| text(a)).collect::<Result<_>>()?),
            env: Some(environment.map(variable).collect::<Result<_>>()?),
            working_dir: Some(text(dir.as_os_str())?),
            attach_stdin: Some(has_input),
            open_stdin: Some(has_input),
            stdin_once: Some(has_input),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            exposed_ports: Some(self.options.publish.iter().map(port).collect()),
            host_config: Some(self.host_config()?),
            labels: Some(HashMap::from([(OWNER_LABEL.to_owned(), self.owner.clone())])),
            ..ContainerCreateBody::default()
        })
    }

    fn host_config(&self) -> Result<HostConfig> {
        let options = self.options;
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mounts = self.programs.iter().chain(self.files).map(|p| bind(p, p, true));
        let volumes = options
            .volumes
            .iter()
            .map(|Volume { source, target, read_only }| bind(source, target, *read_only));
        Ok(HostConfig {
            mounts: Some(mounts.chain(volumes).collect::<Result<_>>()?),
            network_mode: options.network.map(|n| n.as_str().to_owned()),
            port_bindings: Some(self.port_bindings()),
            nano_cpus: options.cpus.map(|c| number(c.0)),
            memory: options.memory.map(|m| number(m.0)),
            cgroup_parent: self.cgroup_parent.clone(),
            tmpfs: Some(self.tmpfs()?),
            security_opt: self.security_options(),
            log_config: options.log.map(log_config),
            ..HostConfig::default()
        })
    }

    /// Programs may run from these folders, as they may from every other.
    fn tmpfs(&self) -> Result<HashMap<String, String>> {
        let folder = |path: &PathBuf| Ok((text(path.as_os_str())?, "rw,exec".to_owned()));
        self.options.tmpfs.iter().map(folder).collect()
    }

    fn security_options(&self) -> Option<Vec<String>> {
        let off = self.options.seccomp == Some(Filter::Off);
        off.then(|| vec!["seccomp=unconfined".to_owned()])
    }

    fn port_bindings(&self) -> HashMap<String, Option<Vec<PortBinding>>> {
        let bindings = self.options.publish.iter().map(|publish| {
            let host = PortBinding {
                // Not reachable from other machines.
                host_ip: Some("127.0.0.1".to_owned()),
                host_port: publish.host.map(|p| p.to_string()),
            };
            (port(publish), Some(vec![host]))
        });
        bindings.collect()
    }
}

fn log_config(driver: LogDriver) -> HostConfigLogConfig {
    HostConfigLogConfig { typ: Some(driver.as_str().to_owned()), config: None }
}

fn port(publish: &Publish) -> String {
    format!("{}/{}", publish.container, publish.protocol.as_str())
}

fn bind(source: &Path, target: &Path, read_only: bool) -> Result<Mount> {
    Ok(Mount {
        source: Some(text(source.as_os_str())?),
        target: Some(text(target.as_os_str())?),
        typ: Some(MountType::BIND),
        read_only: Some(read_only),
        bind_options: Some(MountBindOptions::default()),
        ..Mount::default()
    })
}

pub(super) fn variable((key, value): &(OsString, OsString)) -> Result<String> {
    Ok(format!("{}={}", text(key)?, text(value)?))
}

/// Variables as an engine lists them, `NAME=VALUE` each. One without a sign has no value.
pub(super) fn variables(listed: Vec<String>) -> Vec<(OsString, OsString)> {
    let split = |line: String| match line.split_once('=') {
        Some((name, value)) => (name.into(), value.into()),
        None => (line.into(), OsString::new()),
    };
    listed.into_iter().map(split).collect()
}

/// Whether the user that an engine names for commands is root: the default, or by name or number.
pub(super) fn is_root(user: Option<&str>) -> bool {
    let user = user.unwrap_or_default().split(':').next().unwrap_or_default();
    matches!(user, "" | "0" | "root")
}

/// The interface is JSON, so what is not UTF-8 cannot be said.
pub(crate) fn text(text: &OsStr) -> Result<String> {
    let unsayable = || Error::Unsupported {
        place: "a container".to_owned(),
        what: "take arguments, variables or paths that are not UTF-8",
    };
    text.to_str().map(str::to_owned).ok_or_else(unsayable)
}

#[cfg(test)]
mod tests {
    use super::Wish;
    use crate::command::{Command, Stdio};
    use crate::spec::PlaceSpec;
    use std::path::Path;

    fn options(text: &str) -> crate::spec::ContainerOptions {
        match text.parse().unwrap() {
            PlaceSpec::Engine { options, .. } => options,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn every_option_reaches_the_engine() {
        let spec = "docker:i,volume=/a:/b:ro,net=none,publish=81:80,publish=9,publish=81:80/udp,cpus=0.5,memory=1m,tmpfs=/t,seccomp=off,log=local";
        let options = options(spec);
        let wish = Wish {
            image: "i",
            options: &options,
            programs: &["/usr".into()],
            files: &["/var/tmp/x/lib.so".into()],
            environment: &[("A".into(), "1".into())],
            work_dir: Path::new("/w"),
            cgroup_parent: Some("/c".into()),
            owner: "me".to_owned(),
        };
        let command = Command {
            env: vec![("B".into(), "2".into())],
            stdin: Stdio::Null,
            ..Command::new(["prog", "x", "y"])
        };
        let body = wish.request(&command).unwrap();
        assert_eq!(body.labels.unwrap()[super::OWNER_LABEL], "me");
        assert_eq!(body.entrypoint.unwrap(), ["prog"]);
        assert_eq!(body.cmd.unwrap(), ["x", "y"]);
        assert_eq!(body.env.unwrap(), ["A=1", "B=2"]);
        assert_eq!((body.working_dir.as_deref(), body.open_stdin), (Some("/w"), Some(false)));
        assert_eq!(body.exposed_ports.unwrap(), ["80/tcp", "9/tcp", "80/udp"]);
        let host = body.host_config.unwrap();
        assert_eq!((host.nano_cpus, host.memory), (Some(500_000_000), Some(1 << 20)));
        assert_eq!(host.network_mode.as_deref(), Some("none"));
        assert_eq!(host.cgroup_parent.as_deref(), Some("/c"));
        let mounts: Vec<_> = host
            .mounts
            .unwrap()
            .into_iter()
            .map(|m| (m.target.unwrap(), m.read_only.unwrap()))
            .collect();
        assert_eq!(
            mounts,
            [
                ("/usr".to_owned(), true),
                ("/var/tmp/x/lib.so".to_owned(), true),
                ("/b".to_owned(), true)
            ]
        );
        assert_eq!(host.tmpfs.unwrap()["/t"], "rw,exec");
        assert_eq!(host.security_opt.unwrap(), ["seccomp=unconfined"]);
        assert_eq!(host.log_config.unwrap().typ.as_deref(), Some("local"));
        let ports = host.port_bindings.unwrap();
        assert_eq!(ports["80/tcp"].as_ref().unwrap()[0].host_port.as_deref(), Some("81"));
        assert_eq!(ports["80/udp"].as_ref().unwrap()[0].host_port.as_deref(), Some("81"));
        assert_eq!(ports["9/tcp"].as_ref().unwrap()[0].host_port, None);
    }

    #[test]
    fn commands_run_as_root_unless_the_image_says_otherwise() {
        let root = [None, Some(""), Some("0"), Some("root"), Some("0:0"), Some("root:wheel")];
        assert!(root.into_iter().all(super::is_root));
        assert!(!super::is_root(Some("1000:0")) && !super::is_root(Some("app")));
    }

    #[test]
    fn an_engines_variables_are_split_at_the_first_sign() {
        let listed = ["A=1", "B=x=y", "C=", "D"].map(str::to_owned).to_vec();
        let expected = [("A", "1"), ("B", "x=y"), ("C", ""), ("D", "")];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(super::variables(listed), expected);
    }

    #[test]
    fn what_is_not_utf8_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let options = options("docker:i");
        let wish = Wish {
            image: "i",
            options: &options,
            programs: &[],
            files: &[],
            environment: &[],
            work_dir: Path::new("/"),
            cgroup_parent: None,
            owner: String::new(),
        };
        let command = Command::new([std::ffi::OsString::from_vec(vec![0xff])]);
        assert!(wish.request(&command).unwrap_err().to_string().contains("UTF-8"));
    }
}
