//! Workloads as other tools define them, from text to a [`Spec`]: diskspd's command lines, fio's job files.
//!
//! Nothing here touches a file. A definition's words are not looked at: what runs is what its options say, and
//! [`Spec::words`] says that.

pub mod diskspd;
pub mod fio;

use super::spec;
use super::spec::Spec;

/// A workload as another tool's definition has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// What is done.
    pub spec: Spec,
    /// The file that the definition names, where it names one. It is never touched: the workload
    /// runs on a file of our own.
    pub target: Option<String>,
    /// What is different here from the tool itself, and what the options mean where people often
    /// misread them: one sentence each, without a final full stop.
    pub notes: Vec<String>,
}
