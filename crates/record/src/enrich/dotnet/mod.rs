//! What is special about .NET: running processes can be asked to name their code, and names lead to
//! assemblies, which have files and lines.
//!
//! ```text
//! recording begins   each running .NET process: EnablePerfMap by its diagnostics socket
//! recording ends     DisablePerfMap; the map is read; names lead to assemblies and their PDBs
//! ```

mod ask;
mod assemblies;
mod protocol;

pub(crate) use ask::{Answer, Asking, ask};
pub(crate) use assemblies::{Assemblies, MethodPlace};
