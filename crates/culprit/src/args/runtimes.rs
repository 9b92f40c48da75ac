//! The option about what is set for language runtimes; every command that records a command has it.

use clap::Args;

use crate::settings::variables;

/// What is set for language runtimes.
#[derive(Debug, Clone, Args)]
pub(crate) struct RuntimeArgs {
    /// Do not set the variables by which Node.js, Java and .NET name their functions
    #[arg(
        long,
        env = variables::NO_RUNTIME_HELP,
        long_help = "Do not set the variables by which Node.js, Java and .NET name their functions\n\nBy default, Culprit adds options to NODE_OPTIONS and JAVA_TOOL_OPTIONS, and sets DOTNET_PerfMapEnabled, for each recorded command. Your own values stay. Culprit never sets them for runs that are timed and not recorded.\n\nWithout them, JavaScript and .NET functions have no names, and the lines of Java methods are less exact. Running .NET processes are not asked for their names either."
    )]
    no_runtime_help: bool,
}

impl RuntimeArgs {
    /// Whether the variables are set.
    pub(crate) fn help(&self) -> bool {
        !self.no_runtime_help
    }
}
