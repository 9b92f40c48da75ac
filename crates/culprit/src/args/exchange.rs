//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use culprit_exchange::Format;
use culprit_model::Label as _;

use super::filter::{FilterArgs, RecordingArg};

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Another profiler's file, also packed by gzip, zstd or zip
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The recording to write; else one in this folder, named after FILE
    #[arg(long, short, value_name = "REC")]
    pub output: Option<PathBuf>,
    /// Read it as this; else its bytes tell what it is
    #[arg(long, value_name = "F", value_parser = formats(Format::can_read))]
    pub format: Option<Format>,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// What to write.
    #[command(flatten)]
    pub recording: RecordingArg,
    /// As what
    #[arg(long, value_name = "FMT", value_parser = formats(Format::can_write))]
    pub to: Format,
    /// The file to write; else it goes to stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// The formats of which something is true, with what they are.
fn formats(which: fn(Format) -> bool) -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.iter().filter(|format| which(**format));
    let values = values.map(|format| PossibleValue::new(format.word()).help(format.about()));
    PossibleValuesParser::new(values.collect::<Vec<_>>()).try_map(|word| word.parse::<Format>())
}
