//! Whether the command of `why` reads the variables and files that differ between its places.
//!
//! ```text
//! differing ──> rounds: three names at a time ──> config prove ──> a sentence a grade
//! ```

use std::collections::BTreeMap;

use culprit_config::{CodePlace, Grade, Proof};

use super::files_of_why::{PlaceFiles, differing_files};
use super::variables_of_why::{PlaceVariables, differing_variables, listed};

/// Variables that are watched in one run: the processor watches four addresses, and one is the decoy's.
const EACH_ROUND: usize = 3;
/// Runs in each place.
const MOST_ROUNDS: usize = 3;

/// What differs between places.
#[derive(Debug)]
pub(crate) struct Differing {
    /// The variables that differ and each place has.
    variables: BTreeMap<String, Vec<String>>,
    files: Vec<String>,
}

impl Differing {
    /// What is not the same in all places.
    pub(crate) fn new(variables: &[PlaceVariables], files: &[PlaceFiles]) -> Self {
        let names = differing_variables(variables);
        let of_place = |place: &PlaceVariables| {
            let own = names.iter().filter(|name| place.has(name));
            (place.place.clone(), own.map(|name| (*name).to_owned()).collect())
        };
        let files = differing_files(files).into_iter().map(str::to_owned).collect();
        Self { variables: variables.iter().map(of_place).collect(), files }
    }

    /// Whether nothing does.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.variables.values().all(Vec::is_empty)
    }

    fn of_place(&self, place: &str) -> &[String] {
        self.variables.get(place).map_or(&[], Vec::as_slice)
    }

    /// The variables that are watched in each run in a place. At least one run, for the files.
    pub(crate) fn rounds(&self, place: &str) -> Vec<Vec<String>> {
        let rounds = self.of_place(place).chunks(EACH_ROUND).take(MOST_ROUNDS);
        let rounds: Vec<Vec<String>> = rounds.map(<[String]>::to_vec).collect();
        if rounds.is_empty() { vec![Vec::new()] } else { rounds }
    }

    /// What the observation of a place shows, a sentence a grade.
    pub(crate) fn notes(&self, place: &str, proof: &Proof) -> Vec<String> {
        let mut by_grade: BTreeMap<Grade, Vec<String>> = BTreeMap::new();
        for name in self.of_place(place) {
            let found = proof.variables.iter().find(|one| one.name == *name);
            let grade = found.map_or(Grade::PresentOnly, |one| one.grade);
            let first = found
                .and_then(|one| one.observations.first())
                .and_then(|at| proof.observations.get(*at)?.first.as_ref());
            let by = first.filter(|_| grade.is_read()).map(words).unwrap_or_default();
            by_grade.entry(grade).or_default().push(format!("`{name}`{by}"));
        }
        let mut notes: Vec<String> = by_grade
            .into_iter()
            .map(|(grade, names)| {
                let says = match grade {
                    Grade::ArmedWholeLifeNoAccess => "the command does not read",
                    grade if grade.is_read() => "the command reads",
                    _ => "it is not known whether the command reads",
                };
                format!("In {place} {says} {} (evidence: {grade}).", names.join(", "))
            })
            .collect();
        let used = |file: &&String| {
            let below = format!("/{file}");
            let mut all = proof.files.iter().filter(|one| one.opened > 0);
            all.any(|one| one.path == **file || one.path.ends_with(&below))
        };
        let (opened, others): (Vec<&String>, Vec<&String>) = self.files.iter().partition(used);
        let names =
            |all: &[&String]| listed(&all.iter().map(|one| one.as_str()).collect::<Vec<_>>());
        if !opened.is_empty() {
            notes.push(format!("In {place} the command opens {}.", names(&opened)));
        }
        let is_blind = proof.gaps.iter().any(|gap| ["files", "lost"].contains(&gap.kind.as_str()));
        if !others.is_empty() && !is_blind {
            notes.push(format!("In {place} the command was not seen to open {}.", names(&others)));
        }
        notes
    }
}

/// ` (main, app.c:12)`
fn words(place: &CodePlace) -> String {
    match place.line {
        0 => format!(" ({})", place.function),
        line => format!(" ({}, {}:{line})", place.function, place.file),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use culprit_config::{FileObservation, Observation, VariableProof};

    use super::*;

    fn place(name: &str, variables: &[(&str, &str)]) -> PlaceVariables {
        let variable = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        PlaceVariables::new(name, variables.iter().map(variable).collect())
    }

    fn observation(name: &str, grade: Grade) -> Observation {
        let first = CodePlace {
            function: "main".to_owned(),
            file: "app.c".to_owned(),
            line: 12,
            is_library: false,
        };
        let (name, through) = (name.to_owned(), String::new());
        Observation { name, program: 0, grade, count: 1, first: Some(first), through }
    }

    #[test]
    fn what_differs_is_watched_and_each_grade_has_its_sentence() {
        let host = place("host", &[("A", "1"), ("B", "1"), ("SAME", "1")]);
        let other =
            place("docker:x", &[("A", "2"), ("B", "2"), ("C", "1"), ("D", "1"), ("SAME", "1")]);
        let mut differing = Differing::new(&[host, other], &[]);
        assert_eq!(differing.rounds("host"), [vec!["A", "B"]]);
        assert_eq!(differing.rounds("docker:x"), [vec!["A", "B", "C"], vec!["D"]]);
        differing.files = vec!["app.json".to_owned(), "other.json".to_owned()];
        let grades = [("A", Grade::ValueRead), ("B", Grade::ArmedWholeLifeNoAccess)];
        let mut proof = Proof::default();
        for (at, (name, grade)) in grades.into_iter().enumerate() {
            proof.observations.push(observation(name, grade));
            let (name, observations) = (name.to_owned(), vec![at]);
            proof.variables.push(VariableProof { name, grade, count: 1, observations });
        }
        let path = "/srv/app.json".to_owned();
        let (program, opened, missing, refused, bytes_read) = (0, 1, 0, 0, 9);
        proof.files = vec![FileObservation { path, program, opened, missing, refused, bytes_read }];
        assert_eq!(
            differing.notes("host", &proof),
            [
                "In host the command reads `A` (main, app.c:12) (evidence: value_read).",
                "In host the command does not read `B` (evidence: armed_whole_life_no_access).",
                "In host the command opens `app.json`.",
                "In host the command was not seen to open `other.json`.",
            ]
        );
    }

    #[test]
    fn places_with_the_same_configuration_need_no_run() {
        let same = [place("host", &[("A", "1")]), place("sandbox", &[("A", "1")])];
        assert!(Differing::new(&same, &[]).is_empty());
    }
}
