//! The engine's process that copies the bytes of a published port.

use std::path::Path;

/// CPU time of a process so far, in its parts.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    pid: String,
}

impl Proxy {
    /// The one that stands between the host's port and a container: docker-proxy, and what else is
    /// started with the option `-host-port PORT`. None where nobody does, because the kernel forwards
    /// by itself.
    /// Each protocol (`tcp`, `udp`) has its own.
    pub(super) fn of_port(port: u16, protocol: &str) -> Option<Self> {
        let processes = std::fs::read_dir("/proc").ok()?;
        let mut names =
            processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let pid = names.find(|name| {
            name.bytes().all(|byte| byte.is_ascii_digit())
                && std::fs::read(Path::new("/proc").join(name).join("cmdline"))
                    .is_ok_and(|line| is_of_port(&line, port, protocol))
        })?;
        Some(Self { pid })
    }

    /// CPU time of all its threads, ns (`/proc/PID/task/TID/schedstat`); threads that have ended are
    /// missing, of which such a process has none.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        let tasks = std::fs::read_dir(Path::new("/proc").join(&self.pid).join("task")).ok()?;
        let of = |task: std::fs::DirEntry| -> Option<u64> {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        Some(tasks.flatten().filter_map(of).sum())
    }
}

fn is_of_port(command_line: &[u8], port: u16, protocol: &str) -> bool {
    let words: Vec<&[u8]> = command_line.split(|byte| *byte == 0).collect();
    let port = port.to_string();
    let says = |option: &str, value: &str| {
        words.windows(2).any(|pair| pair[0] == option.as_bytes() && pair[1] == value.as_bytes())
    };
    says("-host-port", &port) && (says("-proto", protocol) || !words.contains(&&b"-proto"[..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_known_by_its_port() {
        let words = ["/usr/sbin/docker-proxy", "-proto", "udp", "-host-port", "8080", ""];
        let line = words.join("\0").into_bytes();
        assert!(is_of_port(&line, 8080, "udp") && !is_of_port(&line, 808, "udp"));
        assert!(!is_of_port(&line, 8080, "tcp"));
        let other = b"proxy\0-host-port\x008080\0";
        assert!(is_of_port(other, 8080, "tcp"), "one that does not say serves both");
    }
}
