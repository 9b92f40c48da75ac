//! What the kernel's records do not say: /proc, the files that code comes from, and the runtimes of programs.

pub(crate) mod arguments;
pub(crate) mod asleep;
pub(crate) mod bytecode;
pub(crate) mod datagrams;
pub(crate) mod dotnet;
pub(crate) mod files;
pub(crate) mod interpreters;
pub(crate) mod joined;
pub(crate) mod managed;
pub(crate) mod poller;
pub(crate) mod runtimes;
