//! What a program was seen to read, and how strong the evidence is.
//!
//! An observer hands in plain counts ([`Seen`]); [`grade`] says what they prove. Grades are never mixed: a row has
//! one, the strongest. "Not read" is claimed only by [`Grade::ArmedWholeLifeNoAccess`], and that only where nothing
//! could have been missed.

use std::collections::BTreeSet;

use culprit_model::{Severity, labels};

use crate::configuration::ConfigFinding;

labels! {
    /// How strong the evidence is that a program reads a variable, the strongest first.
    Grade ("evidence grade") {
        /// Another value changed what the program put out.
        EffectiveDump = "effective_dump",
        /// The language's own interface was asked for the variable.
        RuntimeRead = "runtime_read",
        /// The program read the bytes of the value.
        ValueRead = "value_read",
        /// `getenv` was called with the name.
        NameProbed = "name_probed",
        /// The runtime copied all variables; nobody was seen to ask for this one.
        CopiedWithAll = "copied_with_all",
        /// It is set, and nothing else is known.
        PresentOnly = "present_only",
        /// The value was watched from the first instruction to the last, and nobody touched it.
        ArmedWholeLifeNoAccess = "armed_whole_life_no_access",
    }
}

impl Grade {
    /// Whether the program has read the variable, or asked for it.
    #[must_use]
    pub fn is_read(self) -> bool {
        self <= Self::NameProbed
    }
}

/// What limits the evidence of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watch {
    /// It was observed from its first instruction to its last.
    pub whole_life: bool,
    /// The decoy was watched, too.
    pub has_decoy: bool,
    /// No access to the decoy was missed: what touches it is known, so that another read is none of a copy.
    pub decoy_whole: bool,
    /// The decoy was touched, or the block was read as a file, so that all variables were copied.
    pub copies_block: bool,
    /// Nothing was hidden: the kernel's own accesses and the files were seen, and no record was lost.
    pub complete: bool,
}

/// What was seen of one variable in one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// It was in the environment that the program started with.
    pub present: bool,
    /// Its value was watched.
    pub armed: bool,
    /// Reads of its value, from calls that did not touch the decoy.
    pub value_reads: u64,
    /// Reads of its value from calls that touched the decoy, too.
    pub with_decoy: u64,
    /// Calls of `getenv` and its like.
    pub lookups: u64,
    /// Calls of a language's own interface.
    pub runtime_reads: u64,
}

/// What the counts prove.
#[must_use]
pub fn grade(seen: &Seen, watch: &Watch) -> Grade {
    let untouched = seen.armed && seen.value_reads == 0 && seen.with_decoy == 0;
    if seen.runtime_reads > 0 {
        Grade::RuntimeRead
    } else if seen.value_reads > 0 && watch.has_decoy && watch.decoy_whole {
        Grade::ValueRead
    } else if seen.lookups > 0 {
        Grade::NameProbed
    } else if seen.with_decoy > 0 || (watch.copies_block && seen.present) {
        Grade::CopiedWithAll
    } else if untouched && watch.whole_life && watch.has_decoy && watch.complete {
        Grade::ArmedWholeLifeNoAccess
    } else {
        Grade::PresentOnly
    }
}

/// Where in the program something was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodePlace {
    /// The function; the module if it has no name.
    pub function: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line; 0 if unknown.
    pub line: u32,
    /// Whether it is code of a library, or of the language's own runtime.
    pub is_library: bool,
}

/// A variable in one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The variable.
    pub name: String,
    /// The program: an index of [`Proof::programs`].
    pub program: usize,
    /// What is proved.
    pub grade: Grade,
    /// How often: reads of the grade's kind.
    pub count: u64,
    /// Who was first.
    pub first: Option<CodePlace>,
    /// What was asked: `getenv`, `os.environ`; empty for reads of bytes.
    pub through: String,
}

/// A program that was observed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObservedProgram {
    /// Process number.
    pub pid: u32,
    /// The parent's, where that was observed.
    pub parent: Option<u32>,
    /// The command line.
    pub command: String,
    /// It ran before it was observed: reads before that are unknown.
    pub late: bool,
    /// It was forked from another and executes no program of its own.
    pub forked: bool,
    /// The run of the command to which it belongs, from 0.
    pub round: usize,
    /// What limits the evidence.
    pub watch: Watch,
}

