//! Running .NET processes are asked to write the names of their code, as a variable of their environment
//! would have made them do from their start.
//!
//! A thread asks one process after the other, as an answer takes as long as the runtime needs to list
//! its functions. A process that does not answer holds up nobody but those behind it.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use culprit_model::Runtime;
use culprit_place::procfs;

use crate::enrich::runtimes::{NameFolder, runtime_of};
use crate::symbolize::modules::kernel_pid;

use super::protocol::{Refusal, Request};

/// The runtime that has such a socket.
const DOTNET: &str = "dotnet";

/// How its variables end, whatever the prefix: they exist once for each family of versions.
const VARIABLE: &str = "_PerfMapEnabled";

/// From this version on, variables begin with `DOTNET_`; before, with `COMPlus_`.
const NEW_PREFIX: u32 = 6;

/// How long a process may take to answer: listing ten thousand functions takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the end of a recording waits for answers that are still missing.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// What became of asking one process.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Where its names are now; else why there are none.
    pub(crate) names: Result<NameFolder, String>,
    /// The process, as losses call it.
    pub(crate) subject: String,
    process: Process,
}

/// A running .NET process.
#[derive(Debug, Clone)]
struct Process {
    pid: i32,
    runtime: &'static Runtime,
    /// Where its socket is, if not in the folder of its names.
    folder: Option<PathBuf>,
    /// When it began, in ticks since boot: a part of the socket's name.
    began: u64,
}

/// Answers that are still to come. The lock lets threads share a recording under way.
#[derive(Debug)]
pub(crate) struct Asking(Mutex<Receiver<Answer>>);

impl Asking {
    /// All answers, a recording having ended; processes that are still silent have none.
    pub(crate) fn finish(self) -> Vec<Answer> {
        let answers = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| answers.recv_timeout(LAST_PATIENCE).ok()).collect()
    }
}

/// Asks those of the processes that run .NET and do not write their names already.
pub(crate) fn ask(pids: Vec<i32>) -> Asking {
    let (out, answers) = channel();
    // Without a thread, nobody is asked, and the addresses are told as unknown.
    let _ = std::thread::Builder::new()
        .name("culprit-dotnet".to_owned())
        .spawn(move || ask_each(&pids, &out));
    Asking(Mutex::new(answers))
}

fn ask_each(pids: &[i32], out: &Sender<Answer>) {
    for process in pids.iter().filter_map(|pid| Process::find(*pid)) {
        if let Some(answer) = process.ask()
            && out.send(answer).is_err()
        {
            return;
        }
    }
}

impl Answer {
    /// Ends what was asked for; the names that were written until then stay.
    pub(crate) fn end(&self) {
        if let Ok(folder) = &self.names {
            // A process that has ended needs no request.
            let _ = self.process.send(folder, Request::DisablePerfMap);
        }
    }
}

impl Process {
    /// The process, if it runs .NET and its environment does not say whether to write names.
    fn find(pid: i32) -> Option<Self> {
        let runtime = runtime_of(pid).filter(|runtime| runtime.id == DOTNET)?;
        let environment = procfs::environment(kernel_pid(pid)).unwrap_or_default();
        let says = |(name, _): &(std::ffi::OsString, _)| name.to_string_lossy().ends_with(VARIABLE);
        if environment.iter().any(says) {
            return None;
        }
        let folder = environment.into_iter().find(|(name, _)| name == "TMPDIR");
        let folder =
            folder.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
        let began = procfs::stat(kernel_pid(pid)).ok()?.start_ticks;
        Some(Self { pid, runtime, folder, began })
    }

