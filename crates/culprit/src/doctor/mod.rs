//! What this machine or container allows: facts of the kernel, each with what is degraded without
//! it and the one command that lifts it.
//!
//! [`examine`] reads everything below a folder that stands for `/`, so that tests examine machines
//! that do not exist. Whether an event may really be opened only the kernel can say: that answer,
//! the rung, comes from the recorder.

mod kernel;
mod places;
mod runtimes;
mod system;

pub(crate) use system::System;

/// How a fact stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing is degraded.
    Fine,
    /// Something works less well.
    Degraded,
    /// Something does not work.
    Missing,
}

impl State {
    /// The state's word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// Its stable name.
    pub id: &'static str,
    /// The value found.
    pub value: String,
    /// How it stands.
    pub state: State,
    /// What is degraded; empty when nothing is.
    pub without: &'static str,
    /// The one command that lifts it; empty when nothing is to be lifted.
    pub lift: &'static str,
}

impl Check {
    fn fine(id: &'static str, value: impl Into<String>) -> Self {
        Self { id, value: value.into(), state: State::Fine, without: "", lift: "" }
    }

    fn not(
        state: State,
        id: &'static str,
        value: impl Into<String>,
        without: &'static str,
        lift: &'static str,
    ) -> Self {
        Self { id, value: value.into(), state, without, lift }
    }
}

/// Every fact about recording and places, in the order in which they matter.
pub(crate) fn examine(system: &System) -> Vec<Check> {
    vec![
        kernel::paranoid(system),
        kernel::capabilities(system),
        kernel::seccomp(system),
        kernel::tracefs(system),
        kernel::uprobes(system),
        kernel::counters(system),
        kernel::kernel_names(system),
        kernel::locked_memory(system),
        kernel::sample_rate(system),
        kernel::schedstat(system),
        kernel::btf(system),
        places::cgroups(system),
        places::user_namespaces(system),
        places::overlay(system),
        places::docker(system),
        places::podman(system),
        runtimes::memory(system),
        runtimes::commands(),
        runtimes::running(),
    ]
}

#[cfg(test)]
mod tests;
