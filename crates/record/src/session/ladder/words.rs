//! Refusals in words: what is missing, why, and the command that lifts it.
//!
//! One sentence a loss, with the value found and the value needed, because the reader may be in a
//! container, without root, or both, and has to know whom to ask for what.

use super::{Errno, Limits, Rights};
use crate::error::Error;

/// Grants everything to one binary, for those who may not or will not run it as root.
const SETCAP: &str = "`sudo setcap cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock,cap_dac_read_search+ep \
     $(command -v culprit)`";

/// Grants everything to a container.
const DOCKER: &str = "`docker run --cap-add PERFMON --cap-add SYS_PTRACE --cap-add SYSLOG` \
     (Docker before 2022: `--cap-add SYS_ADMIN`)";

/// Why the recording stands on no higher rung, one sentence each; empty on the highest.
pub(crate) fn explain(rights: &Rights, limits: Limits) -> Vec<String> {
    let mut sentences = Vec::new();
    if rights.user.is_err() {
        sentences.push(format!(
            "no perf events, so Culprit polls thread states from /proc: {}",
            why(rights.user, limits, 2)
        ));
        return sentences;
    }
    if rights.kernel.is_err() {
        sentences.push(format!(
            "no kernel stacks and no stacks of waiting threads, so Culprit polls the reasons of \
             waits from /proc: {}",
            why(rights.kernel, limits, 1)
        ));
    } else if rights.machine.is_err() {
        sentences.push(format!(
            "no wakers, and no recordings of containers, of other users' processes or of the \
             whole machine: {}",
            why(rights.machine, limits, 0)
        ));
    } else if let Err(Errno(libc::EXDEV)) = &rights.wakers {
        sentences.push(
            "no wakers: tracepoints use the host's thread numbers, and this pid namespace has \
             other numbers; record from the host, or start the container with `docker run \
             --pid=host`"
                .to_owned(),
        );
    } else if let Err(errno) = &rights.wakers {
        let found = std::io::Error::from_raw_os_error(errno.0);
        let way_out = if limits.root {
            "give this process CAP_SYS_ADMIN, for a container with `docker run --cap-add SYS_ADMIN`"
        } else {
            "run `culprit` as root, or give it CAP_DAC_READ_SEARCH and mount tracefs: `mount -t \
             tracefs none /sys/kernel/tracing`"
        };
        sentences.push(format!("no wakers: Culprit cannot read tracefs ({found}); {way_out}"));
    }
    sentences
}

/// The error for a target that needs more than there is.
pub(crate) fn refusal(target: &str, answer: Result<(), Errno>, limits: Limits) -> Error {
    let errno = answer.err().unwrap_or(Errno(libc::EACCES));
    Error::Refused {
        target: target.to_owned(),
        reason: cause(errno, limits),
        hints: way_out(errno, limits, 0),
    }
}

fn why(answer: Result<(), Errno>, limits: Limits, needed: i32) -> String {
    let errno = answer.err().unwrap_or(Errno(libc::EACCES));
    let ways = way_out(errno, limits, needed);
    let ways = if ways.is_empty() { String::new() } else { format!("; {}", ways.join(", or ")) };
    format!("{}{ways}", cause(errno, limits))
}

/// What refused, as far as it can be told. Container runtimes answer EPERM or ENOSYS for the same
/// thing, so the seccomp mode decides and not the number alone.
fn cause(errno: Errno, limits: Limits) -> String {
    let blocked = matches!(errno.0, libc::EPERM | libc::ENOSYS);
    match limits.paranoid {
        None => "this kernel has no perf events".to_owned(),
        Some(_) if blocked && limits.seccomp => {
            "the container's seccomp profile forbids perf_event_open".to_owned()
        }
        Some(level) if matches!(errno.0, libc::EACCES | libc::EPERM) && !limits.perfmon => {
            let who = if limits.root { "root" } else { "an ordinary user" };
            format!(
                "kernel.perf_event_paranoid is {level}, and culprit runs as {who} without \
                 CAP_PERFMON"
            )
        }
        Some(_) => std::io::Error::from_raw_os_error(errno.0).to_string(),
    }
}

