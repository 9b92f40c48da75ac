//! From the facts of all rounds to observations with grades.

use std::collections::{BTreeMap, BTreeSet};

use culprit_config::{
    CodePlace, FileObservation, Grade, Observation, ObservedProgram, Proof, ProofGap, Seen, Watch,
    grade, nearest_name,
};
use culprit_place::Exit;
use culprit_record::observe::{GapKind, Lookup, ObservedProcess, Reader, WatchedValue};

use super::flip::FlipEffect;
use super::report::{Report, Use};
use super::run::ObservedRun;
use super::{Plan, Subject};

/// Functions that belong to a language's own interface.
const RUNTIME_FUNCTIONS: [&str; 1] = ["syscall.Getenv"];
/// Functions that hand out all variables.
const WHOLE_FUNCTIONS: [&str; 1] = ["syscall.Environ"];
/// The environment as a file.
const ENVIRONMENT_FILES: [&str; 2] = ["/proc/self/environ", "/proc/thread-self/environ"];

/// An interpreter that loads a hook.
struct Hooked {
    /// How its program's name begins.
    program: &'static str,
    /// The interface that the hook observes.
    through: &'static str,
    /// What to do where it was not loaded.
    next: &'static str,
}

const HOOKED: [Hooked; 2] = [
    Hooked {
        program: "python",
        through: "os.environ",
        next: "run Python without -I, -E and -S, as the same user, and without `--runtime off`",
    },
    Hooked {
        program: "java",
        through: "System.getenv",
        next: "run Java as the same user, outside a sandbox, and without `--runtime off`",
    },
];

/// What all rounds gave so far.
#[derive(Debug)]
pub(super) struct Gathered {
    proof: Proof,
    present: BTreeSet<String>,
    gaps: BTreeSet<ProofGap>,
    /// How each round ended.
    exits: Vec<Option<Exit>>,
    /// Whether the user named the variables.
    named: bool,
}

