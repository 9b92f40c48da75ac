//! The ways in which a program can learn that a file has grown.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use culprit_model::Unit;

use crate::metric::{Metric, Part};

/// How a reader learns of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reader {
    /// As `tail -F` of coreutils 8.25 and later decides: inotify, or a look once a second where the
    /// file system is one that it knows as remote, which overlay is, or no inotify is to be had.
    Tail,
    /// The same with no inotify instance left for this user.
    TailExhausted,
    /// inotify, whatever the file system.
    Inotify,
    /// A look every millisecond.
    Poll1ms,
    /// A look every 10 ms.
    Poll10ms,
    /// A look every 50 ms.
    Poll50ms,
    /// A look every second.
    Poll1s,
    /// A named pipe instead of a file.
    Fifo,
    /// A pipe instead of a file.
    Pipe,
    /// The place's own `tail -F`.
    TailF,
    /// The place's own `tail -f`.
    TailByDescriptor,
    /// The place's own `busybox tail -f`.
    BusyboxTail,
    /// The place's own `cat` on a named pipe.
    CatFifo,
}

/// What is told of a reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metrics {
    pub(super) rows: Metric,
    pub(super) p50: Metric,
    pub(super) p90: Metric,
    pub(super) most: Metric,
    pub(super) delivered: Metric,
    /// What its latencies are kept as.
    pub(super) latency: &'static str,
}

macro_rules! metrics {
    ($id:literal, $name:literal) => {
        Metrics {
            rows: Metric::higher(
                concat!("rows_per_second.", $id),
                concat!($name, ", rows/s"),
                Unit::PerSecond,
                Part::Headline,
            ),
            p50: Metric::lower(
                concat!("latency_ns.", $id, ".p50"),
                concat!($name, ", p50"),
                Unit::Nanos,
                Part::Shown,
            ),
            p90: Metric::lower(
                concat!("latency_ns.", $id, ".p90"),
                concat!($name, ", p90"),
                Unit::Nanos,
                Part::Detail,
            ),
            most: Metric::lower(
                concat!("latency_ns.", $id, ".max"),
                concat!($name, ", longest"),
                Unit::Nanos,
                Part::Detail,
            ),
            delivered: Metric::fact(
                concat!("delivered.", $id),
                concat!($name, ", delivered"),
                Unit::Share,
            ),
            latency: $id,
        }
    };
}

/// How many rows are sent in a stream, and how far apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) rows: u32,
    pub(super) gap: Duration,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Tail,
        Self::TailExhausted,
        Self::Inotify,
        Self::Poll1ms,
        Self::Poll10ms,
        Self::Poll50ms,
        Self::Poll1s,
        Self::Fifo,
        Self::Pipe,
        Self::TailF,
        Self::TailByDescriptor,
        Self::BusyboxTail,
        Self::CatFifo,
    ];

    /// As options have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.metrics().latency
    }

    pub(super) const fn metrics(self) -> Metrics {
        match self {
            Self::Tail => metrics!("tail", "follow as tail"),
            Self::TailExhausted => metrics!("tail-exhausted", "as tail, without inotify"),
            Self::Inotify => metrics!("inotify", "inotify"),
            Self::Poll1ms => metrics!("poll-1ms", "check every 1 ms"),
            Self::Poll10ms => metrics!("poll-10ms", "check every 10 ms"),
            Self::Poll50ms => metrics!("poll-50ms", "check every 50 ms"),
            Self::Poll1s => metrics!("poll-1s", "check every 1 s"),
            Self::Fifo => metrics!("fifo", "FIFO"),
            Self::Pipe => metrics!("pipe", "pipe"),
            Self::TailF => metrics!("tail-F", "tail -F"),
            Self::TailByDescriptor => metrics!("tail-f", "tail -f"),
            Self::BusyboxTail => metrics!("busybox-tail", "busybox tail -f"),
            Self::CatFifo => metrics!("cat-fifo", "cat FIFO"),
        }
    }

    /// The program of the place that it needs.
    #[must_use]
    pub const fn program(self) -> Option<&'static str> {
        match self {
            Self::TailF | Self::TailByDescriptor => Some("tail"),
            Self::BusyboxTail => Some("busybox"),
            Self::CatFifo => Some("cat"),
            _ => None,
        }
    }

    /// The program's arguments.
    pub(super) fn arguments(self, file: &Path) -> Vec<&OsStr> {
        let words: &[&str] = match self {
            Self::TailF => &["-F"],
            Self::TailByDescriptor => &["-f"],
            Self::BusyboxTail => &["tail", "-f"],
            _ => &[],
        };
        words.iter().map(OsStr::new).chain([file.as_os_str()]).collect()
    }

    pub(super) const fn is_fifo(self) -> bool {
        matches!(self, Self::Fifo | Self::CatFifo)
    }

    /// Where looks may be a second apart, fewer rows must do, at times that fall on every part of
    /// that second.
    pub(super) const fn stream(self) -> Stream {
        match self {
            Self::Inotify | Self::Fifo | Self::Pipe | Self::CatFifo | Self::Poll1ms => {
                Stream { rows: 100, gap: Duration::from_millis(5) }
            }
            Self::Poll10ms | Self::Poll50ms => Stream { rows: 40, gap: Duration::from_millis(17) },
            _ => Stream { rows: 10, gap: Duration::from_millis(170) },
        }
    }
}