/// What lifts it, best first; `needed` is the sysctl's value that would do.
fn way_out(errno: Errno, limits: Limits, needed: i32) -> Vec<String> {
    if limits.paranoid.is_none() {
        return vec!["use a kernel with CONFIG_PERF_EVENTS".to_owned()];
    }
    if limits.seccomp && matches!(errno.0, libc::EPERM | libc::ENOSYS | libc::EACCES) {
        return vec![
            format!("start the container with {DOCKER}"),
            "record from the host with `culprit record --container NAME`".to_owned(),
        ];
    }
    let mut ways = Vec::new();
    if !limits.root {
        ways.push("run `culprit` as root".to_owned());
    } else if !limits.perfmon {
        ways.push(format!("give this process CAP_PERFMON, for a container with {DOCKER}"));
    }
    if limits.paranoid.is_some_and(|level| level > needed) {
        ways.push(format!("`sudo sysctl kernel.perf_event_paranoid={needed}`"));
    }
    if !limits.root {
        ways.push(SETCAP.to_owned());
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::attr::Features;
    use crate::session::ladder::Trials;

    fn rights(user: i32, kernel: i32, machine: i32) -> Rights {
        let answer = |errno| if errno == 0 { Ok(()) } else { Err(Errno(errno)) };
        Rights {
            machine: answer(machine),
            kernel: answer(kernel),
            user: answer(user),
            wakers: Err(Errno(libc::EACCES)),
            features: Features::default(),
            trials: Trials::default(),
        }
    }

    fn user_at(level: i32) -> Limits {
        Limits { paranoid: Some(level), ..Limits::default() }
    }

    #[test]
    fn an_ordinary_user_at_paranoid_two_is_told_the_sysctl_for_stacks() {
        let said = explain(&rights(0, libc::EACCES, libc::EACCES), user_at(2));
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("kernel.perf_event_paranoid is 2"), "{}", said[0]);
        assert!(said[0].contains("`sudo sysctl kernel.perf_event_paranoid=1`"), "{}", said[0]);
    }

    #[test]
    fn an_ordinary_user_at_paranoid_one_lacks_only_wakers() {
        let said = explain(&rights(0, 0, libc::EACCES), user_at(1));
        assert!(said[0].starts_with("no wakers"), "{}", said[0]);
        assert!(said[0].contains("kernel.perf_event_paranoid=0"), "{}", said[0]);
    }

    #[test]
    fn in_a_container_the_run_flag_is_named_not_the_sysctl() {
        let limits = Limits { seccomp: true, root: true, ..user_at(2) };
        for errno in [libc::EPERM, libc::ENOSYS] {
            let said = explain(&rights(errno, errno, errno), limits);
            assert!(said[0].contains("seccomp"), "{}", said[0]);
            assert!(said[0].contains("docker run --cap-add PERFMON"), "{}", said[0]);
            assert!(!said[0].contains("sysctl"), "{}", said[0]);
        }
    }

    #[test]
    fn a_kernel_without_perf_events_is_called_that() {
        let said = explain(&rights(libc::ENOSYS, libc::ENOSYS, libc::ENOSYS), Limits::default());
        assert!(said[0].contains("no perf events"), "{}", said[0]);
    }

    #[test]
    fn all_rights_leave_nothing_to_say_but_tracefs() {
        let said = explain(&rights(0, 0, 0), user_at(-1));
        assert!(said[0].contains("mount -t tracefs"), "{}", said[0]);
    }

    #[test]
    fn root_is_not_told_to_become_root() {
        let root = Limits { root: true, ..user_at(2) };
        let said = explain(&rights(0, libc::EACCES, libc::EACCES), root);
        assert!(said[0].contains("give this process CAP_PERFMON"), "{}", said[0]);
        assert!(!said[0].contains("as root, or"), "{}", said[0]);
        let said = explain(&rights(0, 0, 0), Limits { perfmon: true, ..root });
        assert!(said[0].contains("CAP_SYS_ADMIN") && !said[0].contains("as root"), "{}", said[0]);
    }

    #[test]
    fn a_target_out_of_reach_is_an_error_with_hints() {
        let error = refusal("the whole machine", Err(Errno(libc::EACCES)), user_at(1));
        assert!(error.to_string().starts_with("cannot record the whole machine: "));
        assert!(error.hints().iter().any(|hint| hint.contains("perf_event_paranoid=0")));
    }
}