    /// Asks it; none where its names are written already, or it has ended.
    fn ask(self) -> Option<Answer> {
        let folder = NameFolder::asking(self.pid, self.runtime)?;
        if folder.perf_map().is_some() {
            return None;
        }
        let version = version_of(self.pid);
        let subject = match &version {
            Some(version) => format!("{} {version} in process {}", self.runtime.name, self.pid),
            None => format!("{} in process {}", self.runtime.name, self.pid),
        };
        let names = match self.send(&folder, Request::EnablePerfMap) {
            Ok(()) => Ok(folder),
            Err(refusal) => Err(describe(refusal.as_ref(), version.as_deref())),
        };
        Some(Answer { names, subject, process: self })
    }

    /// Sends a request; the error is none where there is no socket.
    fn send(&self, folder: &NameFolder, request: Request) -> Result<(), Option<Refusal>> {
        let name = format!("dotnet-diagnostic-{}-{}-socket", folder.own_pid(), self.began);
        let mut stream = folder.connect(self.folder.as_deref(), &name).ok_or(None)?;
        let timed = stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        timed.map_err(|error| Some(error.into()))?;
        request.send(&mut stream).map_err(Some)
    }
}

/// Why there are no names, and what to do.
fn describe(refusal: Option<&Refusal>, version: Option<&str>) -> String {
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let why = match refusal {
        None => "it has no diagnostics socket (DOTNET_EnableDiagnostics=0)".to_owned(),
        Some(Refusal::Code(_)) if major.is_none_or(|major| major < 8) => {
            "it cannot be asked for function names while it runs (.NET 8 and newer can)".to_owned()
        }
        Some(refusal) => format!("it did not write its function names: {refusal}"),
    };
    let prefix = if major.is_some_and(|major| major < NEW_PREFIX) { "COMPlus" } else { "DOTNET" };
    format!("{why}; start it with {prefix}{VARIABLE}=1")
}

/// The version of the runtime that a process has mapped: the name of the folder that the library lies
/// in, `Microsoft.NETCore.App/8.0.4`. None for programs that carry their runtime with them.
fn version_of(pid: i32) -> Option<String> {
    let maps = procfs::maps(kernel_pid(pid)).ok()?;
    let is_runtime = |path: &str| {
        Runtime::of_module(crate::symbolize::modules::base_name(path))
            .is_some_and(|known| known.id == DOTNET)
    };
    let path = maps.into_iter().map(|map| map.path).find(|path| is_runtime(path))?;
    version_in(&path).map(str::to_owned)
}

fn version_in(path: &str) -> Option<&str> {
    let folder = path.rsplit('/').nth(1)?;
    let starts = folder.split('.').next()?.parse::<u32>().is_ok();
    (starts && folder.contains('.') && folder.len() < 32).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_name_of_the_runtimes_folder() {
        let path = "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.4/libcoreclr.so";
        assert_eq!(version_in(path), Some("8.0.4"));
        for path in ["/app/libcoreclr.so", "libcoreclr.so", "/opt/v8.0/libcoreclr.so"] {
            assert_eq!(version_in(path), None, "{path}");
        }
    }

    #[test]
    fn a_reason_has_the_variable_of_that_version() {
        let of = |refusal: Option<&Refusal>, version| describe(refusal, version);
        let unknown = Refusal::Code(0x8013_1385);
        let old = of(Some(&unknown), Some("3.1.23"));
        assert!(
            old.contains("cannot be asked") && old.ends_with("COMPlus_PerfMapEnabled=1"),
            "{old}"
        );
        let six = of(Some(&unknown), Some("6.0.1"));
        assert!(six.ends_with("; start it with DOTNET_PerfMapEnabled=1"), "{six}");
        let new = of(Some(&unknown), Some("9.0.1"));
        assert!(new.contains("the runtime answered 0x80131385"), "{new}");
        assert!(of(None, None).contains("DOTNET_EnableDiagnostics=0"));
    }

    #[test]
    fn nobody_is_asked_who_runs_something_else() {
        let ours = i32::try_from(std::process::id()).expect("a number");
        assert!(ask(vec![ours, i32::MAX]).finish().is_empty());
    }
}
