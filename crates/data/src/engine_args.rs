//! The options that name another engine, for both programs. This file is a module of both.

use std::path::PathBuf;

use clap::Args;

/// Who computes answers, when not this machine.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EngineArgs {
    /// Let an Apache Spark answer, over Spark Connect: `sc://HOST:PORT`, with `/;use_ssl=true;token=...` where it needs them
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) engine: Option<String>,
    /// Where the engine sees the folder, such as `s3a://bucket/store`. By default, at the same path as here
    #[arg(long, value_name = "PATH", requires = "engine")]
    pub(crate) engine_path: Option<String>,
    /// File with the engine's token, so that it stands in no list of processes
    #[arg(long, value_name = "FILE", requires = "engine")]
    pub(crate) engine_token_file: Option<PathBuf>,
}
