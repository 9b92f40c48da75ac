//! The sandbox keeps the contract, as root and as an ordinary user, and keeps things apart.

use crate::again::as_ordinary_user;
use crate::contract::{Expected, check, output, shell, start};
use culprit_place::{
    Error, Exit, OVERLAY_MAGIC, Place, PlaceFacts, PlaceSpec, Settings, Signal, Stdio, open, procfs,
};
use std::path::{Path, PathBuf};

/// A sandbox that works in `dir`, with its scratch folder; `None` where the machine refuses one.
fn sandbox(test: &str, dir: &Path) -> Option<(Box<dyn Place>, tempfile::TempDir)> {
    // Not below `dir`, and on the same disk as the default.
    let scratch = tempfile::tempdir_in("/var/tmp").unwrap();
    let settings = Settings { scratch: scratch.path().to_path_buf(), ..Settings::default() };
    match open(&PlaceSpec::Sandbox { dir: Some(dir.to_path_buf()) }, &settings) {
        Ok(place) => Some((place, scratch)),
        Err(e @ Error::Sandbox { .. }) => {
            println!("skipped: {test}: {e}; {}", e.hints().join("; "));
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn the_contract_is_kept() {
    let Some((place, scratch)) = sandbox("the_contract_is_kept", Path::new("/tmp")) else { return };
    check(&*place, &Expected { held_has_pid: true, tells_signals: true });
    assert_eq!(entries(scratch.path()), 1);
    place.remove().unwrap();
    assert_eq!(entries(scratch.path()), 0, "nothing is left behind");
}

#[test]
fn an_ordinary_user_has_all_of_it_too() {
    as_ordinary_user("an_ordinary_user_has_all_of_it_too", "sandbox::the_contract_is_kept");
    as_ordinary_user("an_ordinary_user_has_all_of_it_too", "sandbox::it_is_an_overlay_and_keeps");
    as_ordinary_user("an_ordinary_user_has_all_of_it_too", "sandbox::processes_and_network");
    as_ordinary_user("an_ordinary_user_has_all_of_it_too", "sandbox::removing_ends");
}

#[test]
fn it_is_an_overlay_and_keeps_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old"), "host\n").unwrap();
    let name = "it_is_an_overlay_and_keeps_what_is_written";
    let Some((place, _scratch)) = sandbox(name, dir.path()) else { return };
    let facts: PlaceFacts = place.facts().unwrap();
    let work = facts.work.unwrap();
    assert_eq!((work.magic, work.kind.as_str()), (OVERLAY_MAGIC, "overlay"));
    assert_eq!(output(&*place, &shell("stat -f -c %t .")).0, "794c7630\n");

    let (text, _) = output(&*place, &shell("cat old; echo changed > old; echo new > new; rm -f x"));
    assert_eq!(text, "host\n");
    let (text, _) = output(&*place, &shell("cat old new"));
    assert_eq!(text, "changed\nnew\n", "the next command sees what the last one wrote");
    assert_eq!(std::fs::read_to_string(dir.path().join("old")).unwrap(), "host\n");
    assert!(!dir.path().join("new").exists(), "the host stays as it was");
}

/// What the sandbox is for: coreutils' tail takes overlayfs for a remote file system and asks for no
/// notification there.
#[test]
fn tail_polls_here_and_is_notified_on_the_host() {
    let name = "tail_polls_here_and_is_notified_on_the_host";
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(dir.path().join("rows"), "").unwrap();
    let host = open(&PlaceSpec::Host { dir: Some(dir.path().into()) }, &Settings::default());
    let host = host.unwrap();
    if !output(&*host, &shell("tail --version")).0.contains("coreutils") {
        return println!("skipped: {name}: tail is not that of coreutils");
    }
    let Some((place, _scratch)) = sandbox(name, dir.path()) else { return };
    // Asked when it has gone to wait: in poll for a notification, or in a sleep.
    let script = "tail -F rows > /dev/null & \
                  until grep -Eq 'poll|sleep' /proc/$!/wchan; do sleep 0.02; done; \
                  readlink /proc/$!/fd/* | grep -c inotify; kill $!";
    assert_eq!(output(&*host, &shell(script)).0, "1\n");
    assert_eq!(output(&*place, &shell(script)).0, "0\n");
}

#[test]
fn processes_and_network_are_its_own() {
    let name = "processes_and_network_are_its_own";
    let Some((place, scratch)) = sandbox(name, Path::new("/")) else { return };
    let mut running = start(
        &*place,
        &culprit_place::Command { stdin: Stdio::Pipe, ..shell("read line; exit 3") },
    );
    let pid = running.pid().unwrap();
    assert_eq!(procfs::namespace_pids(pid).unwrap().len(), 2);
    let (text, _) = output(&*place, &shell("cat /proc/[0-9]*/comm | sort | uniq -c | head -1"));
    assert!(text.contains("cat") && text.trim_start().starts_with('1'), "{text}");
    let (text, _) = output(&*place, &shell("cat /proc/1/comm; cat /proc/self/cgroup | head -1"));
    assert!(text.starts_with("culprit-sandbox\n"), "{text}");
    let (text, _) = output(&*place, &shell("tail -n +3 /proc/net/dev; cat /proc/net/fib_trie"));
    assert_eq!(text.lines().filter(|l| l.contains(": ")).count(), 1, "only loopback: {text}");
    assert!(text.contains("127.0.0.1"), "loopback is up: {text}");
    let hidden = format!("ls -A {}/culprit_*", scratch.path().display());
    assert_eq!(output(&*place, &shell(&hidden)).0, "", "its own layers do not show");
    drop(running.take_stdin());
    assert_eq!(running.wait().unwrap(), Exit::Code(3));
}

#[test]
fn removing_ends_what_still_runs() {
    let name = "removing_ends_what_still_runs";
    let Some((place, scratch)) = sandbox(name, Path::new("/tmp")) else { return };
    let waited = start(&*place, &shell("exec sleep 600"));
    let forgotten = start(&*place, &shell("sleep 600 & echo > /tmp/culprit-mark; exec sleep 600"));
    let (a, b) = (waited.pid().unwrap(), forgotten.pid().unwrap());
    drop(forgotten);
    place.remove().unwrap();
    assert_eq!(waited.wait().unwrap(), Exit::Signal(Signal::KILL));
    assert!(procfs::stat(a).is_err() && procfs::stat(b).is_err());
    assert_eq!(entries(scratch.path()), 0);
    assert!(!PathBuf::from("/tmp/culprit-mark").exists());
}

#[test]
fn a_work_folder_that_is_not_there_is_named() {
    let spec = PlaceSpec::Sandbox { dir: Some("/no/such/work".into()) };
    let error = open(&spec, &Settings::default()).map(drop).unwrap_err();
    assert!(error.to_string().contains("/no/such/work"), "{error}");
}

#[test]
fn a_scratch_folder_that_is_not_there_is_named() {
    let settings = Settings { scratch: "/no/such".into(), ..Settings::default() };
    let error = open(&PlaceSpec::SANDBOX, &settings).map(drop).unwrap_err();
    assert!(error.to_string().contains("/no/such/culprit_"), "{error}");
}