/// A variable over all programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableProof {
    /// The variable.
    pub name: String,
    /// The strongest grade of all programs; the negative one only where it holds for all that have the variable.
    pub grade: Grade,
    /// How often, in all programs.
    pub count: u64,
    /// Its rows: indexes of [`Proof::observations`], the strongest first.
    pub observations: Vec<usize>,
}

/// A file that programs used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileObservation {
    /// The path, as the program gave it.
    pub path: String,
    /// The program: an index of [`Proof::programs`].
    pub program: usize,
    /// How often it was opened.
    pub opened: u64,
    /// How often it was looked for and did not exist.
    pub missing: u64,
    /// How often it was refused.
    pub refused: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
}

/// Something that could not be observed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProofGap {
    /// What kind: `watchpoints`, `names`, `files`, `runtime`.
    pub kind: String,
    /// Why.
    pub why: String,
    /// What the user can do; empty if nothing.
    pub next: String,
}

/// What a run has proved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// What was observed, as the user named it.
    pub subject: String,
    /// How often the command ran.
    pub rounds: usize,
    /// Whether the runs ended in different ways, so that one proves nothing about another.
    pub rounds_differ: bool,
    /// Variables whose values were watched, in all rounds.
    pub armed: Vec<String>,
    /// Variables that were set and not watched.
    pub not_armed: Vec<String>,
    /// The variables of which a finding says that nobody reads them; none: all. A shell has many of other programs.
    pub concerned: Option<BTreeSet<String>>,
    /// The programs, in the order of their starts.
    pub programs: Vec<ObservedProgram>,
    /// One row for each variable and program of which something is known.
    pub observations: Vec<Observation>,
    /// The variables that are set, the strongest grade first.
    pub variables: Vec<VariableProof>,
    /// Variables that were asked for and are set in no program.
    pub hidden: Vec<VariableProof>,
    /// Files.
    pub files: Vec<FileObservation>,
    /// What could not be observed.
    pub gaps: Vec<ProofGap>,
    /// What is wrong.
    pub findings: Vec<ConfigFinding>,
}