impl Gathered {
    /// Nothing yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let subject = match &plan.subject {
            Subject::Command(words, _) => words.join(" "),
            Subject::Running(_, name) => name.clone(),
        };
        let (not_armed, concerned) = (plan.not_armed.clone(), plan.concerned.clone());
        let proof = Proof { subject, not_armed, concerned, ..Proof::default() };
        let (present, gaps, exits) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        Self { proof, present, gaps, exits, named: plan.concerned.is_none() }
    }

    fn gap(&mut self, kind: &str, why: String, next: &str) {
        self.gaps.insert(ProofGap { kind: kind.to_owned(), why, next: next.to_owned() });
    }

    /// Adds a round.
    pub(super) fn add(&mut self, round: &ObservedRun) {
        self.proof.rounds += 1;
        self.exits.push(round.exit);
        self.proof.armed.extend(round.watched.iter().cloned());
        for gap in &round.observed.gaps {
            self.gap(&gap.kind.to_string(), gap.why.clone(), &gap.next);
        }
        if let Some(exit) = round.exit.filter(|exit| !exit.success()) {
            self.gap("exit", format!("the command did not succeed: {exit}"), "");
        }
        let blind = round.observed.gaps.iter().any(|gap| {
            matches!(
                gap.kind,
                GapKind::KernelAccess | GapKind::Files | GapKind::Lost | GapKind::Watchpoints
            )
        });
        for process in &round.observed.processes {
            self.add_process(process, round, blind);
        }
    }

    fn add_process(&mut self, process: &ObservedProcess, round: &ObservedRun, blind: bool) {
        let hooked = HookReads::new(&round.reports, process, round.decoy.as_deref());
        let watch = watch(process, round, blind);
        let program = self.proof.programs.len();
        self.proof.programs.push(ObservedProgram {
            pid: process.pid.0,
            parent: process.parent.map(|pid| pid.0),
            command: process.command.join(" "),
            late: process.late,
            forked: process.forked,
            round: self.proof.rounds.saturating_sub(1),
            watch,
        });
        let ours = |name: &String| round.ours.contains(name);
        let present: BTreeSet<&String> =
            process.present.iter().filter(|name| !ours(name)).collect();
        self.present.extend(present.iter().map(|name| (*name).clone()));
        let asked = process.lookups.iter().map(|lookup| &lookup.name);
        let mut names: BTreeSet<&String> = asked.chain(hooked.names()).collect();
        if !process.forked {
            names.extend(present.iter().copied());
        }
        names.extend(process.watched.iter().map(|value| &value.name));
        names.retain(|name| !name.is_empty() && !ours(name));
        for name in names {
            let row = Variable::new(name, process, &hooked, round.decoy.as_deref());
            // What runs on when the observation ends may read it later.
            if !process.forked || row.is_touched() || !process.whole_life {
                self.proof.observations.push(row.observation(program, &watch));
            }
        }
        self.add_files(process, program);
        self.add_gaps(process, &hooked, round);
    }

    fn add_files(&mut self, process: &ObservedProcess, program: usize) {
        self.proof.files.extend(process.files.iter().map(|used| FileObservation {
            path: used.path.clone(),
            program,
            opened: used.opened,
            missing: used.missing,
            refused: used.refused,
            bytes_read: used.bytes_read,
        }));
    }

    fn add_gaps(&mut self, process: &ObservedProcess, hooked: &HookReads<'_>, round: &ObservedRun) {
        let name = || {
            let program = process.program.rsplit('/').next().unwrap_or_default();
            format!("`{program}` (process {})", process.pid)
        };
        let names = round.observed.gaps.iter().any(|gap| gap.kind == GapKind::Names);
        if !process.names_complete && !process.late && !names {
            let why = format!("{} has no `getenv` that Culprit could find", name());
            self.gap("names", why, "keep the symbols of the program (do not strip it)");
        }
        if process.late {
            let why = format!("{} ran before it was observed (late_attach)", name());
            self.gap("process", why, "start it with `culprit config prove -- CMD`");
        }
        let program = process.program.rsplit('/').next().unwrap_or_default();
        let unhooked = HOOKED.iter().find(|hooked| program.starts_with(hooked.program));
        if let Some(hook) = unhooked.filter(|_| !hooked.loaded && !process.late) {
            let why = format!("{} did not load the hook for `{}`", name(), hook.through);
            self.gap("runtime", why, hook.next);
        }
    }

    /// Adds what a comparison with another value says.
    pub(super) fn add_flip(&mut self, name: &str, verdict: FlipEffect) {
        match verdict {
            FlipEffect::Changed => self.proof.observations.push(Observation {
                name: name.to_owned(),
                program: 0,
                grade: Grade::EffectiveDump,
                count: 1,
                first: None,
                through: "flip".to_owned(),
            }),
            FlipEffect::Same => {
                let why = format!(
                    "another value of `{name}` changed neither the output nor the exit code"
                );
                self.gap("flip", why, "");
            }
            FlipEffect::Unstable => {
                let why =
                    format!("`{name}`: the command's output differs from run to run by itself");
                self.gap("flip", why, "give a command whose output is the same each time");
            }
        }
    }

    /// Whether each round executed the same programs.
    fn same_programs(&self) -> bool {
        let mut rounds: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for one in self.proof.programs.iter().filter(|one| !one.forked) {
            let program = one.command.split(' ').next().unwrap_or_default();
            rounds.entry(one.round).or_default().push(program);
        }
        rounds.values_mut().for_each(|programs| programs.sort_unstable());
        let mut programs = rounds.values();
        let first = programs.next();
        programs.all(|other| Some(other) == first)
    }

    /// Names that were to be watched, and that no program was started with.
    fn say_not_set(&mut self) {
        let absent = |name: &String| !self.present.contains(name);
        let (absent, armed): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.proof.armed).into_iter().partition(absent);
        self.proof.armed = armed;
        for name in absent {
            let near = nearest_name(&name, self.present.iter().map(String::as_str));
            let next = match near {
                Some(near) => format!("correct the name, if `{near}` is meant"),
                None => "set it, so that there is a value to watch".to_owned(),
            };
            let why = format!("`{name}` is not set: the command was started without it");
            self.gap("not_set", why, &next);
        }
    }

    /// The proof.
    pub(super) fn conclude(mut self) -> Proof {
        self.proof.armed.sort();
        self.proof.armed.dedup();
        if !self.proof.not_armed.is_empty() {
            let count = self.proof.not_armed.len();
            let why = format!(
                "the values of {count} variables were not watched: the processor watches four at a time"
            );
            let next = "name the variables with `--vars`, or allow more runs with `--rounds`";
            self.gap(if self.named { "watchpoints" } else { "not_armed" }, why, next);
        }
        self.proof.rounds_differ =
            self.exits.windows(2).any(|pair| pair[0] != pair[1]) || !self.same_programs();
        self.say_not_set();
        self.proof.gaps = self.gaps.into_iter().collect();
        let present: Vec<String> = self.present.into_iter().collect();
        self.proof.conclude(&present);
        self.proof
    }
}

