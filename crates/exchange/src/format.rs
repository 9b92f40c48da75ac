//! The closed list of formats.

use std::io::{self, Write};

use culprit_model::{Label as _, labels};

use crate::builder::Builder;
use crate::input::Input;
use crate::profile::Profile;
use crate::{chrome, collapsed, firefox, jfr, nettrace, pprof, speedscope, strace};
use crate::{perf, perfview};

labels! {
    /// A format of another profiler, in the order in which files are tried: the surest signs first.
    Format ("format") {
        /// What perf records.
        PerfData = "perf-data",
        /// What `perf script` prints.
        PerfScript = "perf-script",
        /// Java's flight recordings.
        Jfr = "jfr",
        /// .NET's EventPipe traces.
        Nettrace = "nettrace",
        /// PerfView's samples as XML.
        PerfViewXml = "perfview-xml",
        /// PerfView's samples as JSON.
        PerfViewJson = "perfview-json",
        /// speedscope's JSON.
        Speedscope = "speedscope",
        /// The Firefox Profiler's JSON.
        Firefox = "firefox",
        /// V8's CPU profile: `node --cpu-prof`.
        Cpuprofile = "cpuprofile",
        /// Chrome's trace events.
        Chrome = "chrome",
        /// What `strace -T` prints.
        Strace = "strace",
        /// pprof's protocol buffers.
        Pprof = "pprof",
        /// Folded stacks: `main;parse;memcpy 12`.
        Collapsed = "collapsed",
    }
}

/// Why nothing of a file could be read: what is wrong, and where.
pub(crate) type Refusal = String;

/// Reads a file of one format.
type Reader = fn(&mut Input<'_>, &mut Builder) -> Result<(), Refusal>;

/// Writes one format.
type Writer = fn(&Profile<'_>, &mut dyn Write) -> io::Result<()>;

/// What a format's module offers.
pub(crate) struct Spec {
    /// Usual endings of file names, without the dot.
    pub(crate) extensions: &'static [&'static str],
    /// One line on what it is and who writes it.
    pub(crate) about: &'static str,
    /// Whether a file that begins with these bytes is of the format.
    pub(crate) detect: fn(&[u8]) -> bool,
    /// Reads a file.
    pub(crate) read: Option<Reader>,
    /// Writes a file.
    pub(crate) write: Option<Writer>,
}

impl Format {
    pub(crate) const fn spec(self) -> &'static Spec {
        match self {
            Self::PerfData => &perf::DATA,
            Self::PerfScript => &perf::SCRIPT,
            Self::Jfr => &jfr::SPEC,
            Self::Nettrace => &nettrace::SPEC,
            Self::PerfViewXml => &perfview::XML,
            Self::PerfViewJson => &perfview::JSON,
            Self::Speedscope => &speedscope::SPEC,
            Self::Firefox => &firefox::SPEC,
            Self::Cpuprofile => &chrome::CPUPROFILE,
            Self::Chrome => &chrome::SPEC,
            Self::Strace => &strace::SPEC,
            Self::Pprof => &pprof::SPEC,
            Self::Collapsed => &collapsed::SPEC,
        }
    }

    /// Whether a file is one document, which lines of something else may stand in front of.
    pub(crate) const fn is_document(self) -> bool {
        use Format as F;
        matches!(
            self,
            F::PerfViewXml
                | F::PerfViewJson
                | F::Speedscope
                | F::Firefox
                | F::Cpuprofile
                | F::Chrome
        )
    }

    /// Usual endings of file names, without the dot, the most usual first. Nothing is told apart by
    /// them.
    #[must_use]
    pub const fn extensions(self) -> &'static [&'static str] {
        self.spec().extensions
    }

    /// One line on what it is and who writes it.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.spec().about
    }

    /// Whether such files can be read.
    #[must_use]
    pub const fn can_read(self) -> bool {
        self.spec().read.is_some()
    }

    /// Whether such files can be written.
    #[must_use]
    pub const fn can_write(self) -> bool {
        self.spec().write.is_some()
    }

    /// True for a format whose files keep each thread's rows apart, as other profilers show them.
    #[must_use]
    pub const fn keeps_threads(self) -> bool {
        !matches!(self, Self::Collapsed)
    }

    /// The words of those formats of which something is true, joined by commas.
    #[must_use]
    pub fn list(which: fn(Self) -> bool) -> String {
        let words = Self::ALL.iter().filter(|format| which(**format)).map(|format| format.word());
        words.collect::<Vec<_>>().join(", ")
    }
}