impl Proof {
    /// Sums the observations up by variable, and finds what is wrong. `present` are the names that are set.
    pub fn conclude(&mut self, present: &[String]) {
        let mut names: Vec<&String> = self.observations.iter().map(|one| &one.name).collect();
        names.sort();
        names.dedup();
        let all: Vec<VariableProof> = names.into_iter().map(|name| self.sum(name)).collect();
        let (set, mut hidden): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| present.contains(&one.name));
        hidden.retain(|one| one.grade.is_read());
        self.variables = set;
        self.variables
            .sort_by(|one, other| (one.grade, &one.name).cmp(&(other.grade, &other.name)));
        self.hidden = hidden;
        self.findings = self.find();
    }

    fn sum(&self, name: &str) -> VariableProof {
        let rows = self.observations.iter().enumerate().filter(|(_, one)| one.name == name);
        let mut rows: Vec<(usize, &Observation)> = rows.collect();
        rows.sort_by_key(|(at, one)| (one.grade, *at));
        let strongest = rows.first().map_or(Grade::PresentOnly, |(_, one)| one.grade);
        let grade = match strongest {
            Grade::PresentOnly | Grade::ArmedWholeLifeNoAccess => self.never_or_present(&rows),
            read => read,
        };
        let count =
            rows.iter().filter(|(_, one)| one.grade == grade).map(|(_, one)| one.count).sum();
        let observations = rows.iter().map(|(at, _)| *at).collect();
        VariableProof { name: name.to_owned(), grade, count, observations }
    }

    /// The negative grade of a variable that nothing read, where it is proved: in a run in which its value was
    /// watched, each program that had it was watched as a whole. Other runs, in which other values were watched, must
    /// have been complete, and have ended in the same way; no one of their programs asked for the name or copied all.
    fn never_or_present(&self, rows: &[(usize, &Observation)]) -> Grade {
        let never = |(_, one): &&(usize, &Observation)| one.grade == Grade::ArmedWholeLifeNoAccess;
        let round = |(_, one): &(usize, &Observation)| {
            self.programs.get(one.program).map_or(0, |program| program.round)
        };
        let proving: Vec<usize> = rows.iter().filter(never).map(round).collect();
        let in_proving = |row: &&(usize, &Observation)| proving.contains(&round(row));
        let is_whole = rows.iter().filter(in_proving).all(|row| never(&row));
        let others = rows.iter().filter(|row| !in_proving(row));
        let are_complete = others.map(|(_, one)| self.programs.get(one.program)).all(|program| {
            program.is_some_and(|program| program.watch.complete && program.watch.whole_life)
        });
        match !proving.is_empty() && is_whole && are_complete && !self.rounds_differ {
            true => Grade::ArmedWholeLifeNoAccess,
            false => Grade::PresentOnly,
        }
    }

    fn find(&self) -> Vec<ConfigFinding> {
        let never = self.variables.iter().filter(|one| one.grade == Grade::ArmedWholeLifeNoAccess);
        let asked = self.hidden.iter().filter(|one| self.asked_by_own_code(one));
        let never = never.filter(|one| {
            self.concerned.as_ref().is_none_or(|concerned| concerned.contains(&one.name))
        });
        never.map(never_read).chain(asked.map(|one| self.hidden_knob(one))).collect()
    }

    /// Whether the program's own code asks for a variable: libraries ask for dozens that nobody wants to set.
    fn asked_by_own_code(&self, one: &VariableProof) -> bool {
        let first = one.observations.first().and_then(|at| self.observations.get(*at));
        let place = first.and_then(|row| row.first.as_ref());
        place.is_some_and(|place| place.line > 0 && !place.is_library)
    }

    fn hidden_knob(&self, one: &VariableProof) -> ConfigFinding {
        let row = one.observations.first().and_then(|at| self.observations.get(*at));
        let place = row.and_then(|row| row.first.as_ref());
        let evidence = place.map(|place| format!("{}:{}", place.file, place.line));
        let function = place.map_or("the program", |place| place.function.as_str());
        ConfigFinding {
            id: HIDDEN_KNOB,
            severity: Severity::Info,
            key: one.name.clone(),
            concerns: Vec::new(),
            title: format!("`{function}` asks for `{}`, and nothing sets it.", one.name),
            evidence: evidence.into_iter().collect(),
            why: "The program takes its built-in default.".to_owned(),
            fix: vec![
                format!("Set `{}`, if the default is not what you want.", one.name),
                "Compare the spelling with the variables that are set.".to_owned(),
            ],
        }
    }
}

/// A variable that nothing reads.
pub(crate) const NEVER_READ: &str = "config-never-read";
/// A variable that is asked for and set nowhere.
pub(crate) const HIDDEN_KNOB: &str = "config-hidden-knob";

