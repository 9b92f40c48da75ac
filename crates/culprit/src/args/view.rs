//! Arguments of `view`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `view`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewPageArgs {
    /// A recording, or a folder of recordings
    #[arg(value_name = "FILE|FOLDER", default_value = ".")]
    pub path: PathBuf,
    /// Port on 127.0.0.1 to listen on; 0 uses any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Also open the address in the desktop's browser
    #[arg(long)]
    pub open: bool,
}