/// What limits the evidence of a program.
fn watch(process: &ObservedProcess, round: &ObservedRun, blind: bool) -> Watch {
    let decoy = round.decoy.as_ref();
    let decoy = decoy.and_then(|decoy| process.watched.iter().find(|value| value.name == *decoy));
    let reads_block = process
        .files
        .iter()
        .any(|used| used.opened > 0 && is_environment_file(&used.path, process.pid.0));
    let asked = process.lookups.iter().any(|lookup| Some(&*lookup.name) == round.decoy.as_deref());
    let whole =
        asked || process.lookups.iter().any(|lookup| WHOLE_FUNCTIONS.contains(&&*lookup.function));
    Watch {
        whole_life: process.whole_life,
        has_decoy: decoy.is_some(),
        decoy_whole: decoy.is_some_and(|decoy| !decoy.spent),
        copies_block: reads_block || whole || decoy.is_some_and(|decoy| decoy.reads > 0),
        complete: !blind && process.watched.iter().all(|value| !value.spent),
    }
}

fn is_environment_file(path: &str, pid: u32) -> bool {
    ENVIRONMENT_FILES.contains(&path) || path == format!("/proc/{pid}/environ")
}

/// Whether the language's own interface was asked.
fn is_of_runtime(lookup: &Lookup) -> bool {
    lookup.interface.is_some() || RUNTIME_FUNCTIONS.contains(&&*lookup.function)
}

fn through(lookup: &Lookup) -> String {
    lookup.interface.map_or_else(|| lookup.function.clone(), str::to_owned)
}

/// How often a function was asked for the decoy. Nobody asks for it alone, so that as many calls for any other
/// variable belong to copies of all.
fn calls(process: &ObservedProcess, decoy: Option<&str>, function: &str) -> u64 {
    let same = |lookup: &&Lookup| Some(&*lookup.name) == decoy && lookup.function == function;
    process.lookups.iter().filter(same).map(|lookup| lookup.count).sum()
}

/// One variable in one process.
struct Variable<'a> {
    name: &'a str,
    seen: Seen,
    value: Option<&'a WatchedValue>,
    lookup: Option<&'a Lookup>,
    hooked: Option<&'a Report>,
    /// Whether the program has an interface of its language, so that other calls are of the runtime itself.
    has_interface: bool,
}

impl<'a> Variable<'a> {
    fn new(
        name: &'a str,
        process: &'a ObservedProcess,
        hooked: &HookReads<'a>,
        decoy: Option<&str>,
    ) -> Self {
        let value = process.watched.iter().find(|value| value.name == name);
        let lookups: Vec<&Lookup> =
            process.lookups.iter().filter(|lookup| lookup.name == name).collect();
        let present = process.present.iter().any(|present| present == name);
        // A copy takes only what is set.
        let decoy = decoy.filter(|_| present);
        let with_all = |lookup: &Lookup| calls(process, decoy, &lookup.function).min(lookup.count);
        let alone = |lookup: &&&Lookup| lookup.count - with_all(lookup);
        let (runtime, plain): (Vec<&&Lookup>, Vec<&&Lookup>) =
            lookups.iter().partition(|lookup| is_of_runtime(lookup));
        let copied: u64 = lookups.iter().map(|lookup| with_all(lookup)).sum();
        let runtime: u64 = runtime.iter().map(alone).sum();
        // `secure_getenv` calls `getenv`: the larger number is that of the calls.
        let plain = plain.iter().map(alone).max();
        // The one that proves most comes first.
        let lookup =
            lookups.iter().find(|lookup| is_of_runtime(lookup)).or(lookups.first()).copied();
        let (asked, probed) = hooked.counts(name);
        let seen = Seen {
            present,
            armed: value.is_some(),
            value_reads: value.map_or(0, |value| value.reads),
            with_decoy: value.map_or(0, |value| value.with_decoy) + copied,
            lookups: plain.unwrap_or(0) + probed,
            runtime_reads: runtime + asked,
        };
        let has_interface = hooked.loaded || process.lookups.iter().any(is_of_runtime);
        Self { name, seen, value, lookup, hooked: hooked.first(name), has_interface }
    }