fn never_read(one: &VariableProof) -> ConfigFinding {
    let name = &one.name;
    ConfigFinding {
        id: NEVER_READ,
        severity: Severity::Medium,
        key: name.clone(),
        concerns: Vec::new(),
        title: format!("`{name}` is set, and no program read it ({}).", one.grade),
        evidence: vec!["environment".to_owned()],
        why: "Its value was watched from the first instruction to the last, and nobody touched it."
            .to_owned(),
        fix: vec![
            format!("Remove `{name}`, or correct its name."),
            "Repeat the run with the work in which the program should read it.".to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Watch = Watch {
        whole_life: true,
        has_decoy: true,
        decoy_whole: true,
        copies_block: false,
        complete: true,
    };
    const ARMED: Seen = Seen {
        present: true,
        armed: true,
        value_reads: 0,
        with_decoy: 0,
        lookups: 0,
        runtime_reads: 0,
    };

    #[test]
    fn the_strongest_evidence_counts() {
        let seen = Seen { value_reads: 3, lookups: 1, ..ARMED };
        assert_eq!(grade(&seen, &WHOLE), Grade::ValueRead);
        assert_eq!(grade(&Seen { runtime_reads: 1, ..seen }, &WHOLE), Grade::RuntimeRead);
        assert_eq!(grade(&Seen { lookups: 1, ..ARMED }, &WHOLE), Grade::NameProbed);
    }

    #[test]
    fn not_read_is_claimed_only_where_nothing_could_be_missed() {
        assert_eq!(grade(&ARMED, &WHOLE), Grade::ArmedWholeLifeNoAccess);
        let weaker = [
            Watch { whole_life: false, ..WHOLE },
            Watch { has_decoy: false, ..WHOLE },
            Watch { complete: false, ..WHOLE },
        ];
        for watch in weaker {
            assert_eq!(grade(&ARMED, &watch), Grade::PresentOnly, "{watch:?}");
        }
        let copied = Watch { copies_block: true, ..WHOLE };
        assert_eq!(grade(&ARMED, &copied), Grade::CopiedWithAll);
        assert_eq!(grade(&Seen { armed: false, ..ARMED }, &WHOLE), Grade::PresentOnly);
    }

    #[test]
    fn reads_without_a_decoy_prove_no_read() {
        let seen = Seen { value_reads: 3, ..ARMED };
        for watch in [
            Watch { has_decoy: false, ..WHOLE },
            Watch { decoy_whole: false, copies_block: true, ..WHOLE },
        ] {
            assert!(!grade(&seen, &watch).is_read(), "{watch:?}");
        }
    }

    /// The grade of a variable that the first of two runs watched, and the second did not.
    fn over_two_runs(second: Watch, rounds_differ: bool, grade: Grade) -> Grade {
        let program = |round, watch| ObservedProgram { round, watch, ..ObservedProgram::default() };
        let mut proof = Proof {
            rounds: 2,
            rounds_differ,
            programs: vec![program(0, WHOLE), program(1, second)],
            observations: vec![row("A", 0, Grade::ArmedWholeLifeNoAccess), row("A", 1, grade)],
            ..Proof::default()
        };
        proof.conclude(&["A".to_owned()]);
        proof.variables[0].grade
    }

    #[test]
    fn one_run_proves_that_a_variable_is_not_read_if_the_others_are_whole() {
        let (never, present) = (Grade::ArmedWholeLifeNoAccess, Grade::PresentOnly);
        assert_eq!(over_two_runs(WHOLE, false, present), never);
        assert_eq!(over_two_runs(WHOLE, true, present), present, "they ended in different ways");
        let lost = Watch { complete: false, ..WHOLE };
        assert_eq!(over_two_runs(lost, false, present), present);
        let late = Watch { whole_life: false, ..WHOLE };
        assert_eq!(over_two_runs(late, false, present), present);
        for other in [Grade::NameProbed, Grade::CopiedWithAll] {
            assert_eq!(over_two_runs(WHOLE, false, other), other, "the other run says more");
        }
    }

    fn row(name: &str, program: usize, grade: Grade) -> Observation {
        let (first, through) = (None, String::new());
        Observation { name: name.to_owned(), program, grade, count: 1, first, through }
    }

    #[test]
    fn a_variable_is_unread_only_if_it_is_so_in_every_program() {
        let never = Grade::ArmedWholeLifeNoAccess;
        let mut proof = Proof {
            observations: vec![
                row("A", 0, never),
                row("A", 1, never),
                row("B", 0, never),
                row("B", 1, Grade::PresentOnly),
                row("C", 0, Grade::NameProbed),
                row("C", 1, never),
                row("D", 0, Grade::NameProbed),
            ],
            ..Proof::default()
        };
        proof.conclude(&["A", "B", "C"].map(str::to_owned));
        let grades: Vec<_> =
            proof.variables.iter().map(|one| (one.name.as_str(), one.grade)).collect();
        let expected = [("C", Grade::NameProbed), ("B", Grade::PresentOnly), ("A", never)];
        assert_eq!(grades, expected);
        assert_eq!(proof.hidden.len(), 1);
        let ids: Vec<_> = proof.findings.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, [NEVER_READ], "a library's question is no finding");
    }
}
