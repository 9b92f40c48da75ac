//! Arguments of `import` and `export`.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use culprit_exchange::Format;
use culprit_model::Label as _;

use super::filter::{FilterArgs, RecordingsArg};
use super::parse;

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Another profiler's file; it can be compressed with gzip, zstd or zip
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The recording to write. By default, a file in the current folder, named after FILE
    #[arg(long, short, value_name = "REC", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// Replace the file at `--output`
    #[arg(long)]
    pub force: bool,
    /// The format of FILE. By default, Culprit detects it from the content
    #[arg(long, value_name = "F", value_parser = formats(Format::can_read))]
    pub format: Option<Format>,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// What to write.
    #[command(flatten)]
    pub recording: RecordingsArg,
    /// The format to write
    #[arg(id = "target", long = "to", value_name = "FMT", value_parser = targets())]
    pub to: Target,
    /// The file to write. By default, stdout
    #[arg(long, short, value_name = "FILE", value_parser = parse::file)]
    pub output: Option<PathBuf>,
    /// What to keep of it.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// As what a recording is handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Another profiler's file.
    Profile(Format),
    /// A picture: what `flame` draws.
    Svg,
    /// Tables of a folder's recordings.
    Tables,
}

/// The picture's word.
const SVG: &str = "svg";
/// The tables' word.
const TABLES: &str = "tables";

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(format) => f.write_str(format.word()),
            Self::Svg => f.write_str(SVG),
            Self::Tables => f.write_str(TABLES),
        }
    }
}

/// The formats of which something is true, with what they are.
fn values(which: fn(Format) -> bool) -> impl Iterator<Item = PossibleValue> {
    let formats = Format::ALL.iter().filter(move |format| which(**format));
    formats.map(|format| PossibleValue::new(format.word()).help(format.about()))
}

fn formats(which: fn(Format) -> bool) -> impl TypedValueParser<Value = Format> {
    let values: Vec<_> = values(which).collect();
    PossibleValuesParser::new(values).try_map(|word| word.parse::<Format>())
}

fn targets() -> impl TypedValueParser<Value = Target> {
    let svg = PossibleValue::new(SVG).help("a flame graph as one picture, for browsers");
    let tables = PossibleValue::new(TABLES)
        .help("a folder of Parquet tables of a folder's recordings, for SQL and Spark");
    let values: Vec<_> = values(Format::can_write).chain([svg, tables]).collect();
    PossibleValuesParser::new(values).try_map(|word| match word.as_str() {
        SVG => Ok(Target::Svg),
        TABLES => Ok(Target::Tables),
        word => word.parse().map(Target::Profile),
    })
}
