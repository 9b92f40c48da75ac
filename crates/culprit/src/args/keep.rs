//! The option about the configuration that a recording keeps; every command that records has it.

use clap::Args;

use crate::failure::Failure;
use crate::running::random_key;
use crate::settings::variables;

/// What a recording keeps of configuration.
#[derive(Debug, Clone, Args)]
pub(crate) struct KeepArgs {
    /// Do not keep the configuration of the command in the recording
    #[arg(
        long,
        env = variables::NO_CONFIG,
        long_help = "Do not keep the configuration of the command in the recording\n\nBy default, a recording keeps the variables of the command, and what `culprit config show` finds in its working folder. Values that look secret are left out. Culprit reads it after the command has ended, at most 2 MiB."
    )]
    no_config: bool,
}

impl KeepArgs {
    /// The key of the fingerprints of all recordings of this call; none if no configuration is kept.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub(crate) fn key(&self) -> Result<Option<[u8; 32]>, Failure> {
        if self.no_config { Ok(None) } else { random_key().map(Some) }
    }
}
