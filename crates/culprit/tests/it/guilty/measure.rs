//! Records programs, again where other work on the machine disturbed the recording.

use serde_json::Value;

use super::truth::{NOISE, Program, findings};
use crate::support::{Lab, disturbed, number, stderr};

/// How often a program is measured at most.
const TRIES: usize = 3;

/// Share of the CPUs' time that other programs took, or of the program's time on the run queue,
/// from which a measurement was disturbed.
const CROWDED: f64 = 0.1;

/// When a program need not be measured again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Its findings are what they must be, or the measurement was not disturbed.
    Right,
    /// The measurement was not disturbed.
    Undisturbed,
}

/// What came out for one program.
pub(crate) struct Outcome {
    pub(crate) file: String,
    /// The findings of the last measurement, the costliest first, `run-queue` left out.
    pub(crate) said: Vec<Said>,
    /// How often it was measured.
    pub(crate) tries: usize,
    /// What disturbed the last measurement.
    pub(crate) disturbed: Option<String>,
    /// What is wrong with the findings.
    pub(crate) wrong: Option<String>,
}

impl Outcome {
    /// Whether the findings are what they must be.
    pub(crate) fn is_right(&self) -> bool {
        self.wrong.is_none()
    }
}

/// One finding in short.
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) share: f64,
    /// Above information.
    pub(crate) accuses: bool,
}

/// Records a program to `program.culprit`, and its rows as they were recorded to `program.raw`; three
/// times at most. The last measurement counts. A program is ended after `limit`.
pub(crate) fn measure(
    lab: &Lab,
    program: &Program,
    command: &[String],
    (until, limit): (Until, Option<&str>),
) -> Outcome {
    for tries in 1.. {
        let before = Others::now();
        let mut record = lab.culprit();
        record.args(["record", "--force", "-o", "program.culprit", "--raw", "program.raw"]);
        record.args(limit.map(|limit| ["-d", limit]).into_iter().flatten());
        let output = record.arg("--").args(command).output().expect("culprit runs");
        // A program that is ended has failed.
        let fine = output.status.success() || limit.is_some();
        assert!(fine, "{}: {}", program.file, stderr(&output));
        let others = before.share_since();
        let report = lab.json(&["report", "program.culprit"]);
        let wrong = program.judge(&report);
        // A program that is about it is not disturbed by it.
        let above =
            |id: &str, what: &str| share_above(&report, id, what).filter(|_| program.finding != id);
        let disturbed = disturbed(&report)
            .or_else(|| {
                // A recording that is kept says itself whether its program waited for a CPU.
                let crowded = until == Until::Right && others > CROWDED;
                crowded.then(|| "other programs".to_owned())
            })
            .or_else(|| above(NOISE, "a full run queue"))
            .or_else(|| above("major-page-faults", "files that had left memory"));
        if let Some(wrong) = &wrong {
            println!("{} (try {tries}, disturbed by {disturbed:?}): {wrong}", program.file);
        }
        let enough = disturbed.is_none() || (until == Until::Right && wrong.is_none());
        if enough || tries == TRIES {
            let (file, said) = (program.file.clone(), said(&report));
            return Outcome { file, said, tries, disturbed, wrong };
        }
    }
    unreachable!("the loop ends by itself")
}

/// The findings that cost anything, but for what a busy machine adds to every program.
fn said(report: &Value) -> Vec<Said> {
    let said = |f: &Value| Said {
        id: f["id"].as_str().expect("an id").to_owned(),
        share: number(&f["share"]),
        accuses: f["severity"] != "info",
    };
    let all = findings(report).iter().map(said);
    all.filter(|said| said.id != NOISE && said.share > 0.0).collect()
}

/// `what`, where the program spent much of its time on what a machine adds that does other work, too.
fn share_above(report: &Value, id: &str, what: &str) -> Option<String> {
    let found = findings(report).iter().find(|f| f["id"] == id)?;
    (number(&found["share"]) > CROWDED).then(|| what.to_owned())
}

/// The CPU time that the machine and this test's children have used, in clock ticks.
struct Others {
    total: f64,
    busy: f64,
    own: f64,
}

impl Others {
    fn now() -> Self {
        let numbers = |line: &str, skipped| -> Vec<f64> {
            line.split_whitespace().skip(skipped).map_while(|word| word.parse().ok()).collect()
        };
        let machine = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
        // user nice system idle iowait irq softirq steal; a guest's time is in user already
        let ticks = numbers(machine.lines().next().expect("the CPUs"), 1);
        let total: f64 = ticks.iter().take(8).sum();
        let own = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
        // behind the name: the state and twelve numbers before cutime and cstime
        let own = own.rsplit(')').next().map(|rest| numbers(rest, 13)).expect("numbers");
        Self { total, busy: total - ticks[3] - ticks[4], own: own[0] + own[1] }
    }

    /// The share of the machine's CPU time since then that went to none of this test's children.
    fn share_since(&self) -> f64 {
        let now = Self::now();
        let others = (now.busy - self.busy) - (now.own - self.own);
        others / (now.total - self.total).max(1.0)
    }
}
