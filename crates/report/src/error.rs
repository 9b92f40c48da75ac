//! Why something cannot be shown as it was asked for, and the way out.

use culprit_engine::FilterError;
use culprit_model::Metric;
use thiserror::Error;

use crate::json::SCHEMA;

/// How a pattern is written, for one that is wrong.
const PATTERN_HINT: &str = "a pattern is a part of a name, as in `--inc 'libc*read;^blocked.'`; docs/filters.md has the language";

/// Why a recording cannot be shown as it was asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A pattern of a filter, or the filter itself, is wrong.
    #[error("cannot read the filter: {0}")]
    Filter(FilterError),
    /// The pattern that should name a function is wrong.
    #[error("cannot read the function `{wanted}`: {why}")]
    FunctionPattern {
        /// The pattern, as it was typed.
        wanted: String,
        /// What is wrong with it.
        why: FilterError,
    },
    /// No frame of what is shown has this name, or matches it.
    #[error("cannot find the function `{0}`: no frame matches")]
    NoFunction(String),
    /// Findings were asked for by activity; their time is that of threads.
    #[error("cannot list findings with `--activity`: it filters views only")]
    FindingsOfActivity,
    /// The options that choose threads for findings leave none.
    #[error("cannot list findings: {0} matches no thread")]
    NoThread(String),
    /// A file is no kept results.
    #[error("cannot read the results `{file}`: {why}")]
    NotResults {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// Kept results have another form than this version writes.
    #[error(
        "cannot read the results `{file}`: they have schema {found}; this version reads schema {SCHEMA}"
    )]
    OtherSchema {
        /// The file.
        file: String,
        /// Its schema.
        found: u32,
    },
    /// Two kept results are of different probes.
    #[error(
        "cannot compare `{}` with `{}`: the first has results of `bench {}`, the second of `bench {}`",
        files[0], files[1], probes[0], probes[1]
    )]
    OtherProbe {
        /// The first file and the second.
        files: [String; 2],
        /// Their probes.
        probes: [String; 2],
    },
    /// Two kept results are of different work.
    #[error("cannot compare `{}` with `{}`: the measured work differs: {what}", files[0], files[1])]
    OtherWork {
        /// The first file and the second.
        files: [String; 2],
        /// What differs.
        what: String,
    },
    /// Two sides have run times that cannot be compared; what each of them has.
    #[error("cannot compare run times, because the sides differ: {0}")]
    OtherRunTimes(String),
    /// Two sides have no metric in common; what each of them has.
    #[error("cannot compare: the recordings have no metric in common ({0})")]
    NoCommonMetric(String),
    /// What ended waits was asked for by a metric that measures something else.
    #[error("cannot show what ended waits: the metric `{0}` does not measure waits")]
    NotWaits(Metric),
}

impl Error {
    /// The way out; none where the message has it.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Filter(_) => Some(PATTERN_HINT),
            Self::FunctionPattern { .. } | Self::OtherProbe { .. } | Self::NoCommonMetric(_) => {
                None
            }
            Self::NoFunction(_) => Some("`culprit top REC` lists the functions of the recording"),
            Self::FindingsOfActivity => Some(
                "use `--from` and `--to` for the time of one activity; `culprit activities REC` \
                 prints them for the slowest activities",
            ),
            Self::NoThread(_) => Some("`culprit report REC --limit 0` lists the threads"),
            Self::NotResults { .. } => {
                Some("give a file written by `culprit bench PROBE --save F`")
            }
            Self::OtherSchema { .. } => Some("measure both with the same version of Culprit"),
            Self::OtherWork { .. } => Some("measure both with the same options"),
            Self::OtherRunTimes(_) => {
                Some("use `--metric wall`, which adds up the time of all threads")
            }
            Self::NotWaits(_) => {
                Some("use `--metric blocked`, or one cause such as `--metric blocked.lock`")
            }
        }
    }
}