    fn is_touched(&self) -> bool {
        let Seen { value_reads, with_decoy, lookups, runtime_reads, .. } = self.seen;
        value_reads + with_decoy + lookups + runtime_reads > 0
    }

    fn observation(&self, program: usize, watch: &Watch) -> Observation {
        let grade = grade(&self.seen, watch);
        let asked = || match (self.hooked, self.lookup) {
            (Some(report), _) => (Some(report.place()), report.through.clone()),
            (None, Some(lookup)) => {
                let is_library = self.has_interface && !is_of_runtime(lookup);
                let place = place(lookup.reader.as_ref());
                (place.map(|place| CodePlace { is_library, ..place }), through(lookup))
            }
            (None, None) => (None, String::new()),
        };
        let (count, (first, through)) = match grade {
            Grade::RuntimeRead => (self.seen.runtime_reads, asked()),
            Grade::NameProbed => (self.seen.lookups, asked()),
            Grade::ValueRead => {
                let reader = self.value.and_then(|value| value.reader.as_ref());
                (self.seen.value_reads, (place(reader), String::new()))
            }
            Grade::CopiedWithAll => (self.seen.with_decoy, (None, String::new())),
            _ => (0, (None, String::new())),
        };
        Observation { name: self.name.to_owned(), program, grade, count, first, through }
    }
}

fn place(reader: Option<&Reader>) -> Option<CodePlace> {
    let frame = reader?.frame()?;
    let function =
        if frame.function.is_empty() { frame.module.clone() } else { frame.function.clone() };
    Some(CodePlace { function, file: frame.file.clone(), line: frame.line, is_library: false })
}

/// What a hook reported of one process, without the calls that copy all variables.
struct HookReads<'a> {
    loaded: bool,
    by_name: BTreeMap<&'a String, Vec<&'a Report>>,
}

impl<'a> HookReads<'a> {
    fn new(reports: &'a [Report], process: &ObservedProcess, decoy: Option<&str>) -> Self {
        let own = |report: &&Report| report.pid == process.pid.0;
        let copies: Vec<CodePlace> = reports
            .iter()
            .filter(|report| own(report) && Some(report.name.as_str()) == decoy)
            .map(Report::place)
            .collect();
        let mut by_name: BTreeMap<&String, Vec<&Report>> = BTreeMap::new();
        for report in reports.iter().filter(own) {
            if report.used != Use::Hello && !copies.contains(&report.place()) {
                by_name.entry(&report.name).or_default().push(report);
            }
        }
        let loaded = reports.iter().any(|report| own(&report) && report.used == Use::Hello);
        Self { loaded, by_name }
    }

    fn names(&self) -> impl Iterator<Item = &'a String> {
        self.by_name.keys().copied()
    }

    fn first(&self, name: &str) -> Option<&'a Report> {
        self.by_name.get(&name.to_owned())?.first().copied()
    }

    /// How often the value was asked for, and how often only whether it is set. A line is reported when it first
    /// asks, and again at the end with its count.
    fn counts(&self, name: &str) -> (u64, u64) {
        let mut lines: BTreeMap<(u8, String), u64> = BTreeMap::new();
        for report in self.by_name.get(&name.to_owned()).into_iter().flatten() {
            let key = (u8::from(report.used == Use::Get), format!("{:?}", report.place()));
            let count = lines.entry(key).or_default();
            *count = report.count.max(*count);
        }
        let sum = |used: u8| lines.iter().filter(|(key, _)| key.0 == used).map(|(_, n)| n).sum();
        (sum(1), sum(0))
    }
}
